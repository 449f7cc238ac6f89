// SPDX-License-Identifier: Apache-2.0
#include "progress_report.hpp"

#include <fmt/format.h>

#include <functional>
#include <utility>

namespace quarry::command {

progress_report::progress_report(std::string speaker, std::string unit)
    : speaker_(std::move(speaker)), unit_(std::move(unit)),
      on_sigquit_(std::function<std::string()>([this] { return line(); })) {}

void progress_report::begin(std::string what, std::uint64_t total, std::uint64_t done) {
  std::lock_guard const lock(mutex_);
  what_ = std::move(what);
  total_ = total;
  done_ = done;
}

std::string progress_report::line() {
  std::lock_guard const lock(mutex_);
  return fmt::format("{}: {}: {} of {} {}\n", speaker_, what_, done_.load(), total_, unit_);
}

} // namespace quarry::command
