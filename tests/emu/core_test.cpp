// SPDX-License-Identifier: Apache-2.0
// Scalar actors: the same operations as kernels have, outside every kernel.
#include "queue_traffic.hpp"

#include <cstdint>
#include <optional>
#include <set>
#include <type_traits>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr emu::access far{order::seq_cst, scope::system};
constexpr emu::access near{order::relaxed, scope::wavefront};

/// One word through all operations: 0 if every result was right.
template<memory_model M>
int wrong_results(basic_core<M> const& self, global<std::uint32_t> word) {
  int wrong = 0;
  auto const expect = [&wrong](bool right) { wrong += right ? 0 : 1; };
  for (emu::access const a : {far, near}) {
    self.store(word, 5);
    expect(self.fetch_add(word, 3, a) == 5 && self.load(word, a) == 8);
    expect(self.fetch_sub(word, 9, a.how, a.far) == 8 && self.load(word) == ~0U);
    expect(self.exchange(word, 6, a.how, a.far) == ~0U);
    std::uint32_t expected = 7;
    expect(!self.compare_exchange(word, expected, 1, a.how, a.far) && expected == 6);
    expect(self.compare_exchange(word, expected, 1, a.how, a.far) && self.load(word, a) == 1);
    self.fence(a.how, a.far);
  }
  return wrong;
}

/// Adds 1 to `word` three times, by one operation or by two.
template<bool IsAtomic>
task<> increment(allocations const& known, global<int> word) {
  actor& me = co_await quarry::this_actor();
  basic_core<interleaving_memory> self(context_of(me, known));
  for (int i = 0; i < 3; ++i) {
    if constexpr (IsAtomic) {
      self.fetch_add(word, 1, order::relaxed, scope::agent);
    } else {
      int const old = self.load(word);
      self.store(word, old + 1);
    }
  }
}

/// The sums that two such cores come to, over many schedules.
template<bool IsAtomic>
std::set<int> sums() {
  std::set<int> seen;
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    sequential_scheduler s({.seed = seed});
    allocations known;
    buffer<int> word(known, 1, "word");
    traffic jobs(s);
    jobs.start(increment<IsAtomic>(known, word.global()), "first");
    jobs.start(increment<IsAtomic>(known, word.global()), "second");
    jobs.wait();
    seen.insert(word.host()[0]);
  }
  return seen;
}

/// Hands a ball, in plain words, to the other core and awaits it from there.
task<> play(allocations const& known, global<std::uint32_t> words, std::uint32_t me, int& wrong) {
  actor& self_actor = co_await quarry::this_actor();
  core self(context_of(self_actor, known));
  for (std::uint32_t round = me; round < 200; round += 2) {
    auto const is_mine = [round](std::uint32_t turn) { return turn == round; };
    std::uint32_t const turn =
        co_await self.wait_until(words, is_mine, order::acquire, scope::system);
    wrong += turn == round && self.load(words + 16) == round * 3 ? 0 : 1;
    self.store(words + 16, (round + 1) * 3);
    self.store(words, round + 1, order::release, scope::system);
  }
}

} // namespace

TEST_SUITE("emu.core") {
  TEST_CASE("a core has every operation on single elements, under every memory model") {
    allocations known;
    buffer<std::uint32_t> word(known, 1, "word");
    sequential_scheduler s;
    memory_context const context{nullptr, nullptr, &known};
    CHECK(wrong_results(basic_core<native_memory>({}), word.global()) == 0);
    CHECK(wrong_results(basic_core<checked_memory>(context), word.global()) == 0);
    CHECK(wrong_results(basic_core<dynamic_memory>(context), word.global()) == 0);
    CHECK(wrong_results(basic_core<dynamic_memory>({}), word.global()) == 0);
  }

  TEST_CASE("a core of a model that checks is stopped at what it may not touch") {
    allocations known;
    buffer<std::uint32_t> words(known, 4, "words");
    basic_core<checked_memory> const self({nullptr, nullptr, &known});
    auto const end = words.global() + 4;
    CHECK_NOTHROW(self.store(end - 1, 1));
    CHECK_THROWS_AS(self.store(end, 1), kernel_stop);
    CHECK_THROWS_AS(static_cast<void>(self.load(end)), kernel_stop);
    CHECK_THROWS_AS(static_cast<void>(self.load(end, far)), kernel_stop);
    CHECK_THROWS_AS(self.store(end, 1, far), kernel_stop);
    CHECK_THROWS_AS(self.fetch_add(end, 1, near), kernel_stop);
    CHECK_THROWS_AS(self.exchange(end, 1, order::relaxed, scope::agent), kernel_stop);
  }

  TEST_CASE("a core of the native model is nothing but a way to call the operations") {
    CHECK(std::is_empty_v<basic_core<native_memory>>);
    CHECK(std::same_as<basic_core<checked_memory>::memory_type, checked_memory>);
  }

  TEST_CASE("every access of a core may be where another actor goes on") {
    auto const plain = sums<false>();
    CHECK(*plain.begin() < 6);
    CHECK(plain.size() > 1);
    CHECK(sums<true>() == std::set<int>{6});
  }

  TEST_CASE("two cores hand a ball to each other, whoever runs them") {
    with_every_executor(
        [](executor& s, allocations& known) {
          buffer<std::uint32_t> words(known, 32, "words"); // turn and ball, a cache line each
          int wrong[2] = {};
          traffic jobs(s);
          jobs.start(play(known, words.global(), 0, wrong[0]), "first");
          jobs.start(play(known, words.global(), 1, wrong[1]), "second");
          jobs.wait();
          REQUIRE(wrong[0] + wrong[1] == 0);
          REQUIRE(words.host()[16] == 600);
        },
        8);
  }
}
