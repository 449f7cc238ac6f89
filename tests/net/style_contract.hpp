// SPDX-License-Identifier: Apache-2.0
// What every model of quarry::net::gravel::style promises: one contract, run for each of them.
#pragma once

#include "gravel_job.hpp"

#include <quarry/net/gravel_style.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

namespace gravel_test::contract {

constexpr std::uint32_t items = 300; // a partial last wavefront and a partial last group

template<class W>
using w = std::remove_reference_t<W>;

/// Every work-item sends to word and node (7 i, i): an increment, then i.
struct scatter_wave {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t nodes,
                    gravel::endpoint& net) const {
    auto const i = gravel::as_words<w<decltype(wf)>>(wf.global_id());
    auto const place = i * 7 % 100;
    task<> first = net.increment(wf, words + place, i % nodes);
    co_await std::move(first);
    task<> second = net.add(wf, words + place, i, i % nodes);
    co_await std::move(second);
  }
};
struct scatter_item {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> words, std::uint32_t nodes,
                    gravel::endpoint& net) const {
    std::uint64_t const i = wi.global_id();
    co_await net.increment(wi, words + i * 7 % 100, static_cast<std::uint32_t>(i % nodes));
    co_await net.add(wi, words + i * 7 % 100, i, static_cast<std::uint32_t>(i % nodes));
  }
};
inline heaps scattered(std::uint32_t nodes) {
  heaps expected = empty_heaps(nodes);
  for (std::uint64_t i = 0; i < items; ++i)
    expected[i % nodes][i * 7 % 100] += nodes * (1 + i);
  return expected;
}

/// Each of 64 work-items i tells its own word of one node: be 7; then, by active messages, be ten
/// times as much and 1 more, and again ten times as much and i % 10 more.
struct in_order {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t nodes,
                    gravel::endpoint& net) const {
    auto const i = gravel::as_words<w<decltype(wf)>>(wf.global_id());
    task<> first = net.put(wf, words + i, gravel::lanes64<w<decltype(wf)>>(7), i % nodes);
    co_await std::move(first);
    gravel::lanes64<w<decltype(wf)>> const one(1);
    task<> second = net.active_message(wf, 0, words + i, one, i % nodes);
    co_await std::move(second);
    task<> third = net.active_message(wf, 0, words + i, i % 10, i % nodes);
    co_await std::move(third);
  }
};

/// All work-items of all nodes on one word: by increment, by value and by active message.
struct all_on_one {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t,
                    gravel::endpoint& net) const {
    gravel::lanes64<w<decltype(wf)>> const zero(0), two(2), three(3);
    task<> first = net.increment(wf, words + zero, 0);
    co_await std::move(first);
    task<> second = net.add(wf, words + zero, two, 0);
    co_await std::move(second);
    task<> third = net.active_message(wf, 0, words + zero, three, 0);
    co_await std::move(third);
  }
};

struct put_42 {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words,
                    gravel::endpoint& net) const {
    gravel::lanes64<w<decltype(wf)>> const answer(42);
    auto const leader = wf.where(wf.local_id() < 1);
    task<> sent = net.put(wf, words + wf.local_id(), answer, 1);
    co_await std::move(sent);
  }
};
struct await_42 {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words) const {
    auto const came = [](std::uint64_t v) { return v == 42; };
    static_cast<void>(co_await wf.wait_until(words, came, order::acquire, scope::system));
    if (wf.index_in_group() == 0)
      wf.store(words + 1, 43);
  }
};

struct increment_own {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t,
                    gravel::endpoint& net) const {
    task<> sent = net.increment(wf, words + wf.global_id(), 0);
    co_await std::move(sent);
  }
};

// The contract, by theme

/// Buffers of one message, a package at a time: everybody waits for everybody all the time.
template<gravel::style S>
constexpr gravel_node::options tight{
    .style = S::name, .buffer_bytes = 24, .buffers_per_node = 2, .queue_slots = 1};

template<gravel::style S>
void applies_each_once() {
  SUBCASE("every operation of every work-item is applied once, where it should be") {
    for (std::uint32_t const nodes : {1U, 2U, 4U}) {
      CAPTURE(nodes);
      with_every_job(
          [&](auto const& run) {
            gravel_node::options const o{.style = S::name};
            check_heaps(run(nodes, o, launching(scatter_wave{}, items)), scattered(nodes));
            check_heaps(run(nodes, o, launching(scatter_item{}, items)), scattered(nodes));
          },
          1);
    }
  }
  SUBCASE("the same with the smallest buffers and queues") {
    with_every_job([](auto const& run) {
      check_heaps(run(3, tight<S>, launching(scatter_wave{}, items)), scattered(3));
    });
  }
  SUBCASE("and with several aggregators, where a style has them") {
    gravel_node::options several = tight<S>;
    several.aggregators = S::writes_directly ? 1 : 3;
    with_every_job([&](auto const& run) {
      check_heaps(run(3, several, launching(scatter_wave{}, items)), scattered(3));
      check_heaps(run(3, several, launching(scatter_item{}, items)), scattered(3));
    });
  }
  SUBCASE("updates of one word by everybody, active messages too, are serial: none is lost") {
    with_every_job([](auto const& run) {
      auto const out = run(3, {.style = S::name}, [](test_node& n) {
        std::uint32_t const add =
            n.net.add_handler([](std::uint64_t& word, std::uint64_t v) { word += v; });
        CHECK(add == 0);
        CHECK(n.net.barrier().has_value());
        launching(all_on_one{}, items)(n);
      });
      heaps expected = empty_heaps(3);
      expected[0][0] = 3 * items * (1 + 2 + 3);
      check_heaps(out, expected);
    });
  }
}

template<gravel::style S>
void keeps_order() {
  SUBCASE("what one work-item sends to one node is applied in its order") {
    for (gravel_node::options const& o : {gravel_node::options{.style = S::name}, tight<S>})
      with_every_job([&](auto const& run) {
        auto const out = run(3, o, [](test_node& n) {
          n.net.add_handler([](std::uint64_t& word, std::uint64_t v) { word = 10 * word + v; });
          CHECK(n.net.barrier().has_value());
          test_node own_words = n;
          own_words.heap = n.heap.subspan(64 * n.id);
          launching(in_order{}, 64)(own_words);
        });
        heaps expected = empty_heaps(3);
        for (std::size_t i = 0; i < 64; ++i)
          for (std::size_t sender = 0; sender < 3; ++sender)
            expected[i % 3][64 * sender + i] = 710 + i % 10;
        check_heaps(out, expected);
      });
  }
}

template<gravel::style S>
void completes() {
  SUBCASE("after quiet() all of this node's operations are applied, wherever they went") {
    with_every_job([](auto const& run) {
      heaps seen = empty_heaps(3);
      auto const out = run(3, {.style = S::name}, [&](test_node& n) {
        if (n.id == 0) {
          launching(scatter_wave{}, items)(n);
          CHECK(n.net.quiet().has_value());
        }
        CHECK(n.net.all_sum(1) == 3); // node 0 has been quiet: nobody else needs to be
        seen[n.id].assign(n.heap.begin(), n.heap.end());
      });
      heaps expected = scattered(3);
      for (auto& heap : expected)
        for (auto& word : heap)
          word /= 3; // one sender
      CHECK(seen == expected);
      check_heaps(out, expected);
    });
  }
  SUBCASE("an operation leaves by itself: nobody has to be quiet for it") {
    with_every_job([](auto const& run) {
      // Node 1 waits for node 0's put in its kernel, and node 0 is not quiet before it has come.
      auto const out = run(2, {.style = S::name}, [](test_node& n) {
        launch_config const one{.work_groups = 1, .work_items_per_group = 64};
        auto const o = n.id == 0 ? n.gpu.run(one, put_42{}, n.at(0), std::ref(n.net.device()))
                                 : n.gpu.run(one, await_42{}, n.at(0));
        CHECK(o);
        CHECK(n.net.all_sum(1) == 2);
      });
      heaps expected = empty_heaps(2);
      expected[1][0] = 42;
      expected[1][1] = 43;
      check_heaps(out, expected);
    });
  }
}

template<gravel::style S>
void counts() {
  SUBCASE("operations are counted where they leave and where they are applied, frames in between") {
    with_every_job([](auto const& run) {
      auto const out =
          run(3, {.style = S::name, .buffer_bytes = 256}, launching(scatter_wave{}, items));
      gravel::statistics sum;
      for (auto const& c : out.counts) {
        CHECK(c.operations == 2 * items);
        CHECK(c.frames >= 3);
        CHECK(c.frames <= c.operations);
        CHECK(c.frame_bytes <= c.frames * 256);
        CHECK(c.frame_bytes >= c.operations * 4);
        CHECK(c.remote_frames < c.frames); // a third stays here
        CHECK(c.wire_bytes > c.remote_frames * 16);
        sum = sum + c;
      }
      CHECK(sum.applied == sum.operations);
    });
  }
  SUBCASE("a frame is one operation, or all that go to a node while nobody hurries") {
    gravel_node::options const patient{.style = S::name, .flush_after = std::chrono::hours(1)};
    for (std::uint32_t const nodes : {1U, 3U}) {
      auto const out = run_native(nodes, 1, patient, launching(scatter_wave{}, items));
      check_heaps(out, scattered(nodes));
      for (auto const& c : out.counts) {
        CHECK(c.frames == (S::sends_each ? c.operations : nodes));
        CHECK(c.remote_frames == (S::sends_each ? 2 * items * (nodes - 1) / nodes : nodes - 1));
      }
    }
  }
}

template<gravel::style S>
void ends_in_typed_errors() {
  SUBCASE("a word outside the heap ends the job, as every later call says") {
    job_outcome out = make_outcome(1);
    native_scheduler scheduler({.threads = 1});
    unchecked_agent gpu(scheduler);
    gravel_node net(gpu.core(), std::move(make_in_process(1)[0]), out.heaps[0],
                    {.style = S::name, .flush_after = std::chrono::hours(1)});
    test_node node{gpu, net, out.heaps[0], 0, 1};
    launching_in_vain(increment_own{}, heap_words + 1)(node);
    for (int again = 0; again < 2; ++again) {
      auto const quiet = net.quiet();
      REQUIRE(quiet.has_error());
      CHECK(quiet.error().code == net_errc::outside_heap);
      CHECK(quiet.error().what.find("256 words") != std::string::npos);
    }
    for (std::uint64_t const word : out.heaps[0])
      CHECK(word <= 1);
  }
  SUBCASE("operations for a node that has gone end in its loss, not in a wait") {
    auto ends = make_in_process(2);
    job_outcome out = make_outcome(1);
    native_scheduler scheduler({.threads = 1});
    unchecked_agent gpu(scheduler);
    gravel_node net(gpu.core(), std::move(ends[0]), out.heaps[0], {.style = S::name});
    ends[1].reset();
    test_node node{gpu, net, out.heaps[0], 0, 2};
    launching_in_vain(scatter_wave{}, items)(node);
    auto const quiet = net.quiet();
    REQUIRE(quiet.has_error());
    CHECK(quiet.error().code == net_errc::peer_lost);
    CHECK(quiet.error().what.find("pe 1") != std::string::npos);
  }
}

} // namespace gravel_test::contract
