// SPDX-License-Identifier: Apache-2.0
#include "lone_actor.hpp"

#include <quarry/actor_list.hpp>

#include <doctest/doctest.h>

using namespace quarry;
using namespace quarry_test;

TEST_SUITE("lib.actor_list") {
  TEST_CASE("actors come out in the order in which they came in, also while others come") {
    lone_actor a, b, c;
    actor_list list;
    CHECK(list.is_empty());
    for (int round = 0; round < 3; ++round) { // the list may be used again
      list.push_back(a);
      list.push_back(b);
      CHECK(&list.pop_front() == &a);
      list.push_back(c);
      list.push_back(a);
      CHECK(&list.pop_front() == &b);
      CHECK(&list.pop_front() == &c);
      CHECK_FALSE(list.is_empty());
      CHECK(&list.pop_front() == &a);
      CHECK(list.is_empty());
    }
  }

  TEST_CASE("an actor that was taken out is linked to nobody") {
    lone_actor a, b;
    actor_list list;
    list.push_back(a);
    list.push_back(b);
    CHECK(list.pop_front().next == nullptr);
    actor_list other;
    other.push_back(a);
    CHECK(&other.pop_front() == &a);
    CHECK(other.is_empty());
    CHECK(&list.pop_front() == &b);
  }
}
