// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/choice_record.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quarry {

/// The text of choice_record::to_text().
struct choice_text {
  std::span<choice const> choices;
  std::uint64_t count;
  std::uint64_t trace_hash;
};
[[nodiscard]] std::string write_choices(choice_text const& what);

struct choice_text_header {
  std::uint64_t count;
  std::uint64_t trace_hash;
};
/// Fills `listed`.
[[nodiscard]] result<choice_text_header> read_choices(std::string_view text,
                                                      std::vector<choice>& listed);

} // namespace quarry
