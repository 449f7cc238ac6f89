// SPDX-License-Identifier: Apache-2.0
#include "toy_run.hpp"

#include <quarry/bytes.hpp>
#include <quarry/random_bits.hpp>
#include <quarry/replay.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <vector>

using namespace quarry;
using namespace quarry_test;

TEST_SUITE("lib.bytes") {
  TEST_CASE("a byte is a choice, modulo the alternatives; zeros follow") {
    std::array<std::uint8_t, 3> const data{7, 255, 1};
    bytes b(data);
    for (int i = 0; i < 2; ++i) {
      b.begin(i);
      CHECK(b.pick(3, choice_kind::value) == 1);
      CHECK(b.pick(256, choice_kind::actor) == 255);
      CHECK(b.pick(2, choice_kind::write_back) == 1);
      CHECK(b.pick(2, choice_kind::value) == 0);
      b.end();
    }
  }

  TEST_CASE("more than 256 alternatives take more than one byte") {
    std::array<std::uint8_t, 7> const data{0x34, 0x12, 1, 2, 3, 4, 9};
    bytes b(data);
    b.begin(0);
    CHECK(b.pick(65'536, choice_kind::value) == 0x1234);
    CHECK(b.pick(0xffffffff, choice_kind::value) == 0x04030201);
    CHECK(b.pick(257, choice_kind::value) == 9); // there is no second byte
  }

  TEST_CASE("bytes and the replay of what they chose are the same execution") {
    auto const program = [](chooser& c) {
      return toy_run(c, {toy_steps(9), toy_steps(12), toy_steps(5), toy_steps(1)});
    };
    random_bits random(5);
    for (int i = 0; i < 200; ++i) {
      std::vector<std::uint8_t> data(random.below(40));
      for (auto& byte : data)
        byte = static_cast<std::uint8_t>(random());
      bytes fuzzed(data);
      recorder recorded(fuzzed);
      fuzzed.begin(0);
      auto const trace = program(recorded);
      replay again(recorded.record());
      again.begin(0);
      CHECK(program(again) == trace);
      again.end();
      CHECK(!again.diverged());
    }
  }
}
