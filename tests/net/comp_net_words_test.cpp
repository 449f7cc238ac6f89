// SPDX-License-Identifier: Apache-2.0
// Words of its own heap that a kernel waits for, or looks at, while other pes put there.
#include "comp_net_explored_nodes.hpp"
#include "comp_net_job.hpp"

#include <quarry/emu/explore.hpp>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

using namespace comp_net_test;
using comp_net::context;
using comp_net::device;
using awaited = shmem::comparison;

namespace {

constexpr std::uint32_t flags = 5;

/// Each pe sets the flags of the next one, the last one first, and takes its own in whatever order
/// they come: a flag's data are there when it is.
struct pass_flags_wave {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t> seen,
                    std::uint64_t first, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    pe const next{(net.self().id + 1) % net.pe_count()};
    global<std::uint64_t> const data = words + flags;
    for (std::uint32_t i = flags; i-- != 0;) {
      auto put = ctx.p(wf, data + i, first + i, next);
      co_await std::move(put);
      auto order = ctx.fence(wf);
      co_await std::move(order);
      auto flag = ctx.p(wf, words + i, 1, next);
      co_await std::move(flag);
    }
    for (std::uint32_t taken = 0; taken < flags; ++taken) {
      auto some = ctx.wait_until_any(wf, words, flags, awaited::equal, 1);
      std::uint32_t const i = co_await std::move(some);
      if (wf.index_in_group() == 0) {
        wf.store(seen + i, wf.load(seen + i) + wf.load(data + i));
        wf.store(words + i, 2); // it has been taken
      }
    }
    auto all = ctx.wait_until_all(wf, words, flags, awaited::equal, 2);
    co_await std::move(all);
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

struct pass_flags_item {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> words, global<std::uint64_t> seen,
                    std::uint64_t first, device& net) const {
    auto made = context::init(wi, net);
    context ctx = co_await std::move(made);
    pe const next{(net.self().id + 1) % net.pe_count()};
    global<std::uint64_t> const data = words + flags;
    for (std::uint32_t i = flags; i-- != 0;) {
      co_await ctx.p(wi, data + i, first + i, next);
      co_await ctx.fence(wi);
      co_await ctx.p(wi, words + i, 1, next);
    }
    for (std::uint32_t taken = 0; taken < flags; ++taken) {
      std::uint32_t const i = co_await ctx.wait_until_any(wi, words, flags, awaited::equal, 1);
      if (wi.local_linear_id() == 0) {
        wi.store(seen + i, wi.load(seen + i) + wi.load(data + i));
        wi.store(words + i, 2);
      }
    }
    co_await ctx.wait_until_all(wi, words, flags, awaited::equal, 2);
    co_await ctx.destroy(wi);
  }
};

/// Takes words of two arrays in turn, all of which are there.
struct take_in_turn {
  static constexpr std::uint32_t calls = 64;

  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t> seen,
                    device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    for (std::uint32_t call = 0; call < 2 * calls; ++call) {
      std::uint32_t const array = call % 2 * 2;
      auto some = ctx.wait_until_any(wf, words + array, 2, awaited::equal, 1);
      std::uint32_t const i = co_await std::move(some);
      if (wf.index_in_group() == 0)
        wf.store(seen + array + i, wf.load(seen + array + i) + 1);
    }
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// Asks until the word is no longer what it was: up to then the answer is yes.
struct ask_until_not {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    pe const next{(net.self().id + 1) % net.pe_count()};
    auto put = ctx.p(wf, words, 1, next);
    co_await std::move(put);
    for (;;) {
      auto asked = ctx.test(wf, words, awaited::equal, 0);
      if (!co_await std::move(asked))
        break;
    }
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// Asks until the word is there.
struct ask_in_a_loop {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t> seen,
                    device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    pe const next{(net.self().id + 1) % net.pe_count()};
    auto put = ctx.put_signal(wf, words, seen, 1, words + 1, 7, shmem::signal_op::set, next);
    co_await std::move(put);
    for (;;) {
      auto asked = ctx.test(wf, words + 1, awaited::greater, 6);
      if (co_await std::move(asked))
        break;
    }
    auto signal = ctx.signal_fetch(wf, words + 1);
    std::uint64_t const got = co_await std::move(signal);
    if (wf.index_in_group() == 0)
      wf.store(seen + 1, wf.load(words) * 10 + got);
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// Asks for what never comes.
struct ask_for_ever {
  bool by_signal;

  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    for (;;) {
      if (by_signal) {
        auto signal = ctx.signal_fetch(wf, words);
        static_cast<void>(co_await std::move(signal));
      } else {
        auto asked = ctx.test(wf, words, awaited::not_equal, 0);
        static_cast<void>(co_await std::move(asked));
      }
    }
  }
};

/// One look, as a test says.
struct look_once {
  template<any_wavefront W, class Look>
  task<> operator()(W& wf, device& net, Look& look) const {
    auto made = context::init(wf, net);
    context const ctx = co_await std::move(made);
    task<> all = look(wf, ctx);
    co_await std::move(all);
  }
};

outcome looking(test_node& n, auto look) {
  return n.gpu.run(one_wavefront_each(1), look_once{}, std::ref(n.net.device()), std::ref(look));
}

enum class look : std::uint8_t { test, signal, any };

/// Two pes, one word and a flag; the flag is seen by a look.
struct pass_by_look {
  look by;
  std::uint64_t* sightings; ///< of all executions

  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t> own,
                    quarry::world& w, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    pe const other{1 - net.self().id};
    wf.store(own, 7);
    auto put = ctx.put_signal(wf, words, own, 1, words + 1, 1, shmem::signal_op::set, other);
    co_await std::move(put);
    bool is_there = false;
    if (by == look::signal) {
      auto signal = ctx.signal_fetch(wf, words + 1);
      is_there = co_await std::move(signal) == 1;
    } else if (by == look::test) {
      auto asked = ctx.test(wf, words + 1, awaited::equal, 1);
      is_there = co_await std::move(asked);
    } else {
      auto some = ctx.wait_until_any(wf, words + 1, 2, awaited::equal, 1);
      is_there = co_await std::move(some) == 0;
    }
    if (is_there) {
      ++*sightings;
      w.check(wf.load(words) == 7, "the signal came before the data");
    }
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

verdict explore_looks(look by, std::uint64_t& sightings, shmem::shmem_orders const& orders = {}) {
  return explore_nodes(
      {.configuration = comp_net::on_command_processor.name, .executions = 300, .orders = orders},
      [&](small_node& n) {
        auto own = n.gpu.allocate<std::uint64_t>(1, "own");
        static_cast<void>(n.gpu.run(
            {.work_groups = 1, .work_items_per_group = 32, .lds_bytes = context::lds_bytes},
            pass_by_look{by, &sightings}, global<std::uint64_t>(n.words.data()), own.global(),
            std::ref(n.w), std::ref(n.net.device())));
      });
}

} // namespace

TEST_SUITE("net.comp_net_words") {
  TEST_CASE("any of some words gives each that has come, once, and all are there in the end") {
    with_every_job([](test_node& n) {
      auto seen = n.gpu.allocate<std::uint64_t>(flags, "seen");
      for (std::uint64_t const first : {100U, 200U}) {
        auto const launch = [&](auto kernel) {
          return n.gpu.run(groups(1), kernel, n.at(), seen.global(), first,
                           std::ref(n.net.device()));
        };
        succeed(first == 100 ? launch(pass_flags_wave{}) : launch(pass_flags_item{}));
        for (std::uint32_t i = 0; i < flags; ++i) {
          CHECK(seen.host()[i] == first + i);
          seen.host()[i] = 0;
          n.words[i] = 0;
        }
        CHECK(n.net.shmem().barrier_all());
      }
    });
  }

  TEST_CASE("who asks in a loop hears of the word, and of the signal's value") {
    with_every_job([](test_node& n) {
      auto seen = n.gpu.allocate<std::uint64_t>(2, "seen");
      seen.host()[0] = 4;
      succeed(
          n.gpu.run(groups(1), ask_in_a_loop{}, n.at(), seen.global(), std::ref(n.net.device())));
      CHECK(seen.host()[1] == 47);
    });
  }

  TEST_CASE("of words that are all there each is given, also by who goes to and fro") {
    with_one_node([](test_node& n) {
      auto seen = n.gpu.allocate<std::uint64_t>(4, "seen");
      std::fill_n(n.words.begin(), 4, 1);
      succeed(
          n.gpu.run(groups(1), take_in_turn{}, n.at(), seen.global(), std::ref(n.net.device())));
      for (std::uint64_t const times : seen.host())
        CHECK(times >= take_in_turn::calls / 8);
    });
  }

  TEST_CASE("who asks until something is no longer so lets the network have its turns") {
    with_every_job([](test_node& n) { // one thread and one wavefront, too
      succeed(n.gpu.run(one_wavefront_each(1), ask_until_not{}, n.at(), std::ref(n.net.device())));
    });
  }

  TEST_CASE("who asks for what never comes ends with the job") {
    for (bool const by_signal : {false, true})
      for (bool const is_native : {false, true}) {
        job_shape s{.nodes = 2};
        if (is_native)
          s.threads = 2;
        run_losing(s, [by_signal](test_node& n) {
          if (n.id == 1)
            return; // without a word
          auto const asked = n.gpu.run(one_wavefront_each(1), ask_for_ever{by_signal}, n.at(),
                                       std::ref(n.net.device()));
          expect(asked, fault::kind::exception,
                 by_signal ? "signal_fetch was given up: " : "test was given up: ");
        });
      }
  }

  TEST_CASE("words that are not all in the heap, no words, and no comparison are faults") {
    with_one_node([](test_node& n) {
      auto const past_end = looking(n, [&](auto& wf, context ctx) -> task<> {
        auto wait = ctx.wait_until_all(wf, n.at(), 1U << 20, awaited::equal, 1);
        co_await std::move(wait);
      });
      expect(past_end, fault::kind::out_of_bounds, "wait_until_all of 8388608 bytes at offset ");
      auto const none = looking(n, [&](auto& wf, context ctx) -> task<> {
        auto wait = ctx.wait_until_any(wf, n.at(), 0, awaited::equal, 1);
        static_cast<void>(co_await std::move(wait));
      });
      expect(none, fault::kind::wrong_shape,
             "wait_until_any of no words waits for ever; at least 1 is allowed");
      auto const odd = looking(n, [&](auto& wf, context ctx) -> task<> {
        auto asked = ctx.test(wf, n.at(), static_cast<awaited>(6), 1);
        static_cast<void>(co_await std::move(asked));
      });
      expect(odd, fault::kind::wrong_shape, "test: a word is compared by");
      std::uint64_t own = 0;
      auto const elsewhere = looking(n, [&](auto& wf, context ctx) -> task<> {
        auto signal = ctx.signal_fetch(wf, global<std::uint64_t const>(&own));
        static_cast<void>(co_await std::move(signal));
      });
      expect(elsewhere, fault::kind::out_of_bounds,
             "signal_fetch of 8 bytes outside the symmetric heap, in private memory");
      auto const nothing = looking(n, [&](auto& wf, context ctx) -> task<> {
        auto wait = ctx.wait_until_all(wf, n.at(), 0, awaited::equal, 1);
        co_await std::move(wait);
      });
      succeed(nothing);
    });
  }

  TEST_CASE("what came before a word that a look has seen is there, in every execution") {
    for (look const by : {look::test, look::signal, look::any}) {
      CAPTURE(static_cast<int>(by));
      std::uint64_t sightings = 0;
      verdict const v = explore_looks(by, sightings);
      CHECK_MESSAGE(v, v);
      CHECK(sightings > 50);
    }
  }

  TEST_CASE("a look that does not acquire sees the word before them, and is found out") {
    for (look const by : {look::test, look::signal, look::any}) {
      CAPTURE(static_cast<int>(by));
      std::uint64_t sightings = 0;
      CHECK_FALSE(explore_looks(by, sightings, {.wait = {order::relaxed, scope::system}}));
    }
  }
}
