// SPDX-License-Identifier: Apache-2.0
#include "text.hpp"

#include <fmt/format.h>

#include <iterator>
#include <limits>
#include <unistd.h>
#include <utility>

namespace quarry::graph {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t longest = 60;
  std::string out = "'";
  for (char const c : text.substr(0, longest)) {
    auto const byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f)
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", byte);
    else
      out += c;
  }
  return out + (text.size() > longest ? "'..." : "'");
}

error malformed(std::string_view name, std::uint64_t line, std::string_view what) {
  return make_error(std::errc::bad_message, fmt::format("{}:{}: {}", name, line, what));
}

error make_error(std::errc code, std::string what) {
  return {std::make_error_code(code), std::move(what)};
}

std::uint64_t memory_limit(std::uint64_t asked) {
  if (asked != 0)
    return asked;
  long const pages = ::sysconf(_SC_PHYS_PAGES);
  long const page_bytes = ::sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page_bytes <= 0)
    return std::numeric_limits<std::uint64_t>::max(); // unknown: the allocator has the last word
  return static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes);
}

} // namespace quarry::graph
