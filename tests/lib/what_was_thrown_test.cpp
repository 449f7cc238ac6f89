// SPDX-License-Identifier: Apache-2.0
#include <quarry/what_was_thrown.hpp>

#include <doctest/doctest.h>

#include <exception>
#include <stdexcept>
#include <string>

using namespace quarry;

namespace {

template<class E>
std::string words_for(E thrown) {
  try {
    throw thrown;
  } catch (...) {
    std::string text = what_was_thrown();
    CHECK(what_was_thrown(std::current_exception()) == text);
    return text;
  }
}

} // namespace

TEST_SUITE("lib.what_was_thrown") {
  TEST_CASE("an exception says what it is, others that they are none") {
    CHECK(words_for(std::runtime_error("no such file")) == "threw: no such file");
    CHECK(words_for(42) == "threw something that is no std::exception");
  }

  TEST_CASE("who is abandoned is not caught") {
    CHECK_THROWS_AS(words_for(abandoned{}), abandoned);
  }
}
