// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace quarry {

/// Two failures of one class are the same failure.
struct failure_class {
  std::string kind;
  std::string where;
  friend bool operator==(failure_class const&, failure_class const&) = default;
};

/// Of a finding, or of what an exploration says of it.
template<class Failure>
[[nodiscard]] failure_class class_of(Failure const& f) {
  return {f.kind, f.where};
}

// What a failure's class is made of where no single place is to blame: the same in every execution
// that fails in the same way.

/// The source lines that a report names, each once, sorted: "a.cpp:3, b.hpp:12".
[[nodiscard]] std::string source_lines_of(std::string_view report);
/// Whether "lock.hpp:12" is among them.
[[nodiscard]] bool names_line(std::string_view report, std::string_view line);
/// The two of a race, "a.cpp:3 and b.hpp:12", whichever of them came first: it is the same race.
[[nodiscard]] std::string both_lines_of(std::string one, std::string other);
/// The first line, without what looks like an address.
[[nodiscard]] std::string without_addresses(std::string_view text);

} // namespace quarry
