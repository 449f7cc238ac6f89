// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/cilk_scheduler.hpp>

#include <algorithm>

namespace quarry::emu {

std::optional<channel_choice> cilk_scheduler::operator()(std::span<channel_state const> channels,
                                                         bool is_idle) const {
  std::uint64_t calls = 0;
  bool is_blocked = false;
  for (std::size_t i = 0; i < channels.size(); ++i) {
    calls += i % stacks_ == 0 ? channels[i].ready : 0;
    is_blocked = is_blocked || channels[i].waiting != 0;
  }
  auto choice = is_blocked ? deepest(channels) : shallowest(channels, is_idle);
  bool const is_enough = is_blocked || calls >= enough_;
  if (choice && order_ == traversal::hybrid && is_enough && choice->channel % stacks_ == 0)
    choice->hint = to_their_ends;
  return choice;
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
