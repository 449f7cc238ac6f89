// SPDX-License-Identifier: Apache-2.0
#include <quarry/result.hpp>

#include <doctest/doctest.h>

#include <string>

namespace {

quarry::result<int> parse(std::string const& text) {
  if (text.empty())
    return quarry::error{std::make_error_code(std::errc::invalid_argument), "empty number"};
  return static_cast<int>(text.size());
}

} // namespace

TEST_SUITE("lib.result") {
  TEST_CASE("a result is a value or an error with a code and a sentence") {
    CHECK(parse("abc").value() == 3);
    auto const bad = parse("");
    REQUIRE(bad.has_error());
    CHECK(bad.error().code == std::errc::invalid_argument);
    CHECK(bad.error().what == "empty number");
  }

  TEST_CASE("taking the value of an error throws system_error with both") {
    try {
      static_cast<void>(parse("").value());
      FAIL("did not throw");
    } catch (std::system_error const& e) {
      CHECK(e.code() == std::errc::invalid_argument);
      CHECK(std::string(e.what()).find("empty number") != std::string::npos);
    }
  }
}
