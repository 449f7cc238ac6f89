// SPDX-License-Identifier: Apache-2.0
#include "operation_history.hpp"

#include "explored_memory.hpp"

#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace quarry::emu {

void operation_history::begin(bool is_kept) {
  is_kept_ = is_kept;
  count_ = 0;
  if (word_numbers_.empty() && last_.empty()) // most often
    return;
  last_.clear();
  writes_.clear();
  word_numbers_.clear();
  stale_read_.clear();
}

/// "0x7", or "&ranks[3]"
std::string operation_history::text_of(std::uint64_t value) const {
  std::string const name = memory_.name_of(reinterpret_cast<void const*>(value)); // NOLINT
  return name.empty() ? fmt::format("{:#x}", value) : "&" + name;
}

void operation_history::add(operation const& o, bool is_over) {
  ++count_;
  if (o.at != 0)
    word_numbers_.try_emplace(o.at, word_numbers_.size());
  std::string const value = text_of(o.value);
  std::string const newer = o.more == stale ? newer_write(o) : "";
  if (!newer.empty() && !is_over)
    stale_read_ =
        fmt::format("{} has read {} = {} at {}: old{}\n", memory_.name_of(o.who),
                    memory_.word_of(o.at, o.bytes), value, quarry::to_string(o.where), newer);
  if (std::strcmp(o.what, "store") == 0 || (std::strcmp(o.what, "update") == 0 && o.more != failed))
    writes_[o.at].push_back({count_, o.who, o.value, value, o.where});
  if (is_over)
    return;
  std::string const origin = o.more.empty() ? late_write(o) : newer;
  if (!last_.empty() && origin.empty() && continues(last_.back(), o)) {
    past_operation& before = last_.back();
    ++before.count;
    before.last_word = memory_.word_of(o.at, o.bytes);
    before.last_value = value;
    before.last_at = o.at;
    return;
  }
  last_.push_back({.first = o,
                   .number = count_,
                   .first_word = o.at == 0 ? "" : memory_.word_of(o.at, o.bytes),
                   .first_value = value,
                   .last_word = {},
                   .last_value = {},
                   .last_at = o.at,
                   .origin = origin});
  if (last_.size() > most_lines)
    last_.pop_front();
}

std::optional<std::size_t> operation_history::number_of(std::uintptr_t word) const {
  auto const known = word_numbers_.find(word);
  return known == word_numbers_.end() ? std::nullopt : std::optional(known->second);
}

/// One more of the same line: what lanes have done there, or, of who is alone, at words that follow
/// each other.
bool operation_history::continues(past_operation const& before, operation const& o) const {
  operation const& b = before.first;
  bool const follows = o.at - before.last_at <= o.bytes || before.last_at - o.at <= o.bytes;
  return b.who == o.who && std::strcmp(b.what, o.what) == 0 && b.how == o.how && b.far == o.far &&
         b.more == o.more && o.at != 0 && is_same_line(b.where, o.where) &&
         (follows || memory_.names_.is_wave(o.who));
}

/// Of a load that has read the newest value: it is not what was stored last, but came later.
std::string operation_history::late_write(operation const& o) const {
  auto const known = writes_.find(o.at);
  if (std::strcmp(o.what, "load") != 0 || known == writes_.end())
    return "";
  std::vector<past_write> const& all = known->second;
  auto const read = std::find_if(all.rbegin(), all.rend(),
                                 [&](past_write const& w) { return w.value == o.value; });
  if (read == all.rbegin() || read == all.rend())
    return "";
  return fmt::format("; operation {} has come there after operation {}", read->number,
                     all.back().number);
}

std::string operation_history::newer_write(operation const& o) const {
  auto const known = writes_.find(o.at);
  if (known == writes_.end())
    return "";
  past_write const& w = known->second.back();
  return fmt::format("; {} has written {} at {} (operation {})", memory_.name_of(w.who),
                     w.value_text, quarry::to_string(w.where), w.number);
}

std::string operation_history::last_write(std::uintptr_t word) const {
  auto const known = writes_.find(word);
  if (known == writes_.end())
    return "no store to it is known";
  past_write const& w = known->second.back();
  return fmt::format("{}, written by {} at {} (operation {})", w.value_text, memory_.name_of(w.who),
                     quarry::to_string(w.where), w.number);
}

std::string operation_history::describe(past_operation const& o) const {
  operation const& f = o.first;
  std::string const how =
      f.how ? fmt::format("{} {}", to_string(*f.how), to_string(f.far)) : std::string("plain");
  std::string word;
  if (f.at != 0)
    word = fmt::format("{} = {}", o.first_word, o.first_value);
  if (o.count != 1)
    word +=
        fmt::format(" … {}{} ({} times)", o.last_word == o.first_word ? "" : o.last_word + " = ",
                    o.last_value, o.count);
  return fmt::format("  {:>5}  {:<22} {:<6} {:<18} {:<24} {}{}{}\n", o.number,
                     memory_.name_of(f.who), f.what, how, word, quarry::to_string(f.where), f.more,
                     o.origin);
}

std::string operation_history::lines() const {
  std::string all;
  for (past_operation const& o : last_)
    all += describe(o);
  return all;
}

} // namespace quarry::emu
