// SPDX-License-Identifier: Apache-2.0
#include <quarry/in_quotes.hpp>

#include <fmt/format.h>

#include <cstddef>
#include <iterator>

namespace quarry {

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

} // namespace quarry
