// SPDX-License-Identifier: Apache-2.0
// The heap, contexts and what waits for others' puts.
#include "shmem_job.hpp"

#include <quarry/emu.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

using namespace shmem_test;

namespace {

/// malloc and free in turns: the same offsets everywhere, and what was free is used again.
std::string allocates(node& n) {
  auto const a = n.malloc<std::uint32_t>(100);
  auto const b = n.malloc<std::uint8_t>(1);
  QUARRY_OK(a);
  QUARRY_OK(b);
  QUARRY_EXPECT(n.address_of(a->data()).value().offset == 0);
  QUARRY_EXPECT(n.address_of(b->data()).value().offset == 448);
  QUARRY_EXPECT(n.local({448}) == reinterpret_cast<std::byte*>(b->data()));
  QUARRY_EXPECT(std::ranges::all_of(*a, [](auto v) { return v == 0; }));
  QUARRY_OK(n.free(a->data()));
  auto const c = n.malloc<std::uint64_t>(8); // in the hole
  QUARRY_OK(c);
  QUARRY_EXPECT(n.address_of(c->data()).value().offset == 0);
  auto const rest = n.malloc<std::byte>(small_heap - 512);
  QUARRY_OK(rest);
  auto const nothing_left = n.malloc<std::byte>(small_heap);
  QUARRY_EXPECT(nothing_left.error().code == net_errc::heap_exhausted);
  QUARRY_OK(n.free(b->data()));
  QUARRY_OK(n.free(rest->data()));
  QUARRY_OK(n.free(c->data()));
  QUARRY_OK(n.free(nullptr));
  auto const all = n.malloc<std::byte>(small_heap); // the pieces have grown together
  QUARRY_OK(all);
  return "";
}

/// Zeros where others have written before, and multiples of what is asked for.
std::string allocates_otherwise(node& n) {
  auto& c = n.default_context();
  pe const to = right_of(n);
  auto const used = n.malloc<std::uint64_t>(40);
  QUARRY_OK(used);
  std::vector<std::uint64_t> const ones(40, ~std::uint64_t{0});
  QUARRY_OK(c.put(used->data(), ones, to));
  QUARRY_OK(n.barrier_all());
  QUARRY_OK(n.free(used->data()));
  auto const zeros = n.calloc<std::uint64_t>(40);
  QUARRY_OK(zeros);
  QUARRY_EXPECT(zeros->data() == used->data());
  QUARRY_OK(c.p(zeros->data(), 7, to)); // at once: it is zero there already, and stays what it is
  QUARRY_OK(n.wait_until(zeros->data(), comparison::not_equal, 0));
  QUARRY_EXPECT((*zeros)[0] == 7);
  QUARRY_EXPECT(std::all_of(zeros->begin() + 1, zeros->end(), [](auto v) { return v == 0; }));

  for (std::size_t const alignment : {1U, 8U, 64U, 256U, 4096U}) {
    auto const words = n.align<std::uint64_t>(alignment, 3);
    QUARRY_OK(words);
    QUARRY_EXPECT(reinterpret_cast<std::uintptr_t>(words->data()) % alignment == 0);
    QUARRY_OK(c.p(words->data(), alignment, to));
    QUARRY_OK(n.wait_until(words->data(), comparison::equal, alignment)); // the same place there
    QUARRY_OK(n.free(words->data()));
  }
  auto const page = n.align<std::byte>(4096, 100);
  auto const before = n.malloc<std::byte>(64); // in what the page has left out
  QUARRY_OK(page);
  QUARRY_OK(before);
  QUARRY_EXPECT(before->data() < page->data());
  for (std::size_t const alignment : {0U, 3U, 8192U})
    QUARRY_EXPECT(n.align<int>(alignment, 1).error().code == std::errc::invalid_argument);
  QUARRY_EXPECT(n.calloc<std::byte>(small_heap).error().code == net_errc::heap_exhausted);
  QUARRY_EXPECT(n.align<std::byte>(64, small_heap).error().code == net_errc::heap_exhausted);
  for (void* const block : {static_cast<void*>(page->data()), static_cast<void*>(before->data()),
                            static_cast<void*>(zeros->data())})
    QUARRY_OK(n.free(block));
  auto const all = n.malloc<std::byte>(small_heap);
  QUARRY_OK(all);
  return "";
}

/// Words that are looked at without waiting.
std::string tests(node& n) {
  auto const words = n.calloc<std::int32_t>(4);
  QUARRY_OK(words);
  std::int32_t* const w = words->data();
  std::span<std::int32_t const> const all(w, 4);
  using indices = std::vector<std::size_t>;
  QUARRY_EXPECT(!n.test_all(all, comparison::equal, 5).value());
  QUARRY_EXPECT(!n.test_any(all, comparison::equal, 5).value());
  QUARRY_EXPECT(n.test_some(all, comparison::equal, 5).value().empty());
  QUARRY_OK(n.sync_all());
  QUARRY_OK(n.default_context().p(w + 1, 5, right_of(n)));
  QUARRY_OK(n.default_context().p(w + 3, 5, right_of(n)));
  QUARRY_OK(n.barrier_all());
  QUARRY_EXPECT(n.test_some(all, comparison::equal, 5).value() == indices({1, 3}));
  QUARRY_EXPECT(n.test_some(all, comparison::less, 5).value() == indices({0, 2}));
  QUARRY_EXPECT(!n.test_all(all, comparison::equal, 5).value());
  QUARRY_EXPECT(n.test_all(all, comparison::less_equal, 5).value());
  QUARRY_EXPECT(n.test_all(all, comparison::not_equal, 6).value());
  std::array<bool, 4> const even{true, false, true, false};
  QUARRY_EXPECT(n.test_all(all, comparison::equal, 5, even).value());
  QUARRY_EXPECT(!n.test_all(all, comparison::greater, 5, even).value());
  QUARRY_EXPECT(n.test_some(all, comparison::greater_equal, 0, even).value() == indices({1, 3}));
  std::array<bool, 4> const only_last{true, true, true, false};
  QUARRY_EXPECT(n.test_any(all, comparison::equal, 5, only_last).value() == 3U);
  // Of what is met for long, each comes some time; and so where it is waited for.
  for (bool const waits : {false, true}) {
    std::array<int, 4> often{};
    for (int i = 0; i < 64; ++i) {
      auto const one = waits ? n.wait_until_any(all, comparison::equal, 5)
                             : n.test_any(all, comparison::equal, 5);
      QUARRY_OK(one);
      QUARRY_EXPECT(one->has_value());
      ++often[**one];
    }
    QUARRY_EXPECT(often[0] == 0 && often[2] == 0);
    QUARRY_EXPECT(often[1] > 8 && often[3] > 8);
  }
  // Nothing to look at.
  std::array<bool, 4> const none{true, true, true, true};
  QUARRY_EXPECT(n.test_all(all, comparison::equal, 9, none).value());
  QUARRY_EXPECT(!n.test_any(all, comparison::equal, 5, none).value());
  QUARRY_EXPECT(n.test_some(all, comparison::equal, 5, none).value().empty());
  QUARRY_EXPECT(n.test_all(all.first(0), comparison::equal, 9).value());
  std::array<bool, 1> const too_few{true};
  QUARRY_EXPECT(!n.test_any(all, comparison::equal, 5, too_few));
  std::int32_t const mine[2] = {5, 5};
  QUARRY_EXPECT(
      n.test_all(std::span<std::int32_t const>(mine), comparison::equal, 5).error().code ==
      net_errc::outside_heap);
  return "";
}

/// One pe after the other is told, by a flag, a signal, any of several words.
std::string waits(node& n) {
  auto& c = n.default_context();
  auto const words = n.malloc<std::int64_t>(8);
  auto const signals = n.malloc<std::uint64_t>(2);
  auto const data = n.malloc<std::uint16_t>(64);
  QUARRY_OK(words);
  QUARRY_OK(signals);
  QUARRY_OK(data);
  std::int64_t* const w = words->data();
  pe const to = right_of(n);
  QUARRY_OK(c.p(w, -3, to));
  QUARRY_OK(n.wait_until(w, comparison::less, 0));
  QUARRY_EXPECT(n.test(w, comparison::equal, -3).value());
  QUARRY_EXPECT(!n.test(w, comparison::greater, -3).value());
  QUARRY_OK(n.sync_all());
  QUARRY_OK(c.atomic_set(w, 5, to));
  QUARRY_OK(n.wait_until(w, comparison::greater_equal, 5));
  QUARRY_OK(n.wait_until(w, comparison::less_equal, 5));
  QUARRY_OK(n.wait_until(w, comparison::not_equal, 6));

  std::vector<std::uint16_t> const some(64, static_cast<std::uint16_t>(n.self().id + 1));
  QUARRY_OK(c.put_signal(data->data(), some, signals->data(), 9, signal_op::set, to));
  auto const signal = n.signal_wait_until(signals->data(), comparison::equal, 9);
  QUARRY_OK(signal);
  QUARRY_EXPECT(*signal == 9);
  std::uint32_t const left = (n.self().id + n.pe_count() - 1) % n.pe_count();
  QUARRY_EXPECT(std::ranges::all_of(*data, [&](auto v) { return v == left + 1; }));
  QUARRY_OK(n.sync_all());
  QUARRY_OK(c.put_signal(data->data(), some, signals->data(), 2, signal_op::add, to));
  QUARRY_OK(n.signal_wait_until(signals->data(), comparison::equal, 11));
  QUARRY_EXPECT(n.signal_fetch(signals->data()).value() == 11);

  std::span<std::int64_t const> const rest(w + 1, 4);
  QUARRY_OK(c.p(w + 3, 1, to));
  auto const any = n.wait_until_any(rest, comparison::equal, 1);
  QUARRY_OK(any);
  QUARRY_EXPECT(*any == 2U);
  QUARRY_OK(n.sync_all());
  std::array<bool, 4> const seen{false, false, true, false};
  QUARRY_OK(c.p(w + 1, 1, to));
  auto const next = n.wait_until_some(rest, comparison::equal, 1, seen);
  QUARRY_OK(next);
  QUARRY_EXPECT(*next == std::vector<std::size_t>{0});
  QUARRY_OK(n.sync_all());
  QUARRY_OK(c.p(w + 2, 1, to));
  QUARRY_OK(c.p(w + 4, 1, to));
  QUARRY_OK(n.wait_until_all(rest, comparison::equal, 1));
  QUARRY_EXPECT(n.wait_until_some(rest, comparison::equal, 1).value().size() == 4);
  std::array<bool, 4> const all{true, true, true, true};
  QUARRY_EXPECT(!n.wait_until_any(rest, comparison::equal, 1, all).value());
  std::array<bool, 1> const too_few{true};
  QUARRY_EXPECT(!n.wait_until_all(rest, comparison::equal, 1, too_few));
  return "";
}

/// A flag follows its data in each context, whatever the other context does.
std::string contexts(node& n) {
  constexpr std::size_t count = 200;
  auto const data = n.malloc<std::uint64_t>(2 * count);
  auto const flags = n.malloc<std::uint64_t>(2);
  QUARRY_OK(data);
  QUARRY_OK(flags);
  std::vector<shmem::context> two;
  for (int i = 0; i < 2; ++i) {
    auto c = n.make_context();
    QUARRY_OK(c);
    two.push_back(std::move(*c));
  }
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (std::size_t i = 0; i < 2; ++i) {
      std::vector<std::uint64_t> const values(count, round * 10 + i);
      auto const put = two[i].put_nbi(n.address_of(data->data() + i * count).value(),
                                      std::as_bytes(std::span(values)), right_of(n));
      QUARRY_OK(put);
      two[i].fence();
      QUARRY_OK(two[i].p(flags->data() + i, round, right_of(n)));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      QUARRY_OK(n.wait_until(flags->data() + i, comparison::equal, round));
      for (std::size_t k = 0; k < count; ++k)
        QUARRY_EXPECT((*data)[i * count + k] == round * 10 + i);
    }
    for (auto& c : two) {
      QUARRY_OK(c.quiet());
      QUARRY_EXPECT(c.is_quiet());
    }
    QUARRY_OK(n.sync_all());
  }
  return "";
}

} // namespace

TEST_SUITE("net.shmem_node") {
  TEST_CASE("malloc gives the same places everywhere, and free gives them back") {
    for (std::uint32_t const pes : sizes)
      on_all(pes, allocates);
  }

  TEST_CASE("calloc gives zeros, whatever was there; align gives multiples, the same everywhere") {
    for (std::uint32_t const pes : sizes)
      on_all(pes, allocates_otherwise);
  }

  TEST_CASE("test_all, test_any and test_some look at the words that are not to be skipped") {
    for (std::uint32_t const pes : {1U, 2U, 3U})
      on_all(pes, tests);
  }

  TEST_CASE("who waits for words is woken by puts, signals and atomics") {
    for (std::uint32_t const pes : sizes)
      on_all(pes, waits);
  }

  TEST_CASE("fence and quiet act on their own context") {
    for (std::uint32_t const pes : {2U, 3U})
      on_all(pes, contexts, small, 6);
  }

  TEST_CASE("ptr reaches the others' heaps in process, and nobody's over a network") {
    auto const reaches = [](bool all) {
      return [all](node& n) -> std::string {
        auto const word = n.malloc<std::uint64_t>(1);
        QUARRY_OK(word);
        QUARRY_EXPECT(n.ptr(word->data(), n.self()) == word->data());
        QUARRY_EXPECT((n.ptr(word->data(), right_of(n)) != nullptr) == all);
        QUARRY_EXPECT(n.ptr(word->data(), pe{9}) == nullptr);
        std::uint64_t mine = 0;
        QUARRY_EXPECT(n.ptr(&mine, n.self()) == nullptr);
        return "";
      };
    };
    all_well(run_native(in_process_ends, 2, small, reaches(true)));
    all_well(run_native(loopback_ends, 2, small, reaches(false)));
  }

  TEST_CASE("a thread that does something else answers for its pe all the same") {
    // pe 1 computes, in no call, until pe 0 has got its answers.
    std::atomic<bool> is_over = false;
    all_well(run_native(loopback_ends, 2, small, [&](node& n) -> std::string {
      auto const word = n.malloc<std::uint64_t>(1);
      QUARRY_OK(word);
      if (n.self() == pe{1}) {
        auto const deadline = std::chrono::steady_clock::now() + 20s;
        while (!is_over && std::chrono::steady_clock::now() < deadline)
          std::this_thread::yield();
        return "";
      }
      for (std::uint64_t i = 0; i < 10; ++i)
        QUARRY_EXPECT(n.default_context().atomic_fetch_inc(word->data(), pe{1}).value() == i);
      is_over = true;
      return "";
    }));
  }

  TEST_CASE("operations of several threads of a pe do not mix") {
    for (maker const& make : {maker(in_process_ends), maker(loopback_ends)})
      all_well(run_native(make, 2, small, [](node& n) -> std::string {
        auto const words = n.malloc<std::uint64_t>(4);
        QUARRY_OK(words);
        std::array<std::string, 4> wrong;
        {
          std::vector<std::jthread> threads;
          for (std::size_t t = 0; t < 4; ++t)
            threads.emplace_back([&, t] {
              auto const work = [&]() -> std::string {
                auto c = n.make_context();
                QUARRY_OK(c);
                for (std::uint64_t i = 1; i <= 50; ++i) {
                  QUARRY_OK(c->p(words->data() + t, i, right_of(n)));
                  auto const back = c->g(words->data() + t, right_of(n));
                  QUARRY_OK(back);
                  QUARRY_EXPECT(*back == i);
                }
                QUARRY_OK(c->quiet());
                return "";
              };
              wrong[t] = work();
            });
        }
        return wrong[0] + wrong[1] + wrong[2] + wrong[3];
      }));
  }

  TEST_CASE("a kernel and others' puts share the heap") {
    auto const sums = [](emu::any_wavefront auto& wf, emu::global<std::uint64_t> words) -> task<> {
      auto const is_set = [](std::uint64_t v) { return v != 0; };
      std::uint64_t const seen =
          co_await wf.wait_until(words, is_set, emu::order::acquire, emu::scope::system);
      wf.store(words + 1, seen + 1, emu::order::release, emu::scope::system);
    };
    std::vector<std::string> outcome(2);
    {
      auto all = in_process_ends(2);
      std::vector<std::jthread> hosts;
      for (std::uint32_t id = 0; id < 2; ++id)
        hosts.emplace_back([&, id] {
          native_scheduler scheduler({.threads = 2});
          emu::agent gpu(scheduler, {.compute_units = 1});
          auto const work = [&]() -> std::string {
            auto n = node::start(gpu.core(), std::move(all[id]), small);
            QUARRY_OK(n);
            auto const words = n->malloc<std::uint64_t>(2);
            QUARRY_OK(words);
            auto running = gpu.launch({.work_groups = 1, .work_items_per_group = 64}, sums,
                                      emu::global<std::uint64_t>(words->data()));
            QUARRY_OK(n->default_context().p(words->data(), 41, right_of(*n)));
            QUARRY_OK(n->wait_until(words->data() + 1, comparison::equal, 42));
            QUARRY_EXPECT(running.wait());
            QUARRY_OK(n->finish());
            return "";
          };
          outcome[id] = work();
        });
    }
    all_well(outcome);
  }
}
