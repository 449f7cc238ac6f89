// SPDX-License-Identifier: Apache-2.0
#include "gravel/last_words.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <set>

using quarry::net::gravel::last_words;
using namespace std::chrono_literals;

namespace {

/// A wait's timeout is 10 ms; `now` is in ms.
struct watch {
  last_words words{3};
  std::set<std::uint32_t> awaited;

  std::string missing(int now) {
    last_words::clock::time_point const at{std::chrono::milliseconds(1000 + now)};
    words.look(at, [&](std::uint32_t n) { return awaited.contains(n); });
    return words.missing(at - 10ms);
  }
};

} // namespace

TEST_SUITE("net.gravel_last_words") {
  TEST_CASE(
      "who is waited for and says nothing is missing after the timeout, whatever others say") {
    watch w{.awaited = {1, 2}};
    CHECK(w.missing(0) == "");
    w.words.hear(2);
    CHECK(w.missing(9) == "");
    CHECK(w.missing(10) == "pe 1");
    CHECK(w.missing(19) == "pe 1, pe 2");
    w.words.hear(1);
    CHECK(w.missing(20) == "pe 2");
  }

  TEST_CASE("each has the whole timeout from when it is waited for, while others are already") {
    watch w{.awaited = {1}};
    CHECK(w.missing(0) == "");
    w.words.hear(1);
    CHECK(w.missing(9) == "");
    w.awaited = {2}; // for the first time
    CHECK(w.missing(12) == "");
    w.words.hear(1);
    CHECK(w.missing(21) == "");
    CHECK(w.missing(22) == "pe 2");
    w.awaited = {1}; // anew
    CHECK(w.missing(40) == "");
    w.awaited = {1, 2};
    CHECK(w.missing(49) == "");
    CHECK(w.missing(50) == "pe 1");
  }

  TEST_CASE("after a rest all waits are new") {
    watch w{.awaited = {1}};
    CHECK(w.missing(0) == "");
    w.words.rest();
    CHECK(w.missing(30) == "");
    CHECK(w.missing(39) == "");
    CHECK(w.missing(40) == "pe 1");
  }
}
