// SPDX-License-Identifier: Apache-2.0
#include "explore/explored_memory.hpp"
#include "meeting_order.hpp"

#include <quarry/assert.hpp>
#include <quarry/emu/compute_unit.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/emu/work_group.hpp>
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <new>
#include <utility>

namespace quarry::emu {
namespace {

/// For whom those wait that can never go on, where everybody waits or has ended.
work_group::wave_bits absent_from(work_group const& g) {
  if (g.arrived != 0)
    return g.all & ~g.arrived;
  work_group::wave_bits members = 0; // of fine-grain barriers: others may have left and ended
  for (fine_grain_barrier_state const& b : g.fine_grain_barriers)
    for (std::uint32_t w = 0; b.arrived != 0 && w < g.wave_count; ++w)
      if (b.members[w].any())
        members |= work_group::wave_bits{1} << w;
  return members & g.finished;
}

} // namespace

std::string wave_slot::name() const {
  return fmt::format("wavefront {} of group {}", index, group->linear_id);
}

void wave_slot::on_done() noexcept {
  static_cast<compute_unit*>(home)->wave_done(*this);
}

std::string work_group::name() const {
  return fmt::format("group {} ({},{},{})", linear_id, id.x, id.y, id.z);
}

bool work_group::arrive_diverged(std::uint32_t index, meeting_kind const& m,
                                 std::source_location where) {
  wave_bits const bit = wave_bits{1} << index;
  diverged |= bit;
  diverged_at[index] = {where, &m};
  if ((diverged | finished) != all)
    return false;
  for (wave_bits rest = diverged; rest != 0; rest &= rest - 1)
    if (compare(diverged_at[static_cast<unsigned>(std::countr_zero(rest))], diverged_at[index]) !=
        0)
      return false; // settle() completes one place after the other
  complete(std::exchange(diverged, 0), index);
  return true;
}

bool work_group::complete_first_diverged() {
  if (diverged == 0)
    return false;
  // Of several places the first in the source: the others are reached by control flow below it, or
  // wait where that flow comes together again.
  diverged_place first = diverged_at[static_cast<unsigned>(std::countr_zero(diverged))];
  for (wave_bits rest = diverged; rest != 0; rest &= rest - 1) {
    auto const& at = diverged_at[static_cast<unsigned>(std::countr_zero(rest))];
    if (compare(at, first) < 0)
      first = at;
  }
  wave_bits who = 0;
  for (wave_bits rest = diverged; rest != 0; rest &= rest - 1)
    if (compare(diverged_at[static_cast<unsigned>(std::countr_zero(rest))], first) == 0)
      who |= rest & -rest;
  diverged &= ~who;
  bank ^= 1;
  // What the others have put down for a later meeting must be found in the bank that comes next.
  for (wave_bits rest = arrived | diverged; rest != 0; rest &= rest - 1) {
    auto const w = static_cast<unsigned>(std::countr_zero(rest));
    values[bank][w] = values[bank ^ 1][w];
  }
  participants = who;
  if (decides)
    synchronise(who);
  wake(who);
  return true;
}

fine_grain_barrier_state& work_group::fine_grain_barrier(std::uint32_t number) {
  while (fine_grain_barriers.size() <= number) {
    fine_grain_barrier_state& b = fine_grain_barriers.emplace_back();
    for (std::uint32_t w = 0; w < wave_count; ++w)
      b.members.push_back(waves[w].items);
  }
  return fine_grain_barriers[number];
}

bool work_group::arrive_at(fine_grain_barrier_state& b, std::uint32_t index, meeting_kind const& m,
                           std::source_location where) {
  if (!b.members[index].any())
    throw kernel_stop{fault::kind::misuse,
                      fmt::format("wavefront {} of {} comes to a fine-grain barrier of which none "
                                  "of its work-items is a member",
                                  index, name()),
                      where};
  if (b.arrived == 0)
    b.expected = &m;
  else if (b.expected != &m)
    meet_differently(index, m, {b.arrived, *b.expected}, where);
  b.arrived |= wave_bits{1} << index;
  wave_bits awaited = 0;
  for (std::uint32_t w = 0; w < wave_count; ++w)
    if (b.members[w].any())
      awaited |= wave_bits{1} << w;
  if ((awaited & ~b.arrived) != 0)
    return false;
  b.participants = std::exchange(b.arrived, 0);
  b.bank ^= 1;
  if (decides)
    synchronise(b.participants);
  wake(b.participants & ~(wave_bits{1} << index));
  return true;
}

void work_group::recheck(fine_grain_barrier_state& b) {
  if (b.arrived == 0)
    return;
  for (std::uint32_t w = 0; w < wave_count; ++w)
    if (b.members[w].any() && (b.arrived & (wave_bits{1} << w)) == 0)
      return;
  b.participants = std::exchange(b.arrived, 0);
  b.bank ^= 1;
  if (decides)
    synchronise(b.participants);
  wake(b.participants);
}

work_group::wave_bits work_group::at_fine_grain_barriers() const noexcept {
  wave_bits who = 0;
  for (fine_grain_barrier_state const& b : fine_grain_barriers)
    who |= b.arrived;
  return who;
}

void work_group::reserve_lds(std::size_t bytes) {
  constexpr std::align_val_t line{64};
  lds_owner_ = {static_cast<std::byte*>(::operator new(bytes, line)),
                [](std::byte* p) { ::operator delete(p, line); }};
  lds = lds_owner_.get();
  lds_capacity = bytes;
}

void work_group::synchronise(wave_bits who) {
  if (auto* const memory = explored_memory::of(*launch->scheduler))
    memory->meet(*this, who);
}

void work_group::wake_through_scheduler(wave_bits who) {
  for (; who != 0; who &= who - 1) {
    wave_slot& w = waves[static_cast<unsigned>(std::countr_zero(who))];
    w.home->make_ready(w);
  }
}

void work_group::meet_differently(std::uint32_t index, meeting_kind const& m, those_waiting others,
                                  std::source_location where) {
  std::string names;
  for (wave_bits rest = others.who; rest != 0; rest &= rest - 1) {
    auto const w = static_cast<unsigned>(std::countr_zero(rest));
    names += fmt::format("{}{}", names.empty() ? "" : ", ", w);
  }
  throw kernel_stop{
      fault::kind::barrier_divergence,
      fmt::format("wavefront {} of {} comes to a {} while wavefronts {} wait in a {}{}", index,
                  name(), to_string(m.what), names, to_string(others.in.what),
                  m.what == others.in.what ? " of other values, or by another operation" : ""),
      where};
}

void work_group::complete_if_all_wait() {
  if ((arrived | diverged | at_fine_grain_barriers() | finished) == all)
    static_cast<void>(complete_first_diverged());
}

std::optional<fault> work_group::settle() {
  wave_bits const parked = arrived | diverged | at_fine_grain_barriers();
  if (parked == 0 || (parked | finished) != all)
    return std::nullopt;
  if (complete_first_diverged())
    return std::nullopt;
  std::string names;
  for (wave_bits rest = absent_from(*this); rest != 0; rest &= rest - 1) {
    auto const w = static_cast<unsigned>(std::countr_zero(rest));
    names += fmt::format("{}{}{}", names.empty() ? "" : ", ", w,
                         (finished & (wave_bits{1} << w)) != 0 ? " (has ended)" : "");
  }
  return fault{fault::kind::barrier_divergence, launch->kernel,
               fmt::format("barrier divergence in {}: absent wavefronts: {}\n{}{}", name(),
                           names.empty() ? "none; they wait in different places" : names,
                           describe_waves(), launch->describe())};
}

std::string work_group::describe_waves() const {
  std::string text;
  for (std::uint32_t i = 0; i < wave_count; ++i) {
    wave_slot const& w = waves[i];
    std::uint32_t const first = i * launch->wavefront_size;
    text += fmt::format("  wavefront {} (work-items {}..{}) ", i, first,
                        first + static_cast<std::uint32_t>(w.items.count()) - 1);
    if ((finished & (wave_bits{1} << i)) != 0)
      text += "has ended\n";
    else if ((fresh & (wave_bits{1} << i)) != 0)
      text += "has not begun\n";
    else if (w.state == actor_state::waiting || w.state == actor_state::polling)
      text += fmt::format("waits at {}, {}\n", w.reason.what, quarry::to_string(w.reason.where));
    else
      text += fmt::format("is {}\n", quarry::to_string(w.state));
  }
  return text;
}

std::string work_group::absent_for(std::uint32_t index) const {
  wave_bits const bit = wave_bits{1} << index;
  wave_bits missing = 0;
  if ((arrived & bit) != 0)
    missing = all & ~arrived;
  else if ((diverged & bit) != 0)
    missing = all & ~diverged & ~finished; // this meeting needs none of those that have ended
  for (fine_grain_barrier_state const& b : fine_grain_barriers)
    for (std::uint32_t w = 0; (b.arrived & bit) != 0 && w < wave_count; ++w)
      if (b.members[w].any() && (b.arrived & (wave_bits{1} << w)) == 0)
        missing |= wave_bits{1} << w;
  std::string text;
  for (wave_bits rest = missing; rest != 0; rest &= rest - 1) {
    auto const w = static_cast<unsigned>(std::countr_zero(rest));
    wave_slot const& wave = waves[w];
    bool const has_ended = (finished & rest & -rest) != 0;
    bool const waits = wave.state == actor_state::waiting || wave.state == actor_state::polling;
    text += fmt::format(
        "{}wavefront {} ({})", text.empty() ? "absent: " : ", ", w,
        has_ended ? "has ended"
        : waits   ? fmt::format("{} at {}", wave.reason.what, quarry::to_string(wave.reason.where))
                  : std::string(quarry::to_string(wave.state)));
  }
  return text;
}

std::byte* take_lds(wave_slot& w, std::uint64_t bytes, std::source_location where) {
  std::uint64_t const first = (std::uint64_t{w.lds_used} + 63) / 64 * 64;
  std::uint64_t const reserved = w.group->launch->config.lds_bytes;
  if (first + bytes > reserved)
    throw kernel_stop{fault::kind::lds_out_of_bounds,
                      fmt::format("{} bytes of LDS at offset {}; the launch reserved {}{}", bytes,
                                  first, reserved,
                                  first != 0 ? ", and each view begins at a multiple of 64" : ""),
                      where};
  w.lds_used = static_cast<std::uint32_t>(first + bytes);
  return w.group->lds + first;
}

void wrong_shape(wave_slot const& w, char const* what, std::source_location where) {
  extent const n = w.group->launch->groups;
  extent const size = w.group->size;
  throw kernel_stop{
      fault::kind::wrong_shape,
      fmt::format("{}; the grid has {} x {} x {} groups, this one {} x {} x {} work-items", what,
                  n.x, n.y, n.z, size.x, size.y, size.z),
      where};
}

void has_not_come(wave_slot const& w, char const* what, int by, std::int64_t from,
                  std::source_location where) {
  std::string const who = by == -1 ? "" : fmt::format(" by lane {}", by);
  std::string const text =
      fmt::format("a {}{} from lane {}, which has not come to it", what, who, from);
  wrong_shape(w, text.c_str(), where);
}

} // namespace quarry::emu
