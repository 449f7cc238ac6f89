// SPDX-License-Identifier: Apache-2.0
// The style contract's part about words and nodes that are none, as kernels may name them.
#pragma once

#include "gravel_job.hpp"

#include <quarry/net/gravel_style.hpp>

#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace gravel_test::contract {

/// A word, counted from the heap's begin, of a node; neither needs to be there.
struct place {
  std::int64_t word;
  std::int64_t node;
};
constexpr std::int64_t two_to_the(int n) {
  return static_cast<std::int64_t>(std::uint64_t{1} << n);
}

/// Work-item 5 sends there, the others, if they are active, to word i of node 0.
struct stray_wave {
  gravel::command what;
  place to;
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t,
                    gravel::endpoint& net) const {
    task<> sent = send(wf, words, net);
    co_await std::move(sent);
  }

private:
  template<any_wavefront W>
  task<> send(W& wf, global<std::uint64_t> words, gravel::endpoint& net) const {
    auto const i = gravel::as_words<W>(wf.global_id());
    gravel::lanes64<W> const one(1);
    gravel::lanes64<W> const word = i.with(5, static_cast<std::uint64_t>(to.word));
    gravel::lanes64<W> const node =
        gravel::lanes64<W>(0).with(5, static_cast<std::uint64_t>(to.node));
    switch (what) {
    case gravel::command::increment:
      return net.increment(wf, words + word, node);
    case gravel::command::add:
      return net.add(wf, words + word, one, node);
    case gravel::command::put:
      return net.put(wf, words + word, one, node);
    case gravel::command::active_message:
      break;
    }
    return net.active_message(wf, 0, words + word, one, node);
  }
};
struct stray_item {
  gravel::command what;
  place to;
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> words, std::uint32_t,
                    gravel::endpoint& net) const {
    bool const strays = wi.global_id() == 5;
    auto const at = words + (strays ? to.word : static_cast<std::int64_t>(wi.global_id()));
    auto const node = static_cast<std::uint64_t>(strays ? to.node : 0);
    switch (what) {
    case gravel::command::increment:
      co_await net.increment(wi, at, node);
      break;
    case gravel::command::add:
      co_await net.add(wi, at, 1, node);
      break;
    case gravel::command::put:
      co_await net.put(wi, at, 1, node);
      break;
    case gravel::command::active_message:
      co_await net.active_message(wi, 0, at, 1, node);
    }
  }
};

/// As stray_wave, but work-item 5 sends nothing.
struct stray_but_idle {
  place to;
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, std::uint32_t nodes,
                    gravel::endpoint& net) const {
    auto const others = wf.where(!(wf.global_id() == 5));
    stray_wave const kernel{gravel::command::increment, to};
    task<> sent = kernel(wf, words, nodes, net);
    co_await std::move(sent);
  }
};

/// One kernel of pe 1 names such a place: the job ends in outside_heap everywhere, and no heap has
/// been touched.
template<gravel::style S, class Run, class Kernel>
void expect_refused(Run const& run, Kernel const& kernel, place to) {
  CAPTURE(to.word);
  CAPTURE(to.node);
  auto const out = run(2, {.style = S::name}, [&](test_node& n) {
    n.net.add_handler([](std::uint64_t& word, std::uint64_t v) { word += v; });
    if (n.id == 1)
      launching_in_vain(kernel, 32)(n);
  });
  CHECK(out.heaps == empty_heaps(2));
  std::string const named = std::string(to_string(kernel.what)) + " in a kernel of pe 1 at ";
  std::string const what =
      " names word " + std::to_string(to.word) + " of node " + std::to_string(to.node) + ";";
  for (auto const& e : out.errors) {
    REQUIRE(e);
    CHECK(e->code == net_errc::outside_heap);
    for (std::string const& part : {named, std::string("style_places_contract.hpp:"), what,
                                    std::string("2 nodes"), std::string("256 words")})
      CHECK_MESSAGE(e->what.find(part) != std::string::npos, e->what);
  }
}

template<gravel::style S>
void refuses_what_is_not_there() {
  constexpr gravel::command commands[] = {gravel::command::increment, gravel::command::add,
                                          gravel::command::put, gravel::command::active_message};
  SUBCASE("a word that is in no heap, or a node that is none, ends the job and does nothing") {
    std::vector<place> const places{{heap_words, 0},
                                    {-1, 0},
                                    {-1, 1},
                                    {two_to_the(31), 0},
                                    {two_to_the(32), 1},
                                    {two_to_the(32) + 3, 0},
                                    {3 - two_to_the(32), 0},
                                    {two_to_the(48) + 3, 0},
                                    {3 - two_to_the(40), 1},
                                    {3, 2},
                                    {3, 65'535},
                                    {3, 65'536},
                                    {3, 65'537},
                                    {3, two_to_the(32)},
                                    {3, two_to_the(48) + 1},
                                    {3, -1},
                                    {two_to_the(32), -1}};
    with_every_job(
        [&](auto const& run) {
          for (std::size_t i = 0; i < places.size(); ++i) {
            gravel::command const what = commands[i % std::size(commands)];
            expect_refused<S>(run, stray_wave{what, places[i]}, places[i]);
            expect_refused<S>(run, stray_item{what, places[i]}, places[i]);
          }
          // A wavefront's index is a number of 64 bits, though no address is so far away.
          for (int const bit : {61, 63}) {
            place const far{two_to_the(bit) + 3, 0};
            expect_refused<S>(run, stray_wave{gravel::command::increment, far}, far);
          }
        },
        1);
  }
  SUBCASE("what begins between two words of the heap is refused, and told by its byte") {
    for (bool const is_wave : {true, false})
      with_every_job(
          [&](auto const& run) {
            auto const out = run(2, {.style = S::name}, [&](test_node& n) {
              if (n.id != 1)
                return;
              test_node between = n;
              auto* const bytes = reinterpret_cast<std::byte*>(n.heap.data()) + 4;
              between.heap = {reinterpret_cast<std::uint64_t*>(bytes), n.heap.size()}; // NOLINT
              place const to{5, 0};
              if (is_wave)
                launching_in_vain(stray_wave{gravel::command::put, to}, 32)(between);
              else
                launching_in_vain(stray_item{gravel::command::put, to}, 32)(between);
            });
            CHECK(out.heaps == empty_heaps(2));
            for (auto const& e : out.errors) {
              REQUIRE(e);
              CHECK(e->code == net_errc::outside_heap);
              CHECK_MESSAGE(e->what.find(" names byte 4 of word ") != std::string::npos, e->what);
            }
          },
          0);
  }
  SUBCASE("memory that is not the heap is refused, too") {
    with_every_job(
        [](auto const& run) {
          std::vector<std::uint64_t> elsewhere(64);
          auto const out = run(2, {.style = S::name}, [&](test_node& n) {
            if (n.id != 1)
              return;
            test_node strange = n;
            strange.heap = elsewhere;
            launching_in_vain(stray_wave{gravel::command::put, {5, 0}}, 32)(strange);
          });
          for (auto const& e : out.errors) {
            REQUIRE(e);
            CHECK(e->code == net_errc::outside_heap);
          }
          CHECK(out.heaps == empty_heaps(2));
          CHECK(elsewhere == std::vector<std::uint64_t>(64));
        },
        0);
  }
  SUBCASE("what lanes have that do not send is nobody's place") {
    heaps expected = empty_heaps(2);
    for (std::uint64_t i = 0; i < 32; ++i)
      expected[0][i] = i == 5 ? 0 : 2;
    for (place const to : {place{two_to_the(32) + 3, 0}, place{-1, 0}, place{3, 65'536}})
      with_every_job(
          [&](auto const& run) {
            check_heaps(run(2, {.style = S::name}, launching(stray_but_idle{to}, 32)), expected);
          },
          0);
  }
}

} // namespace gravel_test::contract
