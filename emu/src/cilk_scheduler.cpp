// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/cilk_scheduler.hpp>

#include <algorithm>

namespace quarry::emu {

std::optional<channel_choice> cilk_scheduler::operator()(std::span<channel_state const> channels,
                                                         bool is_idle) const {
  std::uint64_t ready = 0;
  std::uint32_t running = 0;
  bool is_blocked = false;
  for (channel_state const& c : channels) {
    ready += c.ready;
    running += c.running;
    is_blocked = is_blocked || c.waiting != 0;
  }
  if (ready == 0)
    return std::nullopt;
  if (is_blocked) {
    auto choice = deepest(channels);
    if (choice && order_ == traversal::hybrid)
      choice->most = batch_;
    return choice;
  }
  if (order_ == traversal::help_first)
    return shallowest(channels, is_idle);
  if (running >= 2) // what they spawn is not ready yet
    return std::nullopt;
  if (ready < batch_)
    return shallowest(channels, is_idle);
  return running == 0 ? depth_first(channels) : next_batch(channels);
}

/// While a batch runs: one more, so that it is there when the other ends.
std::optional<channel_choice>
cilk_scheduler::next_batch(std::span<channel_state const> channels) const {
  for (std::size_t level = channels.size(); level != 0; level -= stacks_)
    if (channel_state const& c = channels[level - stacks_]; c.ready != 0)
      return c.ready >= batch_ ? std::optional(channel_choice(level - stacks_, batch_))
                               : std::nullopt;
  return std::nullopt;
}

/// A batch at a time, while nothing runs.
std::optional<channel_choice>
cilk_scheduler::depth_first(std::span<channel_state const> channels) const {
  for (std::size_t level = channels.size(); level != 0; level -= stacks_) {
    auto const here = channels.subspan(level - stacks_, stacks_);
    // What waits has nothing in deeper levels any more: first it, if it is worth it.
    for (std::size_t s = stacks_ - 1; s != 0; --s)
      if (here[s].ready >= enough_ || (here[s].ready != 0 && here[0].ready == 0))
        return level - stacks_ + s;
    if (here[0].ready != 0)
      return channel_choice(level - stacks_, batch_);
  }
  return std::nullopt;
}

std::optional<channel_choice> cilk_scheduler::shallowest(std::span<channel_state const> channels,
                                                         bool is_idle) const {
  for (std::size_t i = 0; i < channels.size(); i += stacks_)
    if (channels[i].ready >= enough_ || (is_idle && channels[i].ready != 0))
      return i;
  // Nothing is left to spawn: the deepest that waits for a sync.
  return is_idle ? deepest(channels) : std::nullopt;
}

std::optional<channel_choice>
cilk_scheduler::deepest(std::span<channel_state const> channels) const {
  bool is_below = false; // there is something in deeper levels
  for (std::size_t level = channels.size(); level != 0; level -= stacks_) {
    auto const here = channels.subspan(level - stacks_, stacks_);
    channel_state const& spawned = here.front();
    bool const runs = std::any_of(here.begin(), here.end(),
                                  [](channel_state const& c) { return c.running != 0; });
    for (std::size_t s = stacks_ - 1; s != 0 && !is_below; --s)
      if (here[s].ready >= enough_ ||
          (here[s].ready != 0 &&
           (here[s].waiting != 0 || (spawned.ready == 0 && spawned.running == 0))))
        return level - stacks_ + s;
    if (spawned.ready >= spawned.wavefront_size || (spawned.ready != 0 && !is_below && !runs))
      return level - stacks_;
    is_below =
        is_below || runs ||
        std::any_of(here.begin(), here.end(), [](channel_state const& c) { return c.ready != 0; });
  }
  return std::nullopt;
}

} // namespace quarry::emu
