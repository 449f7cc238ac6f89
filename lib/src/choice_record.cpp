// SPDX-License-Identifier: Apache-2.0
#include "choice_text.hpp"

#include <quarry/choice_record.hpp>

#include <algorithm>

namespace quarry {

std::uint64_t trace_hash(std::span<choice const> all) noexcept {
  trace_hasher hash;
  for (choice const& c : all)
    hash.add(c);
  return hash.value();
}

choice_record::choice_record(std::span<choice const> all)
    : count_(all.size()), trace_hash_(quarry::trace_hash(all)) {
  while (!all.empty() && all.back().value == 0)
    all = all.first(all.size() - 1);
  choices_.assign(all.begin(), all.end());
}

std::size_t choice_record::nonzero_count() const noexcept {
  return static_cast<std::size_t>(std::count_if(choices_.begin(), choices_.end(),
                                                [](choice const& c) { return c.value != 0; }));
}

std::size_t choice_record::preemption_count() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(choices_.begin(), choices_.end(),
                    [](choice const& c) { return c.kind == choice_kind::actor && c.value != 0; }));
}

std::string choice_record::to_text() const {
  return write_choices({.choices = choices_, .count = count_, .trace_hash = trace_hash_});
}

result<choice_record> choice_record::from_text(std::string_view text) {
  std::vector<choice> listed;
  auto const header = read_choices(text, listed);
  if (header.has_error())
    return header.error();
  choice_record r(listed);
  r.count_ = header->count;
  r.trace_hash_ = header->trace_hash;
  return r;
}

} // namespace quarry
