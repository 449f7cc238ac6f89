// SPDX-License-Identifier: Apache-2.0
// What kernels do wrong, as explore() finds it: one kernel for each kind of fault. Races of global
// memory are in explore_test.cpp; wrong values, livelocks, loops that end by chance, uninitialised
// memory and misused queues in explore_findings_test.cpp and explore_ends_test.cpp.
#include "agents.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace {

using namespace quarry;
using namespace quarry::emu;

using words = global<std::uint32_t>;

constexpr machine two_units{.compute_units = 2, .wavefront_slots = 2, .wavefront_size = 32};
constexpr launch_config two_waves{
    .work_items = 64, .work_items_per_group = 64, .lds_bytes = 4 * 64};

/// What becomes of a kernel that gets 64 words, all 0.
template<class Kernel>
verdict explored(Kernel kernel, launch_config config = two_waves) {
  return explore({.executions = 100}, [=](world& w) {
    explored_agent gpu(w.scheduler(), two_units);
    auto data = gpu.allocate<std::uint32_t>(64, "words");
    static_cast<void>(gpu.run(config, kernel, data.global()));
  });
}

/// It has failed so, and the report says all of this.
void has_failed(verdict const& v, fault::kind kind, std::initializer_list<char const*> parts) {
  REQUIRE_MESSAGE(v.failure, v.to_string());
  CHECK(v.failure->kind == to_string(kind));
  CHECK(v.failure->is_repeatable);
  for (char const* const part : parts)
    CHECK_SAYS(v.failure->report, part);
  CHECK_SAYS(v.failure->report, "at explore_faults_test.cpp:");
}

/// The same, always.
template<class Kernel>
void fails(Kernel kernel, fault::kind kind, std::initializer_list<char const*> parts) {
  verdict const v = explored(kernel);
  has_failed(v, kind, parts);
  CHECK(v.failure->execution == 1);
}

struct one_wave_leaves {
  task<> operator()(any_wavefront auto& wf, words) const {
    if (wf.index_in_group() == 1)
      co_return;
    co_await wf.barrier();
  }
};
struct one_item_leaves {
  task<> operator()(any_work_item auto& wi, words) const {
    if (wi.local_linear_id() == 40)
      co_return;
    co_await wi.barrier();
  }
};

enum class touch : std::uint8_t { load, store, update };

struct beyond {
  touch how;
  task<> operator()(any_wavefront auto& wf, words data) const {
    auto const at = data + (wf.global_id() + 30);
    if (how == touch::load)
      static_cast<void>(wf.load(at));
    else if (how == touch::store)
      wf.store(at, 1U);
    else
      wf.fetch_add(at, 1U, order::relaxed, scope::agent);
    co_return;
  }
};
struct beyond_the_lds {
  task<> operator()(any_wavefront auto& wf, words) const {
    static_cast<void>(wf.template lds<std::uint32_t, 65>());
    co_return;
  }
};
struct beyond_a_row {
  task<> operator()(any_wavefront auto& wf, words) const {
    auto const row = wf.template lds<std::uint32_t, 64>();
    auto const lane = wf.local_id() - 32 * wf.index_in_group();
    wf.store(row + (lane + 63), 1U);
    co_return;
  }
};
struct elsewhere {
  std::uintptr_t at;
  task<> operator()(any_wavefront auto& wf, words) const {
    static_cast<void>(wf.load(words(reinterpret_cast<std::uint32_t*>(at)))); // NOLINT(*-int-to-ptr)
    co_return;
  }
};
struct misaligned_plain {
  task<> operator()(any_wavefront auto& wf, words data) const {
    auto* const odd = reinterpret_cast<std::byte*>(data.get()) + 2;
    wf.store(words(reinterpret_cast<std::uint32_t*>(odd)) + wf.local_id(),
             wf.load(data + wf.local_id()));
    co_return;
  }
};
/// Group 0 tells group 1 where its LDS is, and stays there.
struct looks_into_others_lds {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> place,
                    global<std::uint64_t> is_over) const {
    constexpr auto is_set = [](std::uint64_t v) { return v != 0; };
    words const mine = wf.template lds<std::uint32_t, 1>() + 0;
    if (wf.group_id().x == 0) {
      wf.store(mine, 77U);
      wf.store(place, reinterpret_cast<std::uintptr_t>(mine.get()), order::release, scope::agent);
      auto over = wf.wait_until(is_over, is_set, order::acquire, scope::agent);
      co_await over;
      co_return;
    }
    auto there = wf.wait_until(place, is_set, order::acquire, scope::agent);
    auto* const at = reinterpret_cast<std::uint32_t*>(co_await there); // NOLINT(*-int-to-ptr)
    static_cast<void>(wf.load(words(at)));
    wf.store(is_over, 1U, order::release, scope::agent);
  }
};
struct misaligned {
  task<> operator()(any_wavefront auto& wf, words data) const {
    auto* const odd = reinterpret_cast<std::byte*>(data.get()) + 2;
    wf.fetch_add(words(reinterpret_cast<std::uint32_t*>(odd)), 1U, order::relaxed, scope::agent);
    co_return;
  }
};
struct misaligned_lanes {
  task<> operator()(any_wavefront auto& wf, words data) const {
    auto* const odd = reinterpret_cast<std::byte*>(data.get()) + 2;
    auto const some = wf.where(wf.local_id() >= 3U);
    wf.add(words(reinterpret_cast<std::uint32_t*>(odd)) + wf.local_id(), 1U, order::relaxed,
           scope::agent);
    co_return;
  }
};
struct not_so_wide {
  task<> operator()(any_wavefront auto& wf, words) const {
    static_cast<void>(wf.template tile<16>());
    co_return;
  }
};

struct wave_throws {
  task<> operator()(any_wavefront auto& wf, words data) const {
    if (wf.load(data) == 0)
      throw std::runtime_error("nothing there");
    co_return;
  }
};
struct item_throws {
  task<> operator()(any_work_item auto& wi, words data) const {
    if (wi.load(data + wi.global_id()) == 0 && wi.global_id() == 40)
      throw std::runtime_error("nothing there");
    co_await wi.barrier();
  }
};
struct plain_throws {
  void operator()(any_plain_work_item auto& wi, words data) const {
    if (wi.load(data + wi.global_id()) == 0 && wi.global_id() == 40)
      throw std::runtime_error("nothing there");
    wi.barrier();
  }
};

constexpr auto is_set = [](std::uint32_t v) { return v != 0; };

struct waits_for_nobody {
  task<> operator()(any_wavefront auto& wf, words data) const {
    static_cast<void>(co_await wf.wait_until(data + 3, is_set, order::acquire, scope::agent));
  }
};
/// Each group waits for the next one, and the last one for nobody.
struct waits_for_the_next {
  task<> operator()(any_wavefront auto& wf, words data) const {
    std::uint32_t const me = wf.linear_group_id();
    if (me + 1 != wf.group_count().x)
      static_cast<void>(
          co_await wf.wait_until(data + (me + 1), is_set, order::acquire, scope::agent));
    wf.store(data + me, 1, order::release, scope::agent);
  }
};

/// A wavefront writes a row of LDS, the other one reads it.
struct shares_a_row {
  bool meets;
  task<> operator()(any_wavefront auto& wf, words out) const {
    auto const row = wf.template lds<std::uint32_t, 32>();
    if (wf.index_in_group() == 0)
      wf.store(row + wf.local_id(), 7U);
    if (meets)
      co_await wf.barrier();
    if (wf.index_in_group() == 1)
      wf.store(out + wf.local_id(), wf.load(row + (wf.local_id() - 32)));
  }
};

struct element {
  std::uint32_t number;
};
struct sends_to_another {
  template<any_wavefront W>
  task<> operator()(W& wf, channel<element>& from, channel<element>& to) const {
    auto const mine = from.try_talloc(wf, typename W::template lanes<std::uint32_t>(1));
    task<> sent = to.enq(wf, mine);
    co_await std::move(sent);
  }
};
struct frees_again {
  template<any_wavefront W>
  void operator()(W& wf, channel<element>& ch, std::uint32_t first) const {
    auto const position = ch.deq(wf, typename W::template lanes<std::uint32_t>(first));
    ch.tfree(wf, position);
    ch.tfree(wf, position);
  }
};

void misuses(std::function<void(world&, explored_agent&, channel<element>&)> const& use,
             char const* words, char const* who) {
  verdict const v = explore({.executions = 20}, [&](world& w) {
    explored_agent gpu(w.scheduler(), two_units);
    channel<element> ch(gpu.core().known(),
                        {.width = 4, .elements_per_done_count = 1, .name = "short"});
    use(w, gpu, ch);
  });
  REQUIRE_MESSAGE(v.failure, v.to_string());
  CHECK(v.failure->kind == "misuse");
  CHECK_SAYS(v.failure->report, words);
  CHECK_SAYS(v.failure->report, who);
}

} // namespace

TEST_SUITE("emu.explore_faults") {
  TEST_CASE("barrier divergence names who is absent, and where the others wait") {
    fails(one_wave_leaves{}, fault::kind::barrier_divergence,
          {"absent wavefronts: 1 (has ended)", "wavefront 0 (work-items 0..31) waits at barrier",
           "launch of one_wave_leaves"});
    fails(one_item_leaves{}, fault::kind::barrier_divergence,
          {"31 work-items wait at a barrier; absent work-items: 40"});
  }

  TEST_CASE("an access of a kernel beyond an allocation names the allocation") {
    for (touch const how : {touch::load, touch::store, touch::update}) {
      CAPTURE(static_cast<int>(how));
      fails(beyond{how}, fault::kind::out_of_bounds, {"0 bytes after the end of 'words'"});
    }
  }

  /// Which of the two wavefronts comes first is the schedule's business.
  TEST_CASE("it says what was done, to which memory, by which lane at which line of which launch") {
    struct row {
      touch how;
      char const* name;
      char const* text;
    };
    for (auto const& [how, name, text] :
         {row{touch::load, "load", "| static_cast<void>(wf.load(at));"},
          row{touch::store, "store", "| wf.store(at, 1U);"},
          row{touch::update, "read-modify-write",
              "| wf.fetch_add(at, 1U, order::relaxed, scope::agent);"}}) {
      CAPTURE(name);
      std::string const first =
          std::string("out of bounds: ") + name +
          " of 4 bytes at 'words' + 256: 0 bytes after the end of 'words' (256 bytes of memory of "
          "agent 1, allocated at explore_faults_test.cpp:";
      verdict const v = explored(beyond{how});
      REQUIRE_MESSAGE(v.failure, v.to_string());
      std::string const& report = v.failure->report;
      CHECK(report.substr(0, first.size()) == first);
      CHECK_SAYS(report, "  by       wave 1:1:1:2 (0,0,0)/1 lane 2, work-item 34 of its group, "
                         "explore_faults_test.cpp:");
      CHECK_SAYS(report, text);
      CHECK_SAYS(report, "in dispatch 1 of agent 1: beyond, 1 group of 64, launched at "
                         "explore_faults_test.cpp:");
      CHECK(report.find("0x") == std::string::npos);
    }
  }

  TEST_CASE("an address that is nowhere near an allocation is not told") {
    fails(elsewhere{0x4000'0000'0000}, fault::kind::out_of_bounds,
          {"load of 4 bytes at an address: far from every allocation"});
    fails(elsewhere{8}, fault::kind::out_of_bounds, {"load of 4 bytes at null + 8: far from"});
  }

  TEST_CASE(
      "more LDS than there is, an atomic that is not aligned, a shape that is not the grid's") {
    fails(beyond_the_lds{}, fault::kind::lds_out_of_bounds,
          {"260 bytes", "  by       wave 1:1:1:"});
    fails(beyond_a_row{}, fault::kind::out_of_bounds,
          {"store of 4 bytes at 'LDS of group 0' + 256: 0 bytes after the end of 'LDS of group 0' "
           "(256 bytes of LDS, ",
           "lane 1, work-item "});
    fails(misaligned{}, fault::kind::misaligned,
          {"read-modify-write of 4 bytes at 'words' + 2, which is not a multiple of 4",
           "  by       wave 1:1:1:"});
    fails(misaligned_lanes{}, fault::kind::misaligned,
          {"read-modify-write of 4 bytes at 'words' + 14, which is not a multiple of 4",
           "lane 3, work-item "});
    fails(misaligned_plain{}, fault::kind::misaligned,
          {"store of 4 bytes at 'words' + 2, which is not a multiple of 4", "lane 0, work-item "});
    fails(not_so_wide{}, fault::kind::wrong_shape, {"64 x 1 x 1 work-items"});
  }

  TEST_CASE("another work-group's LDS is nobody else's to touch") {
    verdict const v = explore({.executions = 100}, [](world& w) {
      explored_agent gpu(w.scheduler(), two_units);
      auto place = gpu.allocate<std::uint64_t>(16, "place");
      static_cast<void>(gpu.run({.work_groups = 2, .work_items_per_group = 32, .lds_bytes = 4},
                                looks_into_others_lds{}, place.global(), place.global() + 8));
    });
    has_failed(v, fault::kind::out_of_bounds,
               {"accesses 4 bytes at byte 0 of 'LDS of group 0' (4 bytes of LDS, ",
                "which its own work-group alone may access"});
  }

  TEST_CASE("what a kernel throws is its fault, of whatever kind it is") {
    fails(wave_throws{}, fault::kind::exception, {"nothing there"});
    fails(item_throws{}, fault::kind::exception, {"nothing there", "lane 8, work-item 40"});
    fails(plain_throws{}, fault::kind::exception, {"nothing there", "lane 8, work-item 40"});
  }

  TEST_CASE("a kernel that waits in vain is a deadlock that names the word") {
    fails(waits_for_nobody{}, fault::kind::deadlock,
          {"nobody can go on", "wait_until at explore_faults_test.cpp:", " on words[3]"});
  }

  TEST_CASE("groups that wait for one which finds no place are a deadlock that says so") {
    // Two units with two slots each hold four of the six groups; all of them wait for a later one,
    // which comes first where the last ones start first.
    launch_config const six{.work_items = 6 * 32, .work_items_per_group = 32};
    has_failed(explored(waits_for_the_next{}, six), fault::kind::not_resident,
               {"2 of 6 groups are not resident", " on words[1]", " on words[4]"});
    launch_config const four{.work_items = 4 * 32, .work_items_per_group = 32};
    verdict const right = explored(waits_for_the_next{}, four);
    CHECK_MESSAGE(right, right.to_string());
  }

  TEST_CASE("a race in LDS names both accesses, and what is missing") {
    verdict const v = explored(shares_a_row{false});
    REQUIRE_MESSAGE(v.failure, v.to_string());
    CHECK(v.failure->kind == "race");
    for (char const* const part :
         {"first    wave 1:1:1:1 (0,0,0)/0 lane 0, explore_faults_test.cpp:",
          ": plain store, 4 bytes at LDS of group 0[0]",
          "second   wave 1:1:1:2 (0,0,0)/1 lane 0, explore_faults_test.cpp:",
          ": plain load, 4 bytes at LDS of group 0[0]", "at work_group scope or wider"})
      CHECK_SAYS(v.failure->report, part);
    verdict const right = explored(shares_a_row{true});
    CHECK_MESSAGE(right, right.to_string());
  }

  TEST_CASE("an element of another channel, and one that is freed twice, are misuses") {
    launch_config const one{.work_items = 1, .work_items_per_group = 32};
    misuses(
        [=](world&, explored_agent& gpu, channel<element>& ch) {
          channel<element> other(gpu.core().known(),
                                 {.width = 4, .elements_per_done_count = 1, .name = "other"});
          static_cast<void>(gpu.run(one, sends_to_another{}, std::ref(ch), std::ref(other)));
        },
        "other: enq of element 0, which", "  by       wave 1:1:1:1 (0,0,0)/0");
    misuses(
        [=](world& w, explored_agent& gpu, channel<element>& ch) {
          auto const mine = ch.try_talloc(w.host(), 1);
          w.check(mine.has_value(), "there is room");
          ch.enq_alone(w.host(), *mine);
          auto const first = static_cast<std::uint32_t>(ch.take(1));
          static_cast<void>(gpu.run(one, frees_again{}, std::ref(ch), first));
        },
        "frees element 0 of short, which is done", "wave 1:1:1:1 (0,0,0)/0: ");
  }
}
