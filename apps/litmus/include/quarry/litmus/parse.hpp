// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/litmus/test.hpp>
#include <quarry/result.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace quarry::litmus {

/// A litmus test in herd's style, for PTX or for Vulkan: its first word says which.
///
/// What the library does not have is listed in the test, not guessed. Storage classes, their
/// semantics, and the difference of private and non-private accesses are ignored, aliases are one
/// location: that gives stronger programs, never weaker ones.
///
/// Errors   std::errc::bad_message – not such a file; names `file` and the line
/// Source   the grammars LitmusPTX, LitmusVulkan and LitmusAssertions of Dat3M
[[nodiscard]] result<test> parse(std::string_view content, std::string const& file);

/// Errors   also a std::errc – the file cannot be read
[[nodiscard]] result<test> read_test(std::filesystem::path const& file);

} // namespace quarry::litmus
