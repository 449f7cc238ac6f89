// SPDX-License-Identifier: Apache-2.0
#include "toy_run.hpp"

#include <quarry/choices.hpp>
#include <quarry/preemption_count.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

using namespace quarry;
using namespace quarry_test;

namespace {

using actors = std::vector<std::uint32_t>;

/// Takes the actors that a text names ("a" the first), and counts.
class scripted final : public chooser {
public:
  explicit scripted(std::string_view who) : who_(who) { count.begin(); }
  unsigned pick(unsigned, choice_kind) override { return 0; }
  unsigned pick_actor(std::span<std::uint32_t const> ready) override {
    REQUIRE(next_ < who_.size());
    std::uint32_t const wanted = static_cast<std::uint32_t>(who_[next_++] - 'a');
    for (unsigned i = 0; i < ready.size(); ++i)
      if (ready[i] == wanted) {
        count.on_pick(ready, i);
        return i;
      }
    FAIL("not ready");
    return 0;
  }
  void on_yield(std::uint32_t actor) override { count.on_yield(actor); }
  preemption_count count;

private:
  std::string_view who_;
  std::size_t next_ = 0;
};

std::uint32_t count_of(std::string_view who, std::vector<std::function<toy_step()>> const& all) {
  scripted c(who);
  static_cast<void>(toy_run(c, all));
  return c.count.value();
}

} // namespace

TEST_SUITE("lib.preemption_count") {
  TEST_CASE("each time that somebody else goes on though the last one could is a pre-emption") {
    // While both are there; the rest of the one that is left is no choice.
    CHECK(count_of("aa", {toy_steps(2), toy_steps(2)}) == 0);
    CHECK(count_of("aba", {toy_steps(2), toy_steps(2)}) == 2);
    CHECK(count_of("bab", {toy_steps(2), toy_steps(2)}) == 2);
    CHECK(count_of("abab", {toy_steps(3), toy_steps(2)}) == 3);
    CHECK(count_of("bb", {toy_steps(2), toy_steps(2)}) == 0); // the first one is free
  }

  TEST_CASE("who has ended, or yielded, is not pre-empted") {
    auto const yielding = [] {
      return [turns = 3]() mutable { return --turns == 0 ? toy_step::is_done : toy_step::yields; };
    };
    CHECK(count_of("abc", {toy_steps(1), toy_steps(1), toy_steps(1), toy_steps(1)}) == 0);
    CHECK(count_of("ababa", {yielding(), yielding()}) == 0);
    CHECK(count_of("aabbb", {yielding(), toy_steps(3)}) == 0); // one that yields may go on itself
    CHECK(count_of("babaa", {yielding(), toy_steps(3)}) == 2); // b is pre-empted twice
  }

  TEST_CASE("before anybody has run, and after who is not among them, any choice is free") {
    preemption_count c;
    c.begin();
    CHECK(c.is_free(actors{0, 1}));
    c.on_pick(actors{0, 1}, 1);
    CHECK(c.value() == 0);
    CHECK_FALSE(c.is_free(actors{1, 0}));
    CHECK(c.is_free(actors{0, 2}));
    c.on_pick(actors{0, 2}, 1); // 1 waits
    CHECK(c.value() == 0);
  }

  TEST_CASE("an actor that alone could go on is the last one, without a choice") {
    preemption_count c;
    c.on_pick(actors{0, 1}, 0);
    c.on_only(1);
    CHECK(c.is_free(actors{0, 1}));
    CHECK_FALSE(c.is_free(actors{1, 0}));
    c.on_pick(actors{1, 0}, 1);
    CHECK(c.value() == 1);
  }

  TEST_CASE("yielding counts for the actor that ran last, and only until it runs again") {
    preemption_count c;
    c.on_pick(actors{0, 1}, 0);
    c.on_yield(1); // has not run
    CHECK_FALSE(c.is_free(actors{0, 1}));
    c.on_yield(0);
    CHECK(c.is_free(actors{0, 1}));
    c.on_pick(actors{1, 0}, 1);
    CHECK(c.value() == 0);
    CHECK_FALSE(c.is_free(actors{0, 1}));
  }

  TEST_CASE("a new execution counts from 0, and nobody has run in it") {
    preemption_count c;
    c.on_pick(actors{0, 1}, 0);
    c.on_pick(actors{0, 1}, 1);
    CHECK(c.value() == 1);
    c.begin();
    CHECK(c.value() == 0);
    CHECK(c.is_free(actors{1, 0}));
    c.on_pick(actors{1, 0}, 1);
    CHECK(c.value() == 0);
  }
}
