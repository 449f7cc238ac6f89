// SPDX-License-Identifier: Apache-2.0
#include <quarry/read_text.hpp>

#include <doctest/doctest.h>

#include <filesystem>
#include <system_error>

using namespace quarry;

TEST_SUITE("lib.read_text") {
  TEST_CASE("all of a file, however long, up to the limit") {
    auto const program = std::filesystem::canonical("/proc/self/exe");
    std::size_t const size = std::filesystem::file_size(program);
    auto const all = read_text(program, size);
    REQUIRE(all);
    CHECK(all->size() == size);
    CHECK(all->starts_with("\x7f"
                           "ELF"));
    auto const more = read_text(program, size - 1);
    REQUIRE(!more);
    CHECK(more.error().code == std::errc::file_too_large);
    CHECK(more.error().what == "it has more than " + std::to_string(size - 1) + " bytes");
    CHECK(read_text("/dev/null", 0).value().empty());
  }

  TEST_CASE("a device without an end is too large, and what cannot be read says why") {
    CHECK(read_text("/dev/zero", 1'000'000).error().code == std::errc::file_too_large);
    CHECK(read_text("/nowhere/x", 1).error() ==
          error{std::make_error_code(std::errc::no_such_file_or_directory),
                "No such file or directory"});
    CHECK(read_text(".", 1).error().code == std::errc::is_a_directory);
  }
}
