// SPDX-License-Identifier: Apache-2.0
#include "merged_output.hpp"

#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace quarry::command {
namespace {

bool is_same_stream(int one, int other) {
  struct stat a{};
  struct stat b{};
  // In a file each may have a position of its own.
  return ::fstat(one, &a) == 0 && ::fstat(other, &b) == 0 && !S_ISREG(a.st_mode) &&
         a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

} // namespace

result<int> merged_output::add_writer(std::size_t child, std::string prefix) {
  auto relay = line_relay::make(std::move(prefix));
  if (!relay)
    return relay.error();
  sources_.push_back({child, *std::move(relay)});
  return sources_.back().relay.writer();
}

void merged_output::close_writers(std::size_t child) {
  for (auto& one : sources_)
    if (one.child == child)
      one.relay.close_writer();
}

void merged_output::add_inputs(std::vector<pollfd>& inputs) const {
  inputs.push_back({.fd = out_.fd_to_wait_for(), .events = POLLOUT, .revents = 0});
  bool const is_reading = !is_finishing_ && !out_.is_full();
  for (auto const& [child, relay] : sources_)
    inputs.push_back({.fd = is_reading ? relay.reader() : -1, .events = POLLIN, .revents = 0});
}

std::span<pollfd const> merged_output::take(std::span<pollfd const> inputs) {
  out_.flush();
  // Whoever comes after the last that found room is the first the next time: nobody is left out.
  auto const first = turn_;
  for (std::size_t i = 0; i < sources_.size() && !out_.is_full(); ++i) {
    auto const at = (first + i) % sources_.size();
    if (inputs[1 + at].revents == 0)
      continue;
    sources_[at].relay.pump(out_);
    out_.flush();
    turn_ = at + 1;
  }
  return inputs.subspan(1 + sources_.size());
}

void merged_output::finish(std::size_t child) {
  for (auto& one : sources_)
    if (one.child == child)
      one.relay.finish(out_);
}

bool merged_output::finish_all() {
  is_finishing_ = true;
  // Not over before there is nothing to wait for but room.
  for (out_.flush(); finished_ < sources_.size() && !out_.is_full(); out_.flush())
    sources_[finished_++].relay.finish(out_);
  return finished_ == sources_.size() && out_.is_empty();
}

std::vector<merged_output> standard_outputs() {
  std::vector<merged_output> outputs;
  outputs.emplace_back(STDOUT_FILENO);
  if (!is_same_stream(STDOUT_FILENO, STDERR_FILENO))
    outputs.emplace_back(STDERR_FILENO);
  return outputs;
}

} // namespace quarry::command
