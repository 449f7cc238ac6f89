// SPDX-License-Identifier: Apache-2.0
#include <quarry/fnv_hash.hpp>

#include <doctest/doctest.h>

using namespace quarry;

TEST_SUITE("lib.fnv_hash") {
  TEST_CASE("it is FNV-1a, as its authors list it") {
    CHECK(fnv_hash("") == 0xcbf29ce484222325);
    CHECK(fnv_hash("a") == 0xaf63dc4c8601ec8c);
    CHECK(fnv_hash("foobar") == 0x85944171f73967e8);
  }

  TEST_CASE("bytes above 127 are no negative numbers") {
    CHECK(fnv_hash("\xff") == (0xcbf29ce484222325 ^ 0xffU) * 0x100000001b3);
  }
}
