// SPDX-License-Identifier: Apache-2.0
#include "progress_line.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <unistd.h>
#include <utility>

namespace quarry::command {
namespace {

constexpr char const* clear_line = "\r\033[K";

/// 1234567 → "1.23 M"
std::string short_number(double value) {
  for (char const* prefix : {"", " k", " M"}) {
    if (value < 1000)
      return fmt::format("{:.3g}{}", value, prefix);
    value /= 1000;
  }
  return fmt::format("{:.3g} G", value);
}

} // namespace

progress_line::progress_line(place where, std::string label, std::uint64_t total, std::string unit)
    : is_shown_(where == place::terminal && ::isatty(STDERR_FILENO) != 0), label_(std::move(label)),
      unit_(std::move(unit)), total_(total) {}

progress_line::~progress_line() {
  if (is_dirty_)
    std::fputs(clear_line, stderr);
}

void progress_line::update(std::uint64_t done) {
  if (!is_shown_)
    return;
  auto const now = clock::now();
  if (now < next_)
    return;
  next_ = now + std::chrono::milliseconds(100);
  auto const seconds = std::chrono::duration<double>(now - started_).count();
  auto const count = static_cast<double>(done);
  auto const share = total_ == 0 ? 0 : count / static_cast<double>(total_);
  auto line = clear_line + label_;
  line += total_ == 0 ? fmt::format("  {} {}", short_number(count), unit_)
                      : fmt::format("  {:3.0f} %", 100 * share);
  if (done > 0 && seconds > 0)
    line += fmt::format("  {} {}/s", short_number(count / seconds), unit_);
  if (done > 0 && total_ != 0)
    line += fmt::format("  {:.0f} s left", seconds / share * (1 - share));
  std::fputs(line.c_str(), stderr);
  std::fflush(stderr);
  is_dirty_ = true;
}

} // namespace quarry::command
