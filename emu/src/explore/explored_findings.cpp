// SPDX-License-Identifier: Apache-2.0
// What an explored execution says of itself: its last operations, and what went wrong.
#include <quarry/emu/explored_memory.hpp>
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace quarry::emu {

// History

// NOLINTBEGIN(readability-function-size): an access has that many properties
void explored_memory::write_down(actor_id who, char const* what, std::optional<order> o, scope s,
                                 std::uintptr_t at, std::uint64_t value, std::source_location where,
                                 std::string_view more) {
  if (finding_)
    return;
  std::string const how =
      o ? fmt::format("{} {}", to_string(*o), to_string(s)) : std::string("plain");
  if (at != 0)
    word_numbers_.try_emplace(at, word_numbers_.size());
  std::string const word = at == 0 ? "" : fmt::format("{} = {:#x}", word_of(at), value);
  history_.push_back(fmt::format("  {:>5}  {:<26} {:<6} {:<18} {:<24} {}{}\n", ++operations_,
                                 name_of(who), what, how, word, quarry::to_string(where), more));
  if (history_.size() > history_lines)
    history_.pop_front();
}
// NOLINTEND(readability-function-size)

std::string explored_memory::word_of(std::uintptr_t at) const {
  if (allocations::range const* const r = range_of(at)) {
    std::uintptr_t const offset = at - r->begin;
    unsigned width = machine_.width(at);
    if (width == 0) // nobody has accessed it yet: as large as the others, presumably
      width = machine_.width(r->begin);
    if (offset == 0)
      return r->name + "[0]";
    return width != 0 && offset % width == 0 ? fmt::format("{}[{}]", r->name, offset / width)
                                             : fmt::format("{}, byte {}", r->name, offset);
  }
  auto const known = word_numbers_.find(at);
  return known == word_numbers_.end() ? std::string() : fmt::format("word {}", known->second);
}

std::string explored_memory::name_of(void const* address) const {
  auto const at = reinterpret_cast<std::uintptr_t>(address);
  return range_of(at) == nullptr ? "" : word_of(at);
}

allocations::range const* explored_memory::range_of(std::uintptr_t at) const noexcept {
  for (allocations const* const a : sources_)
    if (allocations::range const* const r = a->find(at))
      return r;
  return nullptr;
}

std::string explored_memory::history() const {
  std::string all;
  for (std::string const& line : history_)
    all += line;
  return all;
}

void explored_memory::count_operations() noexcept {
  for (actor_id a = 0; a < port_count_; ++a)
    actors_[a].operations = 0;
}

std::string explored_memory::busiest() const {
  std::vector<known_actor const*> those;
  for (actor_id a = 0; a < port_count_; ++a)
    if (actors_[a].operations != 0)
      those.push_back(&actors_[a]);
  std::sort(those.begin(), those.end(), [](auto const* a, auto const* b) {
    return a->operations != b->operations ? a->operations > b->operations : a < b;
  });
  those.resize(std::min<std::size_t>(those.size(), 3));
  std::string text;
  for (known_actor const* a : those)
    text += fmt::format("{}{} at {} ({} operations)", text.empty() ? "" : ", ",
                        name_of(static_cast<actor_id>(a - actors_.data())),
                        quarry::to_string(a->last), a->operations);
  return text;
}

std::string explored_memory::name_of(actor_id who) const {
  actor_name const& n = actors_[who].name;
  return n.is_wave ? fmt::format("wavefront {} of group {}", n.wave, n.group) : n.host;
}

// Findings

void explored_memory::found(finding f) {
  if (finding_)
    return;
  // Who was cut off by the limit of decisions may take that for anything.
  if (actor const* const self = scheduler_.current();
      self != nullptr && self->is_abandoned && scheduler_.is_out_of_decisions())
    return;
  finding_ = std::move(f);
  if (!finding_->report.ends_with('\n'))
    finding_->report += '\n';
  if (missed_ && (finding_->kind == "check" || finding_->kind == "deadlock"))
    finding_->report +=
        fmt::format("  note: {} has last not seen at {} what others may have written to "
                    "coarse-grained memory\n        before a kernel has ended, or begun\n",
                    name_of(missed_->who), quarry::to_string(missed_->where));
  debug_failure(finding_->kind.c_str(), finding_->where.c_str());
}

void explored_memory::found(fault const& f) {
  found({std::string(to_string(f.what)), f.kernel, f.report});
}

void explored_memory::found(kernel_stop const& stop, std::string_view who) {
  std::string const where = quarry::to_string(stop.where);
  found({std::string(to_string(stop.what)), where,
         fmt::format("{}: {}: {}", where, who, stop.message)});
}

void explored_memory::report_race(race_detector::race const& race) {
  auto const name = [this](race_detector::actor_id id) { return name_of(id); };
  auto const word = [this](std::uintptr_t at) { return word_of(at); };
  found({"race",
         fmt::format("{} and {}", quarry::to_string(race.first.at.where),
                     quarry::to_string(race.second.at.where)),
         to_string(race, name, word)});
}

void explored_memory::blame(char const* kind, actor_id who, std::source_location where,
                            std::string_view what) {
  std::string const place = quarry::to_string(where);
  found({kind, place, fmt::format("{}: {}{}\n", place, name_of(who), what)});
}

// Effects

std::uint64_t explored_memory::stable_name(std::uintptr_t at) const {
  allocations::range const* const r = range_of(at);
  if (r == nullptr)
    return 0;
  std::uint64_t h = 0xcbf29ce484222325;
  for (char const c : r->name)
    h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  h = (h ^ (at - r->begin) / 8) * 0x9e3779b97f4a7c15;
  return h | 1;
}

void explored_memory::tell_effects(std::uintptr_t at, std::optional<order> o) {
  actor const* const self = scheduler_.current();
  std::uint32_t const who = self == nullptr ? 0 : self->number;
  effect e{.publishes = !published_.empty(),
           .acquires = o && *o != order::relaxed && *o != order::release};
  if (at != 0) {
    e.word = stable_name(at);
    e.is_any = e.word == 0;
  }
  choices_->on_effect(who, e);
  for (std::uintptr_t const word : std::exchange(published_, {})) {
    std::uint64_t const name = stable_name(word);
    choices_->on_effect(who, {.word = name, .is_any = name == 0});
  }
}

void explored_memory::tell_any() {
  if (!tells_effects_) [[likely]]
    return;
  actor const* const self = scheduler_.current();
  choices_->on_effect(self == nullptr ? 0 : self->number, {.is_any = true});
}

bool explored_memory::may_run(cache_port const& port) const noexcept {
  actor const* const self = scheduler_.current();
  if (self == nullptr)
    return false;
  cache_port const* const known =
      self->number < by_number_.size() ? by_number_[self->number] : nullptr;
  return known == nullptr || known == &port; // null: a wavefront's
}

// Accesses of what is not there

bool explored_memory::find_allocation(actor_id who, std::uintptr_t at, unsigned bytes,
                                      std::source_location where) {
  if (shared_ == nullptr)
    return true;
  if (allocations::range const* const r = range_of(at); r != nullptr && at + bytes <= r->end) {
    known_[next_known_++ % known_.size()] = {r->begin, r->end};
    return true;
  }
  std::string const place = quarry::to_string(where);
  found({std::string(to_string(fault::kind::out_of_bounds)), place,
         fmt::format("{}: {} accesses {} bytes {}\n", place, name_of(who), bytes,
                     shared_->describe(reinterpret_cast<void const*>(at)))}); // NOLINT
  return false;
}

// Values that nobody gave, or that came by chance

void explored_memory::check_initialised(actor_id who, std::uintptr_t at, unsigned bytes,
                                        std::uint64_t value, std::source_location where) {
  if (!uninitialised_.contain(at))
    return;
  for (unsigned i = 0; i < bytes; ++i) // what host code has written there directly is another value
    if ((value >> (8 * i) & 0xff) != uninitialised_byte)
      return;
  blame("uninitialised", who, where,
        fmt::format(" reads {} bytes of global memory that nobody has written", bytes));
}

void explored_memory::check_lds(actor_id who, std::uintptr_t at, unsigned bytes,
                                std::source_location where) {
  auto const word = lds_written_.find(at / 8);
  auto const mask = ((1U << bytes) - 1) << at % 8;
  if (word != lds_written_.end() && (word->second & mask) == mask)
    return;
  blame("uninitialised", who, where,
        fmt::format(" reads {} bytes of LDS that nobody in its work-group has written", bytes));
}

void explored_memory::wrote_lds(std::uintptr_t at, unsigned bytes, race_detector::write_id by) {
  lds_writes_[at] = by;
  auto& mask = lds_written_[at / 8];
  mask = static_cast<std::uint8_t>(mask | ((1U << bytes) - 1) << at % 8);
}

void explored_memory::watch_polling(actor_id who, std::uintptr_t at, std::uint64_t value,
                                    std::source_location where) {
  known_actor& a = actors_[who];
  if (a.polled != at || a.last.line() != where.line()) {
    a.polled = at;
    a.polled_value = value;
    a.polled_times = 1;
    return;
  }
  if (a.polled_value == value) {
    ++a.polled_times;
    return;
  }
  if (a.polled_times > 1)
    blame("eviction", who, where,
          fmt::format(" has read {:#x} {} times, and now {:#x}: a loop of plain loads ends only if "
                      "its cache happens to fetch the word anew\n  needs relaxed or stronger, at "
                      "the writer's scope, or wait_until",
                      a.polled_value, a.polled_times, value));
  a.polled_value = value;
  a.polled_times = 1;
}

} // namespace quarry::emu
