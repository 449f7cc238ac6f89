// SPDX-License-Identifier: Apache-2.0
#include "shmem_job.hpp"

#include <array>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

using namespace shmem_test;

namespace {

pe left_of(node const& n) {
  return pe{(n.self().id + n.pe_count() - 1) % n.pe_count()};
}

/// Everybody puts `count` elements to the right, gets them from the left, blocking or not.
template<class T>
std::string puts_and_gets(node& n, std::size_t count) {
  auto& c = n.default_context();
  auto const there = n.malloc<T>(count);
  QUARRY_OK(there);
  auto const value = [&](pe of, std::size_t i) { return static_cast<T>(of.id * 31 + i); };
  std::vector<T> mine(count);
  for (std::size_t i = 0; i < count; ++i)
    mine[i] = value(n.self(), i);
  QUARRY_OK(c.put(there->data(), mine, right_of(n)));
  QUARRY_OK(n.barrier_all());
  std::vector<T> got(count);
  QUARRY_OK(c.get(got, there->data(), n.self()));
  for (std::size_t i = 0; i < count; ++i)
    QUARRY_EXPECT(got[i] == value(left_of(n), i));
  QUARRY_OK(c.get(got, there->data(), right_of(n)));
  for (std::size_t i = 0; i < count; ++i)
    QUARRY_EXPECT(got[i] == value(n.self(), i));
  QUARRY_OK(n.sync_all());
  std::vector<shmem::ticket> tickets;
  for (std::size_t i = 0; i < count; ++i) {
    T const one = value(n.self(), i + 7);
    auto const t = c.put_nbi(there->data() + i, std::span(&one, 1), left_of(n));
    QUARRY_OK(t);
    tickets.push_back(*t);
  }
  QUARRY_OK(c.quiet());
  for (auto const& t : tickets)
    QUARRY_EXPECT(c.is_done(t));
  QUARRY_OK(n.sync_all());
  std::vector<T> later(count);
  auto const asked = c.get_nbi(later, there->data(), n.self());
  QUARRY_OK(asked);
  QUARRY_OK(c.quiet());
  QUARRY_EXPECT(c.is_quiet());
  for (std::size_t i = 0; i < count; ++i)
    QUARRY_EXPECT(later[i] == value(right_of(n), i + 7));
  QUARRY_OK(n.barrier_all());
  QUARRY_OK(c.p(there->data(), T{42}, right_of(n)));
  QUARRY_OK(n.barrier_all());
  auto const one = c.g(there->data(), right_of(n));
  QUARRY_OK(one);
  QUARRY_EXPECT(*one == T{42});
  QUARRY_OK(n.free(there->data()));
  return "";
}

template<class T>
std::string atomics(node& n) {
  auto& c = n.default_context();
  auto const words = n.malloc<T>(8);
  QUARRY_OK(words);
  T* const w = words->data();
  pe const zero{0};
  if (n.self() == zero)
    for (int i = 0; i < 8; ++i)
      QUARRY_OK(c.atomic_set(w + i, T(0), zero));
  QUARRY_OK(n.barrier_all());
  auto const pes = static_cast<T>(n.pe_count());
  auto const me = static_cast<T>(n.self().id);
  for (int i = 0; i < 5; ++i) {
    QUARRY_OK(c.atomic_add(w, T(3), zero));
    QUARRY_OK(c.atomic_inc(w, zero));
    auto const old = c.atomic_fetch_add(w + 1, T(2), zero);
    QUARRY_OK(old);
    QUARRY_EXPECT(*old % 2 == 0);
    QUARRY_OK(c.atomic_fetch_inc(w + 6, zero));
  }
  T const bit = static_cast<T>(T{1} << (me % 31));
  QUARRY_OK(c.atomic_or(w + 2, bit, zero));
  QUARRY_OK(c.atomic_fetch_xor(w + 3, bit, zero));
  for (;;) { // a counter by compare_swap
    auto const seen = c.atomic_fetch(w + 4, zero);
    QUARRY_OK(seen);
    auto const was = c.atomic_compare_swap(w + 4, *seen, static_cast<T>(*seen + 1), zero);
    QUARRY_OK(was);
    if (*was == *seen)
      break;
  }
  auto const swapped = c.atomic_swap(w + 5, static_cast<T>(me + 1), zero);
  QUARRY_OK(swapped);
  QUARRY_EXPECT(*swapped >= 0);
  QUARRY_EXPECT(*swapped <= pes);
  QUARRY_OK(n.barrier_all());
  std::array<T, 8> all{};
  QUARRY_OK(c.get(all, w, zero));
  QUARRY_EXPECT(all[0] == T(pes * 20));
  QUARRY_EXPECT(all[1] == T(pes * 10));
  QUARRY_EXPECT(all[2] == T((T{1} << pes) - 1));
  QUARRY_EXPECT(all[3] == all[2]);
  QUARRY_EXPECT(all[4] == pes);
  QUARRY_EXPECT(all[6] == T(pes * 5));
  QUARRY_OK(n.barrier_all());
  if (n.self() == zero) {
    QUARRY_OK(c.atomic_and(w + 2, T(1), zero));
    auto const old = c.atomic_fetch_and(w + 3, T(0), zero);
    QUARRY_OK(old);
    QUARRY_EXPECT(*old == all[3]);
    c.fence(); // it does not commute with the one before
    QUARRY_OK(c.atomic_xor(w + 2, T(3), zero));
    QUARRY_OK(c.quiet());
    auto const left = c.atomic_fetch(w + 2, zero);
    QUARRY_OK(left);
    QUARRY_EXPECT(*left == T(2));
    auto const negative = c.atomic_swap(w, static_cast<T>(-5), zero);
    QUARRY_OK(negative);
    auto const back = c.atomic_fetch(w, zero);
    QUARRY_OK(back);
    QUARRY_EXPECT(*back == static_cast<T>(-5));
  }
  QUARRY_OK(n.free(w));
  return "";
}

} // namespace

TEST_SUITE("net.shmem_context") {
  TEST_CASE("puts and gets of all sizes arrive whole, blocking or not") {
    for (std::uint32_t const pes : sizes) {
      on_all(pes, [](node& n) { return puts_and_gets<std::uint8_t>(n, 37); });
      on_all(pes, [](node& n) { return puts_and_gets<std::int16_t>(n, 5); });
      on_all(pes, [](node& n) { return puts_and_gets<float>(n, 3); });
      on_all(pes, [](node& n) { return puts_and_gets<std::uint64_t>(n, 9); });
      on_all(pes, [](node& n) { return puts_and_gets<long double>(n, 3); });
    }
  }

  TEST_CASE("long puts and gets, of many messages, arrive whole") {
    node::options large = small;
    large.heap_bytes = 4 * 1024 * 1024;
    auto const work = [](node& n) -> std::string {
      auto& c = n.default_context();
      constexpr std::size_t count = 300'001;
      auto const there = n.malloc<std::uint64_t>(count);
      QUARRY_OK(there);
      std::vector<std::uint64_t> mine(count);
      std::iota(mine.begin(), mine.end(), n.self().id * count);
      QUARRY_OK(c.put(there->data(), mine, right_of(n)));
      QUARRY_OK(n.barrier_all());
      std::vector<std::uint64_t> got(count);
      QUARRY_OK(c.get(got, there->data(), right_of(n)));
      QUARRY_EXPECT(got == mine);
      return "";
    };
    for (std::uint32_t const pes : {1U, 3U}) {
      all_well(run_native(in_process_ends, pes, large, work));
      all_well(run_native(loopback_ends, pes, large, work));
      large.shares_memory = false;
      all_well(run_native(in_process_ends, pes, large, work));
      large.shares_memory = true;
    }
  }

  TEST_CASE("atomic operations of all pes on one word lose nothing") {
    for (std::uint32_t const pes : sizes) {
      on_all(pes, atomics<std::uint64_t>);
      on_all(pes, atomics<std::int32_t>);
    }
  }
}
