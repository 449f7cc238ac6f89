// SPDX-License-Identifier: Apache-2.0
// What went wrong in an explored execution.
#include "explored_memory.hpp"
#include "failure_class.hpp"
#include "host_word.hpp"
#include "lane_site.hpp"
#include "source_text.hpp"

#include <quarry/random_bits.hpp>
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

namespace quarry::emu {

using access = race_detector::access;

namespace {

/// A word's name at the end of a sentence, if it has one.
std::string in_brackets(std::string const& word) {
  return word.empty() ? "" : fmt::format(" ({})", word);
}

/// How many of memory's first bytes at `at` have no value yet. Host code that writes there directly
/// is told by the values that it leaves, in words of four: a byte of a value may well be
/// `uninitialised_byte`.
unsigned unwritten_bytes(address_ranges const& uninitialised, std::uintptr_t at,
                         cache_machine::reading const& r, unsigned bytes) noexcept {
  constexpr std::uintptr_t together = 4;
  auto const has_value = [&](std::uintptr_t first) {
    for (std::uintptr_t i = first; i < first + together; ++i)
      if (uninitialised.contain(i) && host_word(i, 1) != uninitialised_byte)
        return true;
    return false;
  };
  unsigned count = 0;
  for (unsigned i = 0; i < bytes; ++i)
    if ((r.first_bytes >> i & 1) != 0 && !has_value((at + i) / together * together))
      ++count;
  return count;
}

/// "that nobody has written", of which some have been, or none.
std::string how_many_unwritten(unsigned unwritten, unsigned bytes, std::string_view by_nobody) {
  return unwritten == bytes ? fmt::format("that {}", by_nobody)
                            : fmt::format("of which {} of {} {}", unwritten, bytes, by_nobody);
}

} // namespace

// Who is busy

void explored_memory::count_operations() noexcept {
  for (actor_id a = 0; a < port_count_; ++a)
    actors_[a].operations = 0;
  looks_.emplace();
}

void explored_memory::add_look(actor_id who, std::uintptr_t at, std::source_location where) {
  std::uint64_t const place = std::uint64_t{where.line()} << 32 | where.column();
  if (looks_->insert(random_bits::at(random_bits::at(at, who), place)).second)
    ++activity_;
}

std::string explored_memory::busiest(std::size_t most) const {
  std::vector<known_actor const*> those;
  for (actor_id a = 0; a < port_count_; ++a)
    if (actors_[a].operations != 0)
      those.push_back(&actors_[a]);
  std::sort(those.begin(), those.end(), [](auto const* a, auto const* b) {
    return a->operations != b->operations ? a->operations > b->operations : a < b;
  });
  those.resize(std::min(those.size(), most));
  std::string text;
  for (known_actor const* a : those)
    text += fmt::format("{}{} at {} ({} operation{})", text.empty() ? "" : ", ",
                        name_of(static_cast<actor_id>(a - actors_.data())),
                        quarry::to_string(a->last), a->operations, a->operations == 1 ? "" : "s");
  return text;
}

std::string explored_memory::idlest(report const& table, std::size_t most) const {
  std::string text;
  for (report_row const& row : table.rows) {
    if (row.state != actor_state::ready || row.who == nullptr)
      continue;
    cache_port const* const port = find_port(*row.who);
    if (port != nullptr && actors_[port->id()].operations != 0)
      continue;
    if (most-- == 0)
      break;
    text += fmt::format("{}{}", text.empty() ? "" : ", ",
                        port == nullptr ? row.actor : name_of(port->id()));
  }
  return text;
}

void explored_memory::tell_of(void const* who, std::function<std::string()> tell) {
  std::erase_if(tellers_, [who](auto const& t) { return t.first == who; });
  if (tell != nullptr)
    tellers_.emplace_back(who, std::move(tell));
}

std::string explored_memory::told_of() const {
  std::string text;
  if (history_.is_kept())
    for (auto const& [who, tell] : tellers_)
      text += tell();
  return text;
}

std::string explored_memory::awaited(report const& table) const {
  std::string text;
  if (!history_.is_kept())
    return text;
  std::set<std::uintptr_t> told;
  for (report_row const& row : table.rows) {
    auto const at = reinterpret_cast<std::uintptr_t>(row.reason.on);
    if (row.state != actor_state::polling || !told.insert(at).second)
      continue;
    if (auto const word = word_of(at); !word.empty())
      text += fmt::format("  awaited  {}: {}\n", word, history_.last_write(at));
  }
  return text;
}

void explored_memory::note_given_up(report table) {
  std::string about = awaited(table) + told_of();
  given_up_ = {.who_waits = std::move(table), .about = std::move(about)};
}

report explored_memory::who_waits() const {
  return given_up_ ? given_up_->who_waits : scheduler_.report_now();
}

std::string explored_memory::why_it_ends() const {
  return finding_ ? finding_->report : is_letting_go() ? given_up_->who_waits.to_string() : "";
}

std::string explored_memory::about_waits() const {
  return given_up_ ? given_up_->about : awaited(scheduler_.report_now()) + told_of();
}

// Findings

bool is_wait_in_vain(explored_memory::finding const& f) {
  return f.kind == to_string(fault::kind::deadlock) ||
         f.kind == to_string(fault::kind::not_resident);
}

void explored_memory::found(finding f) {
  if (finding_) {
    equal_count_ += f.kind == finding_->kind && f.where == finding_->where ? 1 : 0;
    return;
  }
  if (is_cut_off() || (is_letting_go() && !is_wait_in_vain(f)))
    return;
  finding_ = std::move(f);
  is_found_by_unwinding_ = scheduler_.current() != nullptr && std::uncaught_exceptions() != 0;
  if (auto const* const t = first_unheard())
    cause_ = *t;
  if (!finding_->report.ends_with('\n'))
    finding_->report += '\n';
  bool const is_of_values = finding_->kind == "check" || finding_->kind == "deadlock";
  if (is_of_values && !history_.stale_read().empty())
    finding_->report += "  stale    " + history_.stale_read();
  if (finding_->kind == "check" || finding_->kind == "race")
    finding_->report += told_of();
  if (is_of_values && missed_)
    finding_->report +=
        fmt::format("  note: {} has last not seen at {} what others may have written to "
                    "coarse-grained memory\n        before a kernel has ended, or begun\n",
                    name_of(missed_->who), quarry::to_string(missed_->where));
  tell_debugger(finding_->kind, finding_->where);
}

/// Who was cut off by the limit of decisions may take that for anything.
bool explored_memory::is_cut_off() const {
  if (!scheduler_.is_out_of_decisions())
    return false;
  actor const* const self = scheduler_.current();
  return is_letting_go() || (self != nullptr && self->is_abandoned);
}

bool explored_memory::runs_wavefront() const {
  actor const* const self = scheduler_.current();
  if (self == nullptr || self->home == nullptr)
    return false;
  void const* const place = dynamic_cast<void const*>(self->home);
  return std::any_of(units_.begin(), units_.end(),
                     [place](known_unit const& u) { return u.unit == place; });
}

void explored_memory::tell_debugger(std::string const& kind, std::string const& where) {
  if (options_.tells_debugger && !is_cut_off() && !std::exchange(is_told_, true))
    debug_failure(kind.c_str(), where.c_str());
}

void explored_memory::hear(kernel_stop const& stop) {
  if (runs_wavefront() && !is_letting_go())
    tell_debugger(std::string(to_string(stop.what)), quarry::to_string(stop.where));
}

void explored_memory::found(fault const& f) {
  std::string const lines =
      f.what == fault::kind::exception ? without_addresses(f.report) : source_lines_of(f.report);
  bool const is_wait = f.what == fault::kind::deadlock || f.what == fault::kind::not_resident;
  std::string report = f.report;
  if (is_wait && !finding_) { // of one more nobody reads it
    if (!report.ends_with('\n'))
      report += '\n';
    report += about_waits();
  }
  found({std::string(to_string(f.what)),
         lines.empty() ? f.kernel : fmt::format("{}: {}", f.kernel, lines), std::move(report)});
}

void explored_memory::found_or_noted(finding f) {
  if (finding_)
    finding_->report += f.report;
  else
    found(std::move(f));
}

void explored_memory::found(kernel_stop const& stop, std::string_view who) {
  std::string const where = quarry::to_string(stop.where);
  found({std::string(to_string(stop.what)), where,
         fmt::format("{}: {}: {}", where, who, stop.message)});
}

bool explored_memory::takes_note_of_misuse(std::string const& what) {
  if (is_being_left())
    return true;
  if (scheduler_.current() != nullptr && std::uncaught_exceptions() != 0)
    misuse_by_unwinding_ = what;
  else
    found({"misuse", what, "misuse: " + what});
  return true;
}

void explored_memory::tell_misuse_by_unwinding() {
  if (std::string const what = std::exchange(misuse_by_unwinding_, ""); !what.empty())
    found({"misuse", what, "misuse: " + what});
}

void explored_memory::report_race(race_detector::race const& race) {
  std::string where = both_lines_of(quarry::to_string(race.first.at.where),
                                    quarry::to_string(race.second.at.where));
  if (finding_)
    return found({"race", std::move(where), ""}); // one more
  auto const name = [this](race_detector::actor_id id) { return name_of(id); };
  auto const word = [this](std::uintptr_t at) { return word_of(at); };
  auto const more = [this](access const& a) { return about(a.actor, a.at.where); };
  std::string report = to_string(race, name, word, more);
  access const& a = race.second.what == access::kind::fence ? race.first : race.second;
  if (std::string const memory = allocation_of(a.actor, a.address); !memory.empty())
    report += fmt::format("  memory   {}\n", memory);
  if ((race.first.order || race.second.order) && coarse_.contain(a.address))
    report += "           (coarse-grained memory knows no scope beyond the agent)\n";
  found({"race", std::move(where), std::move(report)});
}

std::string explored_memory::text_of(std::source_location where) const {
  std::string const line = history_.is_kept() ? source_line(where) : "";
  return line.empty() ? "" : fmt::format("             | {}\n", line);
}

std::string explored_memory::about(actor_id who, std::source_location where) const {
  std::string const dispatch = names_.dispatch_of(who);
  return text_of(where) + (dispatch.empty() ? "" : fmt::format("             {}\n", dispatch));
}

void explored_memory::blame(char const* kind, actor_id who, race_detector::site by,
                            std::string_view what) {
  std::string const place = quarry::to_string(by.where);
  found({kind, place,
         fmt::format("{}: {}{}{}\n{}", place, name_of(who), lane_text(by), what,
                     about(who, by.where))});
}

bool explored_memory::may_run(cache_port const& port) const noexcept {
  actor const* const self = scheduler_.current();
  if (self == nullptr)
    return false;
  cache_port const* const known =
      self->number < by_number_.size() ? by_number_[self->number] : nullptr;
  return known == nullptr || known == &port; // null: a wavefront's
}

void explored_memory::write_down(operation_history::operation const& o) {
  if (actor const* const self = scheduler_.current(); self != nullptr && self->is_abandoned)
    return; // the execution is over
  history_.add(o, finding_.has_value());
}

// Accesses of what is not there

bool explored_memory::blame_bounds(actor_id who, std::uintptr_t at, unsigned bytes,
                                   std::source_location where) {
  std::string const place = quarry::to_string(where);
  found({std::string(to_string(fault::kind::out_of_bounds)), place,
         fmt::format("{}: {} accesses {} bytes {}\n{}", place, name_of(who), bytes,
                     surroundings_of(reinterpret_cast<void const*>(at), bytes), // NOLINT
                     about(who, where))});
  return false;
}

// Values that nobody gave, or that came by chance

void explored_memory::check_initialised(actor_id who, std::uintptr_t at, unsigned bytes,
                                        cache_machine::reading const& r, race_detector::site by) {
  if (!uninitialised_.contain(at))
    return;
  unsigned const unwritten = unwritten_bytes(uninitialised_, at, r, bytes);
  if (unwritten == 0)
    return;
  blame("uninitialised", who, by,
        fmt::format(" reads {} bytes of global memory {}{}", bytes,
                    how_many_unwritten(unwritten, bytes, "nobody has written"),
                    in_brackets(word_of(at, bytes))));
}

void explored_memory::check_lds(actor_id who, std::uintptr_t at, unsigned bytes,
                                race_detector::site by) {
  if (lds_.cover(at, bytes))
    return;
  unsigned unwritten = 0;
  for (unsigned i = 0; i < bytes; ++i)
    unwritten += lds_.cover(at + i, 1) ? 0 : 1;
  blame("uninitialised", who, by,
        fmt::format(" reads {} bytes of LDS {}{}: uninitialised, or a barrier is missing after "
                    "those who do",
                    bytes,
                    how_many_unwritten(unwritten, bytes, "nobody in its work-group has written"),
                    in_brackets(word_of(at, bytes))));
}

void explored_memory::blame_chance(actor_id who, polled_words::ended_loop const& loop,
                                   std::uint64_t value, std::source_location where) {
  blame("eviction", who, {where},
        fmt::format(" has read {:#x} {} times, and now {:#x}: a loop of plain loads ends only if "
                    "its cache happens to fetch the word anew\n  needs relaxed or stronger, at the "
                    "writer's scope, or wait_until",
                    loop.value, loop.times, value));
}

} // namespace quarry::emu
