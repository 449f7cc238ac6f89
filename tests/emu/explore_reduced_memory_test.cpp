// SPDX-License-Identifier: Apache-2.0
// What searches that leave out take for the same memory: a word is one whatever part of it is
// accessed, wherever the memory begins, and whoever has exposed it when.
#include "explored_ends.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/random_bits.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace {

using namespace quarry_test;

constexpr auto far = scope::system;

/// Two cores on 40 bytes that begin so many bytes behind a word.
struct cores_on {
  std::size_t offset;
  std::function<void(world_core&, std::byte*, words&)> first, second;

  void operator()(world& w, words& saw) const {
    explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
    alignas(64) std::byte raw[64] = {};
    auto const exposed = gpu.expose(reinterpret_cast<std::uint16_t*>(raw + offset), 20, "raw");
    std::byte* const second_word = raw + 8;
    w.start("one", [&](world_core& self) { first(self, second_word, saw); });
    w.start("other", [&](world_core& self) { second(self, second_word, saw); });
    w.join();
    saw.push_back(w.host().load(part<std::uint64_t>(second_word, 0)));
  }

  template<class T>
  static global<T> part(std::byte* memory, std::size_t byte) {
    return global<T>(reinterpret_cast<T*>(memory + byte));
  }
};

/// What it comes to is the same by each search; how many there are.
std::size_t same_outcomes(shape const& body) {
  auto const outcomes = [&](search how) { return all_of(body, how, {}, check_all_run).seen; };
  auto const all = outcomes(search::everything);
  CHECK(outcomes(search::reduced) == all);
  CHECK(outcomes(search::hashed) == all);
  return all.size();
}

/// Of a word, or of a part of it.
struct step {
  enum { load, store, add, exchange_if_zero } what;
  std::size_t bytes; ///< 2, 4, 8
  std::size_t at;    ///< in the two words
  std::uint64_t value;
  bool orders;
};

step draw(random_bits& bits) {
  step s{};
  s.what = static_cast<decltype(s.what)>(bits.below(4));
  s.bytes = std::size_t{2} << bits.below(3);
  s.at = bits.below(static_cast<std::uint32_t>(16 / s.bytes)) * s.bytes;
  if (bits.below(4) != 0) // most of them in the same word
    s.at %= 8;
  s.value = 1 + bits.below(3);
  s.orders = bits.below(2) != 0;
  return s;
}

template<class T>
void run(world_core& self, std::byte* memory, step const& s, std::uint64_t& saw) {
  auto const where = cores_on::part<T>(memory, s.at);
  auto const value = static_cast<T>(s.value);
  auto const see = [&](T v) { saw = saw * 7 + v + 1; };
  switch (s.what) {
  case step::load:
    see(self.load(where, s.orders ? order::acquire : order::relaxed, far));
    break;
  case step::store:
    self.store(where, value, s.orders ? order::release : order::relaxed, far);
    break;
  case step::add:
    see(self.fetch_add(where, value, s.orders ? order::acq_rel : order::relaxed, far));
    break;
  case step::exchange_if_zero: {
    T expected = 0;
    self.compare_exchange(where, expected, value, s.orders ? order::seq_cst : order::relaxed, far);
    see(expected);
  }
  }
}

void run_all(world_core& self, std::byte* memory, std::vector<step> const& steps,
             std::uint64_t& saw) {
  for (step const& s : steps)
    if (s.bytes == 8)
      run<std::uint64_t>(self, memory, s, saw);
    else if (s.bytes == 4)
      run<std::uint32_t>(self, memory, s, saw);
    else
      run<std::uint16_t>(self, memory, s, saw);
}

/// An actor exposes what is exposed already, and stores to it, while another one looks on.
struct exposes_again {
  char const* second_name;
  std::size_t second_offset; ///< in words

  void operator()(world& w, words& saw) const {
    explored_agent first(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
    explored_agent second(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
    alignas(64) std::uint64_t raw[8] = {};
    auto const by_second = second.expose(raw, 8, "raw");
    std::optional<registration> by_first;
    at const word(raw + 4);
    w.start("reader", [&](world_core& self) {
      saw[0] = self.load(word, order::relaxed, far);
      saw[1] = self.load(word, order::relaxed, far);
    });
    w.start("writer", [&](world_core& self) {
      by_first.emplace(first.expose(raw + second_offset, 8 - second_offset, second_name));
      self.store(word, 1, order::relaxed, far);
    });
    w.join();
  }
};

} // namespace

TEST_SUITE("emu.explore_reduced_memory") {
  TEST_CASE("the whole of a word and its upper half are of one word, wherever memory begins") {
    for (std::size_t const offset : {0, 2, 4, 6}) {
      CAPTURE(offset);
      cores_on const world{offset,
                           [](world_core& self, std::byte* memory, words& saw) {
                             auto const whole = cores_on::part<std::uint64_t>(memory, 0);
                             saw[0] = self.load(whole, order::relaxed, far);
                             saw[1] = self.load(whole, order::relaxed, far);
                           },
                           [](world_core& self, std::byte* memory, words&) {
                             std::uint32_t expected = 0;
                             self.compare_exchange(cores_on::part<std::uint32_t>(memory, 4),
                                                   expected, 1, order::seq_cst, far);
                           }};
      CHECK(same_outcomes(world) == 3);
    }
  }

  TEST_CASE("what random accesses of all sizes come to is the same, wherever memory begins") {
    random_bits bits(11);
    for (unsigned i = 0; i < 1000; ++i) {
      CAPTURE(i);
      std::vector<std::vector<step>> p(2);
      for (auto& steps : p)
        for (std::uint32_t n = 1 + bits.below(2); n != 0; --n)
          steps.push_back(draw(bits));
      auto const core = [&p](std::size_t who) {
        return [&p, who](world_core& self, std::byte* memory, words& saw) {
          run_all(self, memory, p[who], saw[who]);
        };
      };
      static_cast<void>(same_outcomes(cores_on{2 * std::size_t{bits.below(4)}, core(0), core(1)}));
    }
  }

  TEST_CASE("memory that an actor exposes once more, under whatever name, is the same") {
    for (char const* const name : {"raw", "of the first"})
      for (std::size_t const offset : {0, 1, 4}) {
        CAPTURE(std::string_view(name));
        CAPTURE(offset);
        exposes_again const world{name, offset};
        CHECK(same_outcomes(world) == 3);
      }
  }
}
