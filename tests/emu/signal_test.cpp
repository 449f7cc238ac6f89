// SPDX-License-Identifier: Apache-2.0
#include "lone_actor.hpp"
#include "queue_traffic.hpp"

#include <quarry/emu/core.hpp>
#include <quarry/emu/signal.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <utility>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

using native_core = basic_core<native_memory>;

task<std::int64_t> wait_for(native_core& self, signal& s) {
  co_return co_await s.wait(self);
}

/// Does so much, then counts the signal down.
task<> complete(native_core& self, signal& s, int& done) {
  ++done;
  self.fetch_sub(s.word(), 1, order::release, scope::system);
  co_return;
}
/// What has been done when the signal is over.
task<> look(native_core& self, signal& s, int& done, std::optional<int>& seen) {
  static_cast<void>(co_await s.wait(self));
  seen = done;
}

} // namespace

TEST_SUITE("emu.signal") {
  TEST_CASE("it begins with one packet to wait for, or with what is asked for") {
    allocations known;
    signal one(known), many(known, 5), failed(known, -1);
    CHECK(one.word().get()[0] == 1);
    CHECK(many.word().get()[0] == 5);
    CHECK(failed.word().get()[0] == -1);
  }

  TEST_CASE("packets call it by the address of its word, which is aligned, and known by name") {
    allocations known;
    signal plain(known), named(known, 1, "copy is done");
    CHECK(plain.handle() == reinterpret_cast<std::uintptr_t>(plain.word().get()));
    CHECK(plain.handle() % sizeof(std::int64_t) == 0);
    CHECK(plain.handle() != named.handle());
    CHECK(known.contain(plain.word().get(), sizeof(std::int64_t)));
    CHECK(known.locate(plain.word().get()) == "signal, byte 0");
    CHECK(known.locate(named.word().get()) == "copy is done, byte 0");
  }

  TEST_CASE("it is not known any more when it is gone") {
    allocations known;
    void const* at = nullptr;
    {
      signal s(known);
      at = s.word().get();
    }
    CHECK_FALSE(known.contain(at, sizeof(std::int64_t)));
  }

  TEST_CASE("another agent knows it while the result of share_with() lives, and no longer") {
    allocations own, other;
    signal s(own);
    void const* const at = s.word().get();
    CHECK_FALSE(other.contain(at, sizeof(std::int64_t)));
    {
      registration const shared = s.share_with(other);
      CHECK(other.contain(at, sizeof(std::int64_t)));
      CHECK(other.locate(at) == "a shared signal, byte 0");
      CHECK_THROWS_AS(static_cast<void>(s.share_with(other)), std::invalid_argument); // twice
    }
    CHECK_FALSE(other.contain(at, sizeof(std::int64_t)));
    CHECK(own.contain(at, sizeof(std::int64_t)));
    registration const again = s.share_with(other);
    CHECK(other.contain(at, sizeof(std::int64_t)));
  }

  TEST_CASE("whoever waits is given 0, or the negative value of what has failed") {
    allocations known;
    native_core self({});
    for (std::int64_t const value : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{-3}}) {
      signal s(known, value);
      auto waiting = wait_for(self, s);
      lone_actor a;
      waiting.start_on(a);
      a.resume();
      REQUIRE(a.state == actor_state::done); // at once
      CHECK(std::move(waiting).result() == value);
    }
  }

  TEST_CASE("a wait ends when all have counted it down, and not before") {
    with_schedulers([](executor& s) {
      allocations known;
      signal end(known, 3);
      native_core self({});
      int done[3] = {}, sum = 0;
      std::optional<int> seen;
      traffic jobs(s);
      jobs.start(look(self, end, done[2], seen), "waits");
      for (int i = 0; i < 3; ++i)
        jobs.start(complete(self, end, done[i]), "packet");
      jobs.wait();
      for (int const d : done)
        sum += d;
      CHECK(sum == 3);
      CHECK(seen == 1); // what was released before the count is visible
      CHECK(end.word().get()[0] == 0);
    });
  }

  TEST_CASE("a wait for packets that never end is not over") {
    allocations known;
    native_core self({});
    signal s(known, 2);
    auto waiting = wait_for(self, s);
    lone_actor a;
    waiting.start_on(a);
    a.resume();
    CHECK(a.state != actor_state::done);
    self.fetch_sub(s.word(), 1, order::release, scope::system);
    CHECK_FALSE(a.poll(a.poll_argument));
    self.fetch_sub(s.word(), 1, order::release, scope::system);
    CHECK(a.poll(a.poll_argument));
    a.resume();
    CHECK(a.state == actor_state::done);
    CHECK(std::move(waiting).result() == 0);
  }
}
