// SPDX-License-Identifier: Apache-2.0
#include <quarry/in_quotes.hpp>

#include <doctest/doctest.h>

#include <string>
#include <string_view>

using quarry::in_quotes;

TEST_SUITE("lib.in_quotes") {
  TEST_CASE("what can be printed stands as it is") {
    CHECK(in_quotes("") == "''");
    CHECK(in_quotes("a ~b") == "'a ~b'");
  }
  TEST_CASE("other bytes are numbers") {
    CHECK(in_quotes("a\tb\x7f\xff") == "'a\\x09b\\x7f\\xff'");
    CHECK(in_quotes(std::string_view("\0", 1)) == "'\\x00'");
  }
  TEST_CASE("of a long text there are 60 characters, and that there are more") {
    CHECK(in_quotes(std::string(60, 'x')) == "'" + std::string(60, 'x') + "'");
    CHECK(in_quotes(std::string(61, 'x')) == "'" + std::string(60, 'x') + "'...");
  }
}
