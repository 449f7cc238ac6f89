// SPDX-License-Identifier: Apache-2.0
// Memory operations: their results at every order and scope, and where schedulers may switch.
#include "agents.hpp"

#include <cstdint>
#include <limits>
#include <set>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

constexpr order orders[] = {order::relaxed, order::acquire, order::release, order::acq_rel,
                            order::seq_cst};
constexpr scope scopes[] = {scope::work_item, scope::wavefront, scope::work_group, scope::agent,
                            scope::system};

/// A line of results of one actor's operations on one word.
template<class T>
int wrong_results(auto& self, global<T> word) {
  int wrong = 0;
  auto const expect = [&wrong](bool right) { wrong += right ? 0 : 1; };
  for (order const o : orders)
    for (scope const s : scopes) {
      self.store(word, T{12}, o, s);
      expect(self.load(word, o, s) == 12 && self.load(word) == 12);
      expect(self.fetch_add(word, T{5}, o, s) == 12);
      expect(self.fetch_sub(word, T{3}, o, s) == 17);
      expect(self.fetch_or(word, T{1}, o, s) == 14);
      expect(self.fetch_and(word, T{13}, o, s) == 15);
      expect(self.fetch_xor(word, T{6}, o, s) == 13);
      expect(self.exchange(word, T{40}, o, s) == 11);
      T expected{41};
      expect(!self.compare_exchange(word, expected, T{42}, o, s) && expected == 40);
      expect(self.compare_exchange(word, expected, T{42}, o, s) && self.load(word) == 42);
      self.fence(o, s);
      emu::access const by_entry{o, s};
      self.store(word, T{1}, by_entry);
      expect(self.fetch_add(word, T{2}, by_entry) == 1 && self.load(word, by_entry) == 3);
      // Integers wrap around.
      self.store(word, T{0}, o, s);
      expect(self.fetch_sub(word, T{1}, o, s) == 0 &&
             static_cast<T>(self.load(word, o, s) + T{1}) == T{0});
      constexpr T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
      self.store(word, most, o, s);
      expect(self.fetch_add(word, T{1}, o, s) == most && self.fetch_sub(word, T{1}, o, s) == least);
    }
  return wrong;
}

template<class T>
struct all_of_wave {
  task<> operator()(any_wavefront auto& wf, global<T> words, global<int> wrong) const {
    wf.store(wrong + wf.linear_group_id(), wrong_results(wf, words + wf.linear_group_id()));
    co_return;
  }
};
template<class T>
struct all_of_item {
  task<> operator()(any_work_item auto& wi, global<T> words, global<int> wrong) const {
    wi.store(wrong + wi.global_id(), wrong_results(wi, words + wi.global_id()));
    co_return;
  }
};
template<class T>
struct all_of_plain {
  void operator()(any_plain_work_item auto& wi, global<T> words, global<int> wrong) const {
    wi.store(wrong + wi.global_id(), wrong_results(wi, words + wi.global_id()));
  }
};

template<class T>
void every_order_and_scope() {
  with_every_agent([](agent& gpu) {
    auto words = gpu.allocate<T>(8, "words");
    auto wrong = gpu.allocate<int>(8, "wrong");
    auto const none_wrong = [&] {
      for (int& w : wrong.host())
        CHECK(std::exchange(w, -1) == 0);
    };
    succeed(gpu.run({.work_groups = 8, .work_items_per_group = 16}, all_of_wave<T>{},
                    words.global(), wrong.global()));
    none_wrong();
    succeed(gpu.run({.work_items = 8}, all_of_item<T>{}, words.global(), wrong.global()));
    none_wrong();
    succeed(gpu.run({.work_items = 8}, all_of_plain<T>{}, words.global(), wrong.global()));
    none_wrong();
  });
}

struct increments_plainly {
  task<> operator()(any_wavefront auto& wf, global<int> word) const {
    for (int i = 0; i < 3; ++i) {
      int const old = wf.load(word);
      wf.store(word, old + 1);
    }
    co_return;
  }
};
struct increments_atomically {
  task<> operator()(any_wavefront auto& wf, global<int> word) const {
    for (int i = 0; i < 3; ++i)
      wf.fetch_add(word, 1, order::relaxed, scope::agent);
    co_return;
  }
};

/// Two groups, each by one wavefront: the sums that the schedules of many seeds end in.
template<class Kernel>
std::set<int> sums(Kernel kernel) {
  std::set<int> seen;
  for (std::uint64_t seed = 1; seed <= 64; ++seed) {
    sequential_scheduler s({.seed = seed});
    agent gpu(s);
    auto word = gpu.allocate<int>(1, "word");
    succeed(gpu.run({.work_groups = 2, .work_items_per_group = 1}, kernel, word.global()));
    seen.insert(word.host()[0]);
  }
  return seen;
}

std::uint64_t trace_of(std::uint64_t seed) {
  sequential_scheduler s({.seed = seed});
  agent gpu(s);
  auto word = gpu.allocate<int>(1, "word");
  succeed(gpu.run({.work_groups = 8, .work_items_per_group = 128}, increments_plainly{},
                  word.global()));
  return s.trace_hash();
}

/// Every lane adds to one of a few words; all orders of lanes give the same sums, and each old
/// value is given once.
struct lane_atomics {
  task<> operator()(any_wavefront auto& wf, global<int> words, global<int> old) const {
    auto const i = wf.global_id(0);
    auto const before = wf.fetch_add(words + i % 4, 1, order::relaxed, scope::agent);
    wf.store(old + wf.global_id(), before);
    if (auto even = wf.where(i % 2 == 0))
      wf.add(words + (i % 4 + 4), 10, order::acq_rel, scope::system);
    co_return;
  }
};

/// Message passing between two groups, many times.
struct pass_messages {
  task<> operator()(any_wavefront auto& wf, global<int> words, global<int> wrong) const {
    bool const sends = wf.linear_group_id() == 0;
    for (int i = 1; i <= 50; ++i) {
      if (sends) {
        wf.store(words, i); // plain, handed over by the flag
        wf.store(words + 16, i, order::release, scope::agent);
        static_cast<void>(co_await wf.wait_until(
            words + 32, [i](int v) { return v == i; }, order::acquire, scope::agent));
      } else {
        static_cast<void>(co_await wf.wait_until(
            words + 16, [i](int v) { return v == i; }, order::acquire, scope::agent));
        if (wf.load(words) != i)
          wf.fetch_add(wrong, 1, order::relaxed, scope::agent);
        wf.store(words + 32, i, order::release, scope::agent);
      }
    }
  }
};

/// Exchanges each word, at two scopes, for itself.
struct exchange_for_itself {
  void operator()(any_wavefront auto& wf, global<float> words, global<int> done) const {
    for (int i = 0; i < 2; ++i)
      for (scope const s : {scope::work_group, scope::agent}) {
        float const old = wf.load(words + i, order::relaxed, s);
        float expected = i == 0 ? old : 0.0F; // -0.0 is there
        wf.store(done + (2 * i + (s == scope::agent ? 1 : 0)),
                 wf.compare_exchange(words + i, expected, old, order::relaxed, s) ? 1 : 0);
      }
  }
};

} // namespace

TEST_SUITE("emu.operations") {
  TEST_CASE("every operation gives its result at every order and scope, for every kind of actor") {
    every_order_and_scope<std::int32_t>();
    every_order_and_scope<std::uint64_t>();
  }
  TEST_CASE("atomic operations work on 1, 2 and 8 bytes") {
    every_order_and_scope<std::uint8_t>();
    every_order_and_scope<std::int16_t>();
    every_order_and_scope<std::int64_t>();
  }

  TEST_CASE("compare_exchange() compares bits, at any scope") {
    with_every_agent([](agent& gpu) {
      auto words = gpu.allocate<float>(2, "words");
      auto done = gpu.allocate<int>(4, "done");
      words.host()[0] = std::numeric_limits<float>::quiet_NaN();
      words.host()[1] = -0.0F;
      succeed(gpu.run({.work_items = 64, .work_items_per_group = 64}, exchange_for_itself{},
                      words.global(), done.global()));
      for (int i = 0; i < 4; ++i) {
        CAPTURE(i);
        CHECK(done.host()[static_cast<std::size_t>(i)] == (i < 2 ? 1 : 0));
      }
    });
  }

  TEST_CASE("plain increments of two wavefronts lose updates under some schedule") {
    auto const seen = sums(increments_plainly{});
    CHECK(*seen.begin() < 6);
    CHECK(*seen.begin() >= 2);
    CHECK(*seen.rbegin() <= 6);
    CHECK(seen.size() > 1);
  }
  TEST_CASE("atomic increments of two wavefronts lose none under any schedule") {
    CHECK(sums(increments_atomically{}) == std::set<int>{6});
  }
  TEST_CASE("a seed is a schedule: the same seed takes the same decisions, another one others") {
    CHECK(trace_of(5) == trace_of(5));
    CHECK(trace_of(5) != trace_of(6));
  }

  TEST_CASE("atomic operations of lanes give each old value once, and obey the mask") {
    with_every_agent([](agent& gpu) {
      auto words = gpu.allocate<int>(8, "words");
      auto old = gpu.allocate<int>(1000, "old");
      succeed(gpu.run({.work_items = 1000}, lane_atomics{}, words.global(), old.global()));
      std::set<int> given[4];
      for (unsigned i = 0; i < 1000; ++i)
        given[i % 4].insert(old.host()[i]);
      for (unsigned w = 0; w < 4; ++w) {
        CHECK(words.host()[w] == 250);
        CHECK(given[w].size() == 250);
        CHECK(words.host()[w + 4] == (w % 2 == 0 ? 2500 : 0));
      }
    });
  }

  TEST_CASE("a release store hands over what was written before it") {
    with_every_agent([](agent& gpu) {
      auto words = gpu.allocate<int>(48, "words");
      auto wrong = gpu.allocate<int>(1, "wrong");
      succeed(gpu.run({.work_groups = 2, .work_items_per_group = 1}, pass_messages{},
                      words.global(), wrong.global()));
      CHECK(wrong.host()[0] == 0);
    });
  }
}
