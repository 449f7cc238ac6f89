// SPDX-License-Identifier: Apache-2.0
#include "../emu/noted_accesses.hpp"
#include "lone_actor.hpp"

#include <quarry/net/comp_net/heap_wait.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <source_location>
#include <string>
#include <utility>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;
using namespace quarry::net::comp_net;
using namespace quarry_test;
using awaited = shmem::comparison;

namespace {

constexpr emu::access of_word{order::acquire, scope::agent};
constexpr emu::access of_failure{order::relaxed, scope::system};

/// Somebody who waits, for memory that the test changes.
template<class T = std::uint64_t>
class waiting {
public:
  using wait_type = heap_wait<noting_core, T>;
  using ending = typename wait_type::ending;

  waiting(awaited how, T than, T first = {}, contradiction const& against = {})
      : word(first), how_(how), than_(than), against_(against) {
    begin();
  }
  explicit waiting(contradiction const& against) : waiting(awaited::equal, 1, 0, against) {}
  waiting(waiting const&) = delete;

  /// Asks again, as schedulers do; true once it has gone on.
  bool goes_on() {
    if (self.state == actor_state::polling && self.poll(self.poll_argument))
      self.resume();
    return self.state == actor_state::done;
  }
  /// How the wait that is over has ended.
  [[nodiscard]] ending how() const { return got_.how; }
  [[nodiscard]] T value() const { return got_.value; }

  T word;
  std::uint32_t failed = 0;
  notes asked;
  lone_actor self;
  std::source_location where;

private:
  void begin() {
    job_ = wait();
    job_.start_on(self);
    self.resume();
  }
  task<> wait() {
    where = std::source_location::current();
    wait_type w(core_, {global<T const>(&word), how_, than_}, of_word,
                {global<std::uint32_t const>(&failed), of_failure}, against_, where);
    got_ = co_await w;
  }

  awaited how_;
  T than_;
  contradiction against_;
  noting_core core_{asked, memory_context{}};
  typename wait_type::outcome got_{};
  task<> job_;
};

using ending = waiting<>::ending;

/// The upper half is to be 5: whoever says so does something else.
contradiction five_above(std::uint64_t const& mark) {
  return {global<std::uint64_t const>(&mark), ~std::uint64_t{0} << 32, std::uint64_t{5} << 32};
}

} // namespace

TEST_SUITE("net.comp_net_heap_wait") {
  TEST_CASE("what compares so already is not waited for") {
    waiting w(awaited::equal, std::uint64_t{7}, std::uint64_t{7});
    CHECK(w.self.state == actor_state::done);
    CHECK(w.how() == ending::met);
    CHECK(w.value() == 7);
  }

  TEST_CASE("otherwise it goes on when the word does, and gives what it saw") {
    waiting w(awaited::greater_equal, std::uint64_t{7});
    CHECK_FALSE(w.goes_on());
    w.word = 6;
    CHECK_FALSE(w.goes_on());
    w.word = 9;
    CHECK(w.goes_on());
    CHECK(w.how() == ending::met);
    CHECK(w.value() == 9);
  }
  TEST_CASE("of several words any ends it, the first that is looked at if several do") {
    std::uint64_t words[] = {1, 7, 7, 7};
    for (std::uint32_t const first : {0U, 1U, 2U, 3U, ~0U}) { // the last one is 3 of 4, too
      CAPTURE(first);
      notes asked;
      noting_core core(asked, memory_context{});
      std::uint32_t const failed = 0;
      heap_wait<noting_core, std::uint64_t> w(
          core, {global<std::uint64_t const>(words), awaited::equal, 7, 4, first}, of_word,
          {global<std::uint32_t const>(&failed), of_failure}, {}, std::source_location::current());
      REQUIRE(w.await_ready());
      CHECK(w.await_resume().how == decltype(w)::ending::met);
      CHECK(w.await_resume().index == (first == 0 ? 1 : first % 4));
      CHECK(w.await_resume().value == 7);
    }
  }
  TEST_CASE("words of 4 bytes and negative numbers are compared as what they are") {
    waiting<std::int32_t> w(awaited::less, -3);
    CHECK_FALSE(w.goes_on());
    w.word = -3;
    CHECK_FALSE(w.goes_on());
    w.word = -4;
    CHECK(w.goes_on());
    CHECK(w.value() == -4);
  }

  TEST_CASE("a job that fails ends it, with what was there") {
    waiting w(awaited::equal, std::uint64_t{7}, std::uint64_t{3});
    CHECK_FALSE(w.goes_on());
    w.failed = 1;
    CHECK(w.goes_on());
    CHECK(w.how() == ending::failed);
    CHECK(w.value() == 3);
  }
  TEST_CASE("a contradiction ends it, by the bits that it names alone") {
    std::uint64_t mark = 0;
    waiting w(five_above(mark));
    CHECK_FALSE(w.goes_on());
    mark = 5;
    CHECK_FALSE(w.goes_on());
    mark = std::uint64_t{7} << 32;
    CHECK_FALSE(w.goes_on());
    mark = std::uint64_t{5} << 32 | 99;
    CHECK(w.goes_on());
    CHECK(w.how() == ending::contradicted);
  }
  TEST_CASE("where it names no bits there is none") {
    std::uint64_t const mark = 0;
    waiting w(contradiction{global<std::uint64_t const>(&mark), 0, 0});
    CHECK_FALSE(w.goes_on());
  }
  TEST_CASE("where several ends have come it is over well, then contradicted, then failed") {
    std::uint64_t mark = 0;
    for (bool const is_there : {false, true}) {
      mark = 0;
      waiting w(five_above(mark));
      CHECK_FALSE(w.goes_on());
      w.failed = 1;
      mark = std::uint64_t{5} << 32;
      w.word = is_there ? 1 : 0;
      CHECK(w.goes_on());
      CHECK(w.how() == (is_there ? ending::met : ending::contradicted));
    }
  }

  TEST_CASE("the word is read by its entry, and the job's failure by its own, in this order") {
    waiting w(awaited::equal, std::uint64_t{1});
    REQUIRE(w.asked.size() == 2);
    CHECK(w.asked[0].by == of_word);
    CHECK(w.asked[1].by == of_failure);
    w.asked.clear();
    w.word = 1;
    CHECK(w.goes_on());
    REQUIRE(w.asked.size() == 1); // there is nothing else to know
    CHECK(w.asked[0].by == of_word);
  }

  TEST_CASE("reports know what is waited for, and where") {
    waiting w(awaited::equal, std::uint64_t{1});
    CHECK(w.self.state == actor_state::polling);
    CHECK(std::string(w.self.reason.what) == "wait_until");
    CHECK(w.self.reason.on == &w.word);
    CHECK(w.self.reason.where.line() == w.where.line());
  }
}
