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
  std::string const word =
      at == 0
          ? ""
          : fmt::format("word {} = {:#x}",
                        word_numbers_.try_emplace(at, word_numbers_.size()).first->second, value);
  history_.push_back(fmt::format("  {:>5}  {:<26} {:<6} {:<18} {:<24} {}{}\n", ++operations_,
                                 name_of(who), what, how, word, quarry::to_string(where), more));
  if (history_.size() > history_lines)
    history_.pop_front();
}
// NOLINTEND(readability-function-size)

std::string explored_memory::history() const {
  std::string all;
  for (std::string const& line : history_)
    all += line;
  return all;
}

void explored_memory::count_operations() noexcept {
  for (known_actor& a : actors_)
    a.operations = 0;
}

std::string explored_memory::busiest() const {
  std::vector<known_actor const*> those;
  for (known_actor const& a : actors_)
    if (a.operations != 0)
      those.push_back(&a);
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
  finding_ = std::move(f);
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

void explored_memory::report_race(race_detector::race const& race) {
  auto const name = [this](race_detector::actor_id id) { return name_of(id); };
  auto const word_of = [this](std::uintptr_t at) {
    auto const known = word_numbers_.find(at);
    return known == word_numbers_.end() ? std::string() : fmt::format("word {}", known->second);
  };
  found({"race",
         fmt::format("{} and {}", quarry::to_string(race.first.at.where),
                     quarry::to_string(race.second.at.where)),
         to_string(race, name, word_of)});
}

void explored_memory::blame(char const* kind, actor_id who, std::source_location where,
                            std::string_view what) {
  std::string const place = quarry::to_string(where);
  found({kind, place, fmt::format("{}: {}{}\n", place, name_of(who), what)});
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
