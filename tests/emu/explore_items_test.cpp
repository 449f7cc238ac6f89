// SPDX-License-Identifier: Apache-2.0
// Races between the work-items of one wavefront, in item kernels: who is ordered with whom.
#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace {

using namespace quarry;
using namespace quarry::emu;

using word = std::uint32_t;
constexpr word items = 32; // one wavefront

bool is_set(word v) {
  return v != 0;
}

struct one_stores_another_loads {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    if (wi.local_linear_id() == 3)
      wi.store(words, 7U);
    if (wi.local_linear_id() == 20)
      wi.store(words + 1, wi.load(words));
    co_return;
  }
};
struct all_store_one_word {
  void operator()(any_plain_work_item auto& wi, global<word> words) const {
    wi.store(words, wi.local_linear_id());
  }
};
template<bool HasBarrier>
struct neighbours_in_lds {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    auto const mine = static_cast<int>(wi.local_linear_id());
    auto const row = wi.template lds<word, static_cast<int>(items)>();
    wi.store(row + mine, wi.local_linear_id());
    if constexpr (HasBarrier)
      co_await wi.barrier();
    wi.store(words + mine, wi.load(row + (mine == 0 ? 0 : mine - 1)));
    co_return;
  }
};
struct each_its_own {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    auto const at = words + static_cast<int>(wi.local_linear_id());
    wi.store(at, 1U);
    wi.store(at, wi.load(at) + 1);
    co_return;
  }
};
/// Work-item 9 hands a word to work-item 2, by a flag.
template<order Awaits>
struct hand_over {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    auto const id = wi.local_linear_id();
    if (id == 9) {
      wi.store(words, 5U);
      wi.store(words + 1, 1U, order::release, scope::agent);
    } else if (id == 2) {
      auto set = wi.wait_until(words + 1, is_set, Awaits, scope::agent);
      static_cast<void>(co_await set);
      wi.store(words + 2, wi.load(words));
    }
  }
};
/// Nobody releases anything.
struct acquire_and_add {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    static_cast<void>(wi.load(words + 1, order::acquire, scope::work_group));
    wi.store(words, wi.load(words) + 1);
    co_return;
  }
};
/// Nor does anybody get anything from another one of what each does to a word of its own: a load
/// releases nothing, a store acquires nothing, and an acquire is of its word alone.
enum class own_word : std::uint8_t { seq_cst_load, seq_cst_store, release_and_acquire };
template<own_word First>
struct each_its_own_then_race {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    auto const i = static_cast<int>(wi.local_linear_id());
    auto const own = words + (1 + i);
    if constexpr (First == own_word::seq_cst_load) {
      static_cast<void>(wi.load(own, order::seq_cst, scope::work_group));
    } else if constexpr (First == own_word::seq_cst_store) {
      wi.store(own, 1U, order::seq_cst, scope::work_group);
    } else {
      wi.store(own, 1U, order::release, scope::work_group);
      static_cast<void>(wi.load(own, order::acquire, scope::work_group));
    }
    if (i == 3)
      wi.store(words, 7U);
    if (i == 20)
      static_cast<void>(wi.load(words));
    co_return;
  }
};
/// What is acquired was stored by two, in halves, the later one the acquirer's own.
struct acquires_two_halves {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    auto const i = wi.local_linear_id();
    auto const half = global<std::uint16_t>(reinterpret_cast<std::uint16_t*>((words + 1).get()));
    auto const is_low_set = [](word v) { return (v & 0xffff) != 0; };
    if (i == 3) {
      wi.store(words, 7U);
      wi.store(half, std::uint16_t{1}, order::release, scope::work_group);
    } else if (i == 20) {
      auto low = wi.wait_until(
          half, [](std::uint16_t v) { return v != 0; }, order::relaxed, scope::work_group);
      static_cast<void>(co_await low);
      wi.store(half + 1, std::uint16_t{1}, order::relaxed, scope::work_group);
      auto both = wi.wait_until(words + 1, is_low_set, order::acquire, scope::work_group);
      static_cast<void>(co_await both);
      static_cast<void>(wi.load(words));
    }
  }
};
/// One that fails to exchange has released nothing that another one could acquire.
struct fails_to_exchange {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    auto const i = wi.local_linear_id();
    word expected = 9;
    if (i == 3) {
      wi.store(words, 7U);
      wi.compare_exchange(words + 1, expected, 1U, order::acq_rel, scope::work_group);
    } else if (i == 20) {
      wi.fetch_add(words + 1, 1U, order::acq_rel, scope::work_group);
      wi.fetch_add(words + 1, 1U, order::acq_rel, scope::work_group);
      static_cast<void>(wi.load(words));
    }
    co_return;
  }
};
/// Work-item 20 stores what work-item 0 stores later. In between, a ballot of those below `Below`,
/// then one of these two.
template<word Below, bool TheTwo>
struct stores_around_ballots {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    auto const i = wi.local_linear_id();
    if (i == 20)
      wi.store(words, 1U);
    if (i < Below)
      static_cast<void>(co_await wi.ballot(true));
    if (TheTwo && (i == 0 || i == 20))
      static_cast<void>(co_await wi.ballot(true));
    if (i == 0)
      wi.store(words, 2U);
  }
};
/// The same around a work-group operation.
template<word Below>
struct stores_around_group_any {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    auto const i = wi.local_linear_id();
    if (i == 20)
      wi.store(words, 1U);
    if (i < Below)
      static_cast<void>(co_await wi.group_any(true));
    if (i == 0)
      wi.store(words, 2U);
  }
};
/// Both have met others before, and neither the other one since.
struct store_after_group_any {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    auto const i = wi.local_linear_id();
    if (i < 16)
      static_cast<void>(co_await wi.group_any(true));
    if (i == 5 || i == 0)
      wi.store(words, 2U);
  }
};
struct all_add {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    wi.fetch_add(words, 1U, order::relaxed, scope::work_group);
    co_return;
  }
};
struct two_wavefronts {
  task<> operator()(any_work_item auto& wi, global<word> words) const {
    if (wi.local_linear_id() == 5 || wi.local_linear_id() == 40)
      wi.store(words, 1U);
    co_return;
  }
};

template<class Kernel>
verdict explored(Kernel kernel, word work_items = items) {
  return explore({.executions = 100, .diagnoses = false, .keeps_failures = false}, [=](world& w) {
    explored_agent gpu(w.scheduler(), {.compute_units = 2, .wavefront_size = items});
    auto words = gpu.allocate<word>(items + 1, "words");
    auto const end = gpu.run(
        {.work_groups = 1, .work_items_per_group = work_items, .lds_bytes = items * sizeof(word)},
        kernel, words.global());
    w.check(static_cast<bool>(end), "the kernel has failed");
  });
}

void races(verdict const& v, std::string const& one, std::string const& other) {
  REQUIRE(v.failure);
  CHECK(v.failure->kind == "race");
  CHECK_MESSAGE(v.failure->report.find(one) != std::string::npos, v.failure->report);
  CHECK_MESSAGE(v.failure->report.find(other) != std::string::npos, v.failure->report);
}

} // namespace

TEST_SUITE("emu.explore_items") {
  TEST_CASE("work-items of one wavefront race, and the report names their lanes") {
    races(explored(one_stores_another_loads{}), "lane 3,", "lane 20,");
    auto const stores = explored(all_store_one_word{});
    REQUIRE(stores.failure);
    bool const goes_up = stores.failure->report.find("lane 0,") != std::string::npos;
    races(stores, goes_up ? "lane 0," : "lane 31,", goes_up ? "lane 1," : "lane 30,");
    // Whose neighbour comes later reads what nobody has written, which comes first then.
    auto const unordered = explored(neighbours_in_lds<false>{});
    REQUIRE(unordered.failure);
    if (unordered.failure->kind == "uninitialised")
      CHECK_MESSAGE(unordered.failure->report.find("lane 31 reads 4 bytes of LDS") !=
                        std::string::npos,
                    unordered.failure->report);
    else
      races(unordered, "lane 0,", "lane 1,");
    races(stores, "race: lanes of one instruction", "needs    other bytes for each lane");
    auto const handed = explored(hand_over<order::relaxed>{});
    races(handed, "lane 9,", "lane 2,");
    races(handed, "race: work-items of one wavefront", "an acquire of it before the second");
    races(explored(acquire_and_add{}), "race: work-items of one wavefront", "a barrier");
    races(explored(each_its_own_then_race<own_word::seq_cst_load>{}), "lane 3,", "lane 20,");
    races(explored(each_its_own_then_race<own_word::seq_cst_store>{}), "lane 3,", "lane 20,");
    races(explored(each_its_own_then_race<own_word::release_and_acquire>{}), "lane 3,", "lane 20,");
    races(explored(fails_to_exchange{}), "lane 3,", "lane 20,");
    // Others have met.
    races(explored(stores_around_ballots<1, false>{}), "lane 20,", "lane 0,");
    races(explored(stores_around_ballots<16, false>{}), "lane 20,", "lane 0,");
    races(explored(stores_around_group_any<16>{}), "lane 20,", "lane 0,");
    races(explored(store_after_group_any{}), "lane 5,", "lane 0,");
  }

  TEST_CASE("of two wavefronts, too, the lanes are named") {
    races(explored(two_wavefronts{}, 2 * items), "lane 5,", "lane 8,");
  }

  TEST_CASE("what they meet in, or hand over, orders them") {
    for (verdict const& v :
         {explored(neighbours_in_lds<true>{}), explored(each_its_own{}),
          explored(hand_over<order::acquire>{}), explored(all_add{}),
          explored(acquires_two_halves{}), explored(stores_around_ballots<items, false>{}),
          explored(stores_around_ballots<16, true>{}), explored(stores_around_group_any<items>{})})
      CHECK_MESSAGE(v, v.to_string());
  }
}
