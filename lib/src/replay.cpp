// SPDX-License-Identifier: Apache-2.0
#include <quarry/replay.hpp>
#include <quarry/strategy.hpp>

#include <fmt/format.h>

namespace quarry {

static_assert(strategy<replay>);

void replay::begin(std::uint64_t) noexcept {
  position_ = 0;
  diverged_.reset();
}

void replay::end() noexcept {
  if (position_ < recorded_.choices().size() && !diverged_)
    diverged_ = {.position = position_, .recorded = recorded_.choices()[position_], .kind = {}};
}

std::string replay::describe() const {
  return fmt::format("replay of {} choices, the last {} of them boring", recorded_.count(),
                     recorded_.count() - recorded_.choices().size());
}

unsigned replay::pick(unsigned n, choice_kind kind) {
  std::uint64_t const at = position_++;
  if (at >= recorded_.choices().size())
    return 0;
  choice const& c = recorded_.choices()[at];
  if ((c.n != n || c.kind != kind) && !diverged_)
    diverged_ = {.position = at, .recorded = c, .kind = kind, .n = n};
  return c.value < n ? c.value : 0;
}

std::string replay::divergence::to_string() const {
  std::string const what =
      fmt::format("replay diverged at choice {}: recorded is '{}', {} among {}; ", position,
                  quarry::to_string(recorded.kind), recorded.value, recorded.n);
  return n == 0 ? what + "the execution ended"
                : what + fmt::format("asked for is '{}', among {}", quarry::to_string(kind), n);
}

} // namespace quarry
