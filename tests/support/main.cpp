// SPDX-License-Identifier: Apache-2.0
// doctest's main, with two changes: a filter that matches no test case is a failure, not a success;
// explorations keep nothing unless they are told to.
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>

namespace {

int ran = 0;

struct counting_reporter : doctest::IReporter {
  explicit counting_reporter(doctest::ContextOptions const&) {}
  void report_query(doctest::QueryData const&) override {}
  void test_run_start() override {}
  void test_run_end(doctest::TestRunStats const&) override {}
  void test_case_start(doctest::TestCaseData const&) override { ++ran; }
  void test_case_reenter(doctest::TestCaseData const&) override {}
  void test_case_end(doctest::CurrentTestCaseStats const&) override {}
  void test_case_exception(doctest::TestCaseException const&) override {}
  void subcase_start(doctest::SubcaseSignature const&) override {}
  void subcase_end() override {}
  void log_assert(doctest::AssertData const&) override {}
  void log_message(doctest::MessageData const&) override {}
  void test_case_skipped(doctest::TestCaseData const&) override {}
};

} // namespace

REGISTER_LISTENER("counting", 1, counting_reporter);

int main(int argc, char** argv) {
  ::setenv("QUARRY_FAILURES", "", 0); // what fails here is meant to, or is told of anyway
  doctest::Context context(argc, argv);
  int const status = context.run();
  if (context.shouldExit())
    return status;
  if (ran == 0) {
    std::fputs("no test case matched the filter\n", stderr);
    return 1;
  }
  return status;
}
