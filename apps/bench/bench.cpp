// SPDX-License-Identifier: Apache-2.0
#include "bench.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <set>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace quarry::bench {
namespace {

/// Passes runs on to google-benchmark's reporter `Format`, without what it appends to their names.
template<class Format>
class plain_names : public Format {
public:
  using Format::Format;
  void ReportRuns(std::vector<benchmark::BenchmarkReporter::Run> const& runs) override {
    auto plain = runs;
    for (auto& run : plain) {
      run.run_name.time_type.clear();
      run.run_name.iterations.clear();
      run.run_name.min_time.clear();
      run.run_name.repetitions.clear();
      failed_ = failed_ || run.error_occurred;
    }
    Format::ReportRuns(plain);
  }
  [[nodiscard]] bool failed() const noexcept { return failed_; }

private:
  bool failed_ = false;
};

bool writes_a_file(int argc, char** argv) {
  for (int i = 1; i < argc; ++i)
    if (std::string_view{argv[i]}.starts_with("--benchmark_out="))
      return true;
  return false;
}

std::string cpu_model() {
  std::ifstream cpuinfo{"/proc/cpuinfo"};
  for (std::string line; std::getline(cpuinfo, line);)
    if (line.starts_with("model name"))
      return line.substr(line.find(':') + 2);
  return "unknown CPU";
}

} // namespace

std::string machine() {
#if defined(__clang__)
  std::string const compiler = "clang " __clang_version__;
#else
  std::string const compiler = "g++ " __VERSION__;
#endif
  return cpu_model() + ", " + std::to_string(std::thread::hardware_concurrency()) + " threads, " +
         compiler;
}

void report_absent(std::string_view who, std::string_view why) {
  static std::set<std::string, std::less<>> reported;
  if (reported.emplace(who).second)
    std::fprintf(stderr, "%.*s is left out: %.*s\n", static_cast<int>(who.size()), who.data(),
                 static_cast<int>(why.size()), why.data());
}

int run(int argc, char** argv) {
  bool const file = writes_a_file(argc, argv);
  // First, so that the command line can say otherwise.
  static char mixed[] = "--benchmark_enable_random_interleaving=true";
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + std::min(argc, 1), mixed);
  arguments.push_back(nullptr);
  int count_of_arguments = argc + 1;
  benchmark::Initialize(&count_of_arguments, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count_of_arguments, arguments.data()))
    return 2;
  benchmark::AddCustomContext("machine", machine());
  using console_reporter = benchmark::ConsoleReporter;
  plain_names<console_reporter> console{::isatty(STDOUT_FILENO) != 0
                                            ? console_reporter::OO_ColorTabular
                                            : console_reporter::OO_Tabular};
  plain_names<benchmark::JSONReporter> json;
  auto const count = file ? benchmark::RunSpecifiedBenchmarks(&console, &json)
                          : benchmark::RunSpecifiedBenchmarks(&console);
  benchmark::Shutdown();
  if (count == 0)
    std::fprintf(stderr, "no benchmark matches the filter\n");
  return console.failed() ? 1 : 0;
}

} // namespace quarry::bench
