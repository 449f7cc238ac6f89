// SPDX-License-Identifier: Apache-2.0
// What host code finds in its heap, and leaves there, by plain C++ in explored executions.
#include "explored_pes.hpp"

#include <quarry/emu/explore.hpp>
#include <quarry/net.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>

using namespace shmem_test;

TEST_SUITE("net.shmem_explored_host") {
  TEST_CASE("after a meeting host code finds in its heap what others, and it, have put there") {
    auto const body = [](world& w, world_core&, node& n) {
      auto const other = pe{1 - n.self().id};
      w.check(n.default_context().p(word(n, 0), 5 + n.self().id, other).has_value(), "p");
      w.check(n.barrier_all().has_value(), "barrier_all");
      w.check(*word(n, 0) == 5 + other.id, "what the other one has put");
      auto const sum = n.world().reduce(shmem::reduction::sum, word(n, 1), word(n, 0), 1);
      w.check(sum.has_value(), "reduce");
      w.check(*word(n, 1) == 11, "the sum of both");
    };
    verdict const v = two_pes({.executions = 100}, body, body);
    CHECK_MESSAGE(v, v.to_string());
  }

  TEST_CASE("what host code stores into its heap by itself is there for others after a meeting") {
    // Also where others have put something before, on the first lap and on later ones.
    auto const lap = [](world& w, world_core&, node& n) {
      auto const other = pe{1 - n.self().id};
      for (std::uint64_t i = 0; i < 3; ++i) {
        if (n.self().id == 0)
          w.check(n.default_context().p(word(n, 0), 10 * i, other).has_value(), "p");
        w.check(n.barrier_all().has_value(), "barrier_all");
        if (n.self().id == 1)
          *word(n, 0) += 2;
        w.check(n.barrier_all().has_value(), "barrier_all");
        if (n.self().id == 0) {
          auto const got = n.default_context().g(word(n, 0), other);
          w.check(got.has_value() && *got == 10 * i + 2, "what the other one has stored");
        }
        w.check(*word(n, 0) == (n.self().id == 0 ? 0 : 10 * i + 2), "a word of its own");
        w.check(n.barrier_all().has_value(), "barrier_all");
      }
    };
    verdict const v = two_pes({.executions = 200}, lap, lap);
    CHECK_MESSAGE(v, v.to_string());
    // Before a flag, too.
    auto const store_and_tell = [](world& w, world_core&, node& n) {
      w.check(n.wait_until(word(n, 0), shmem::comparison::equal, 1).has_value(), "wait_until");
      *word(n, 0) = 7;
      w.check(n.default_context().p(word(n, 1), 1, pe{0}).has_value(), "p");
      w.check(n.barrier_all().has_value(), "barrier_all");
    };
    auto const get = [](world& w, world_core&, node& n) {
      w.check(n.default_context().p(word(n, 0), 1, pe{1}).has_value(), "p");
      w.check(n.wait_until(word(n, 1), shmem::comparison::equal, 1).has_value(), "wait_until");
      auto const got = n.default_context().g(word(n, 0), pe{1});
      w.check(got.has_value() && *got == 7, "what it has stored before its flag");
      w.check(n.barrier_all().has_value(), "barrier_all");
    };
    verdict const told = two_pes({.executions = 200}, get, store_and_tell);
    CHECK_MESSAGE(told, told.to_string());
  }

  TEST_CASE("whoever has seen a signal, in whatever way, finds what came before by its own loads") {
    auto const send = [](world& w, world_core&, node& n) {
      std::array<std::uint64_t, 2> const data{1, 2};
      auto& c = n.default_context();
      w.check(
          c.put_signal(word(n, 0), data, word(n, 1), 1, shmem::signal_op::set, pe{1}).has_value(),
          "put_signal");
    };
    using way = bool (*)(node&, std::uint64_t*);
    constexpr auto equal = shmem::comparison::equal;
    for (auto const& [name, sees] : std::initializer_list<std::pair<char const*, way>>{
             {"test", [](node& n, std::uint64_t* s) { return n.test(s, equal, 1).value(); }},
             {"test_all",
              [](node& n, std::uint64_t* s) {
                return n.test_all(std::span<std::uint64_t const>(s, 1), equal, 1).value();
              }},
             {"test_any",
              [](node& n, std::uint64_t* s) {
                return n.test_any(std::span<std::uint64_t const>(s, 1), equal, 1)
                    .value()
                    .has_value();
              }},
             {"test_some",
              [](node& n, std::uint64_t* s) {
                return !n.test_some(std::span<std::uint64_t const>(s, 1), equal, 1).value().empty();
              }},
             {"signal_fetch",
              [](node& n, std::uint64_t* s) { return n.signal_fetch(s).value() == 1; }},
             {"wait_until_any", [](node& n, std::uint64_t* s) {
                return n.wait_until_any(std::span<std::uint64_t const>(s, 1), equal, 1)
                    .value()
                    .has_value();
              }}}) {
      CAPTURE(name);
      verdict const v = two_pes({.executions = 200}, send, [sees](world& w, world_core&, node& n) {
        while (!sees(n, word(n, 1))) {
        }
        w.check(word(n, 0)[1] == 2, "the data is old");
      });
      CHECK_MESSAGE(v, v.to_string());
    }
  }

  TEST_CASE("of two signals that are awaited at once each brings its own data") {
    auto const wait_for_both = [](world& w, world_core&, node& n) {
      std::array<bool, 2> skip{};
      std::span<std::uint64_t const> const both(word(n, 1), 2);
      for (int i = 0; i < 2; ++i) {
        auto const one = n.wait_until_any(both, shmem::comparison::equal, 1, skip);
        w.check(one.has_value() && one->has_value(), "wait_until_any");
        if (!one || !*one)
          return;
        skip[**one] = true;
        w.check(word(n, 0)[**one] == 5, "the data is old");
      }
    };
    auto const send_both = [](world& w, world_core&, node& n) {
      for (std::size_t i = 0; i < 2; ++i) {
        auto other = n.make_context();
        w.check(other.has_value(), "make_context");
        if (!other)
          return;
        std::array<std::uint64_t, 1> const data{5};
        w.check(
            other->put_signal(word(n, 0) + i, data, word(n, 1) + i, 1, shmem::signal_op::set, pe{1})
                .has_value(),
            "put_signal");
      }
    };
    verdict const v = two_pes({.executions = 1'000}, send_both, wait_for_both);
    CHECK_MESSAGE(v, v.to_string());
  }
}
