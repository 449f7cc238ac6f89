// SPDX-License-Identifier: Apache-2.0
#include <quarry/event.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/sigquit.hpp>

#include <doctest/doctest.h>

#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <unistd.h>

using namespace quarry;

namespace {

/// Sends stderr to a file while it lives.
class captured_stderr {
public:
  captured_stderr() : before_(dup(STDERR_FILENO)), file_(std::tmpfile()) {
    dup2(fileno(file_), STDERR_FILENO);
  }
  captured_stderr(captured_stderr const&) = delete;
  ~captured_stderr() {
    dup2(before_, STDERR_FILENO);
    close(before_);
    std::fclose(file_);
  }
  std::string text() {
    std::string all;
    REQUIRE(std::fseek(file_, 0, SEEK_SET) == 0);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_))
      all.push_back(static_cast<char>(c));
    return all;
  }

private:
  int before_;
  std::FILE* file_;
};

task<> wait_on(event& e) {
  co_await e.wait();
}

int old_handler_calls = 0;
void old_handler(int) {
  ++old_handler_calls;
}

} // namespace

TEST_SUITE("lib.sigquit") {
  TEST_CASE("SIGQUIT prints who waits for what and the program goes on; the old handler returns") {
    auto* const original = std::signal(SIGQUIT, &old_handler);
    sequential_scheduler s;
    strand place(s, "the place");
    event e;
    place.spawn(wait_on(e), "a patient actor");
    CHECK_FALSE(s.run_until([] { return false; }));
    std::string text;
    {
      captured_stderr capture;
      {
        sigquit_report const reporter(s);
        CHECK_THROWS_AS(sigquit_report{s}, std::logic_error);
        std::raise(SIGQUIT);
      } // what was asked for is printed by now
      text = capture.text();
    }
    CAPTURE(text);
    CHECK(text.find("the place  a patient actor  event at sigquit_test.cpp:") != std::string::npos);
    CHECK(old_handler_calls == 0);
    std::raise(SIGQUIT);
    CHECK(old_handler_calls == 1);
    std::signal(SIGQUIT, original);
    sigquit_report const again(s); // the first one is gone
  }

  TEST_CASE("SIGQUIT prints a text that is made when it comes") {
    std::string text;
    {
      captured_stderr capture;
      {
        int number = 0;
        sigquit_report const reporter([&] { return std::to_string(++number) + " times\n"; });
        std::raise(SIGQUIT);
        std::raise(SIGQUIT);
      }
      text = capture.text();
    }
    CHECK(text == "1 times\n2 times\n");
  }
}
