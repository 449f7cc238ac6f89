// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <cstddef>
#include <filesystem>
#include <string>

namespace quarry::litmus {

/// What a file is to be, and more than one of those has.
struct text_kind {
  char const* name; ///< with its article: "a litmus test"
  std::size_t most_bytes;
};
inline constexpr text_kind a_test{"a litmus test", std::size_t{64} << 10};
inline constexpr text_kind an_expectation_list{"a list of expectations", std::size_t{16} << 20};

/// All of a file.
///
/// Errors   a std::errc – it cannot be read, or has more than one of its kind; names it
[[nodiscard]] result<std::string> read_text(std::filesystem::path const& file,
                                            text_kind const& what);

} // namespace quarry::litmus
