// SPDX-License-Identifier: Apache-2.0
#include "comp_net_job.hpp"

#include <array>
#include <functional>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>

using namespace comp_net_test;
using comp_net::context;
using comp_net::device;
using awaited = shmem::comparison;

namespace {

enum class mistake : std::uint8_t {
  put_to_private,
  put_beyond_end,
  put_uncountable,
  get_uncountable,
  no_such_signal_op,
  no_such_reduction,
  no_such_comparison,
  wait_on_private,
  no_such_pe,
  after_destroy,
  never_made,
  not_destroyed,
  others_context,
};

/// Every work-group makes a context and then one mistake.
struct make_mistake {
  task<> operator()(any_wavefront auto& wf, mistake what, global<std::uint64_t> words,
                    global<std::uint64_t> own, context& shared, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    switch (what) {
    case mistake::put_to_private: {
      auto put = ctx.put(wf, own, own, 3, pe{0});
      co_await std::move(put);
      break;
    }
    case mistake::put_beyond_end: {
      auto put = ctx.put(wf, words, own, 1'000'000, pe{0});
      co_await std::move(put);
      break;
    }
    case mistake::put_uncountable: {
      auto put = ctx.put(wf, words, own, std::size_t{1} << 61, pe{0});
      co_await std::move(put);
      break;
    }
    case mistake::get_uncountable: {
      auto get = ctx.get(wf, own, words, (std::size_t{1} << 61) + 1, pe{0});
      co_await std::move(get);
      break;
    }
    case mistake::no_such_signal_op: {
      auto put =
          ctx.put_signal(wf, words, own, 1, words, 1, static_cast<shmem::signal_op>(7), pe{0});
      co_await std::move(put);
      break;
    }
    case mistake::no_such_reduction: {
      auto sum = ctx.reduce(wf, static_cast<shmem::reduction>(9), own, own, 1);
      co_await std::move(sum);
      break;
    }
    case mistake::no_such_comparison: {
      auto wait = ctx.wait_until(wf, words, static_cast<awaited>(6), 1);
      static_cast<void>(co_await std::move(wait));
      break;
    }
    case mistake::wait_on_private: {
      auto wait = ctx.wait_until(wf, own, awaited::equal, 1);
      static_cast<void>(co_await std::move(wait));
      break;
    }
    case mistake::no_such_pe: {
      auto put = ctx.p(wf, words, 1, pe{1});
      co_await std::move(put);
      break;
    }
    case mistake::after_destroy: {
      auto end = ctx.destroy(wf);
      co_await std::move(end);
      auto put = ctx.p(wf, words, 1, pe{0});
      co_await std::move(put);
      break;
    }
    case mistake::never_made: {
      context none;
      auto put = none.p(wf, words, 1, pe{0});
      co_await std::move(put);
      break;
    }
    case mistake::not_destroyed:
      break;
    case mistake::others_context: {
      if (wf.linear_group_id() == 0) {
        shared = ctx;
        wf.store(own, 1, order::release, scope::system);
      } else {
        static_cast<void>(co_await wf.wait_until(
            own, [](std::uint64_t v) { return v == 1; }, order::acquire, scope::system));
        auto put = shared.p(wf, words, 1, pe{0});
        co_await std::move(put);
      }
      break;
    }
    }
  }
};

struct nothing_but_init {
  task<> operator()(any_wavefront auto& wf, device& net) const {
    auto made = context::init(wf, net);
    static_cast<void>(co_await std::move(made));
  }
};

/// Meets the others, and neither waits for its gets nor destroys its context: it makes a mistake,
/// or just ends.
struct end_amid_gets {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t> own,
                    bool fails, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    auto met = ctx.barrier_all(wf);
    co_await std::move(met);
    pe const next{(net.self().id + 1) % net.pe_count()};
    for (std::size_t i = 0; i < 12; ++i) {
      auto get = ctx.get_nbi(wf, own + i * heap_words / 2, words, heap_words / 2, next);
      co_await std::move(get);
    }
    if (!fails)
      co_return;
    auto put = ctx.p(wf, words, 1, pe{9});
    co_await std::move(put);
  }
};

/// Has its context until word 0 is 1, and says so in word 1.
struct hold {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    auto put = ctx.p(wf, words + 1, 1, net.self());
    co_await std::move(put);
    auto wait = ctx.wait_until(wf, words, shmem::comparison::equal, 1);
    static_cast<void>(co_await std::move(wait));
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// Work-group 7 makes a mistake while the others wait in vain.
struct fail_as_last {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    if (wf.linear_group_id() == 7) {
      auto put = ctx.p(wf, words, 1, pe{9});
      co_await std::move(put);
    }
    auto wait = ctx.wait_until(wf, words, shmem::comparison::equal, 1);
    static_cast<void>(co_await std::move(wait));
  }
};

/// Goes on with the ring where the launch before it was lost.
struct meet_and_fetch {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t> got,
                    device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    pe const next{(net.self().id + 1) % net.pe_count()};
    auto put = ctx.p(wf, words, 7 + net.self().id, next);
    co_await std::move(put);
    auto met = ctx.barrier_all(wf);
    co_await std::move(met);
    auto get = ctx.g(wf, words, net.self());
    std::uint64_t const value = co_await std::move(get);
    if (wf.index_in_group() == 0)
      wf.store(got, value);
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

void expect_mistake(mistake what, fault::kind kind, std::string_view says) {
  with_one_node([&](test_node& n) {
    auto own = n.gpu.allocate<std::uint64_t>(4, "own");
    context shared;
    expect(n.gpu.run(one_wavefront_each(what == mistake::others_context ? 2 : 1), make_mistake{},
                     what, n.at(), own.global(), std::ref(shared), std::ref(n.net.device())),
           kind, says);
  });
}

/// Waits for the last group's put, which only comes once that group is resident.
struct wait_for_last_group {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    if (wf.linear_group_id() + 1 == wf.group_count().x) {
      auto put = ctx.p(wf, words, 1, net.self());
      co_await std::move(put);
    } else {
      auto wait = ctx.wait_until(wf, words, awaited::equal, 1);
      static_cast<void>(co_await std::move(wait));
    }
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// On two nodes that share no memory, with services of two kinds, over both transports.
void on_two_nodes(node_body const& body) {
  job_shape s{.nodes = 2, .shares_memory = false};
  for (auto const name : {comp_net::on_command_processor.name, comp_net::dgpu.name})
    for (bool const over_loopback : {false, true})
      for (bool const is_native : {true, false}) {
        s.configuration = name;
        s.over_loopback = over_loopback;
        s.threads = is_native || over_loopback ? std::optional<std::size_t>(2) : std::nullopt;
        run_job(s, body);
      }
}

} // namespace

TEST_SUITE("net.comp_net_faults") {
  TEST_CASE("a put to private memory, or beyond the heap's end") {
    expect_mistake(mistake::put_to_private, fault::kind::out_of_bounds,
                   "put of 24 bytes outside the symmetric heap, in private memory");
    expect_mistake(mistake::put_beyond_end, fault::kind::out_of_bounds,
                   "put of 8000000 bytes at offset");
    expect_mistake(mistake::put_uncountable, fault::kind::out_of_bounds, "put of 184467440737");
    expect_mistake(mistake::get_uncountable, fault::kind::out_of_bounds, "get of 184467440737");
  }
  TEST_CASE("operations that do not exist") {
    expect_mistake(mistake::no_such_signal_op, fault::kind::wrong_shape,
                   "put_signal: a signal is set or added to; there is no operation 7");
    expect_mistake(mistake::no_such_reduction, fault::kind::wrong_shape,
                   "reduce: there is no reduction 9");
    expect_mistake(mistake::no_such_comparison, fault::kind::wrong_shape,
                   "wait_until: a word is compared by ==, !=, >, >=, < or <=; there is no "
                   "comparison 6");
  }
  TEST_CASE("a wait_until on private memory") {
    expect_mistake(mistake::wait_on_private, fault::kind::out_of_bounds,
                   "wait_until of 8 bytes outside the symmetric heap, in private memory");
  }
  TEST_CASE("a pe that is not in the job") {
    expect_mistake(mistake::no_such_pe, fault::kind::out_of_bounds, "p for pe 1; there are 1 pes");
  }
  TEST_CASE("a context that is destroyed, was never made, or is another work-group's") {
    expect_mistake(mistake::after_destroy, fault::kind::wrong_shape,
                   "p on a context that has been destroyed");
    expect_mistake(mistake::never_made, fault::kind::wrong_shape,
                   "p on a context that init() has not made");
    expect_mistake(mistake::others_context, fault::kind::wrong_shape,
                   "p: the context of work-group 0 is used by work-group 1");
  }
  TEST_CASE("a context of a launch that runs at the same time") {
    with_one_node([](test_node& n) {
      auto first = n.gpu.launch(one_wavefront_each(1), hold{}, n.at(), std::ref(n.net.device()));
      auto& host = n.net.shmem();
      CHECK(host.wait_until(n.words.data() + 1, shmem::comparison::equal, 1));
      expect(n.gpu.run(one_wavefront_each(1), nothing_but_init{}, std::ref(n.net.device())),
             fault::kind::wrong_shape, "the context of work-group 0 is in use");
      CHECK(host.default_context().p(n.words.data(), 1, pe{n.id}));
      succeed(first.wait());
    });
  }
  TEST_CASE("a launch that leaves its context open ends when all that it has begun is done") {
    on_two_nodes([](test_node& n) {
      auto& host = n.net.shmem();
      std::iota(n.words.begin(), n.words.end(), 1000 * n.id);
      CHECK(host.barrier_all());
      for (int times = 0; times < 3; ++times) {
        auto own = n.gpu.allocate<std::uint64_t>(6 * heap_words, "own");
        succeed(n.gpu.run(one_wavefront_each(1), end_amid_gets{}, n.at(), own.global(), false,
                          std::ref(n.net.device())));
        std::size_t wrong = 0;
        for (std::size_t i = 0; i < 6 * heap_words; ++i)
          wrong += own.host()[i] != 1000 * (1 - n.id) + i % (heap_words / 2);
        CHECK(wrong == 0);
      }
      CHECK(host.barrier_all());
    });
  }
  TEST_CASE("a fault's end waits for what is under way, and the ring may have another context") {
    on_two_nodes([](test_node& n) {
      for (int times = 0; times < 3; ++times) {
        {
          auto own = n.gpu.allocate<std::uint64_t>(6 * heap_words, "own");
          expect(n.gpu.run(one_wavefront_each(1), end_amid_gets{}, n.at(), own.global(), true,
                           std::ref(n.net.device())),
                 fault::kind::out_of_bounds, "p for pe 9; there are 2 pes");
        }
        auto got = n.gpu.allocate<std::uint64_t>(1, "got");
        succeed(n.gpu.run(one_wavefront_each(1), meet_and_fetch{}, n.at(), got.global(),
                          std::ref(n.net.device())));
        CHECK(got.host()[0] == 7 + (n.id + 1) % 2);
      }
    });
  }
  TEST_CASE("whichever of many services has a ring closes the context that a fault has left") {
    job_shape s{.threads = 2, .service_threads = 8};
    for (auto const name :
         {comp_net::apu.name, comp_net::dgpu.name, comp_net::on_command_processor.name}) {
      s.configuration = name;
      run_job(s, [](test_node& n) {
        for (int times = 0; times < 10; ++times)
          expect(n.gpu.run(one_wavefront_each(8), fail_as_last{}, n.at(), std::ref(n.net.device())),
                 fault::kind::out_of_bounds, "p for pe 9; there are 1 pes");
      });
    }
  }
  TEST_CASE("more work-groups than rings, or no LDS for the context") {
    with_one_node([](test_node& n) {
      expect(n.gpu.run(one_wavefront_each(9), nothing_but_init{}, std::ref(n.net.device())),
             fault::kind::wrong_shape, "work-group 8 has no ring; the node has 8");
    });
    with_one_node([](test_node& n) {
      expect(n.gpu.run({.work_groups = 1, .work_items_per_group = 64}, nothing_but_init{},
                       std::ref(n.net.device())),
             fault::kind::lds_out_of_bounds, "bytes of LDS");
    });
  }

  TEST_CASE("a group that waits for one that is not resident is a deadlock that says so") {
    // Two compute units with 64 KiB of LDS each: four of five groups are resident (ComP-Net §4.1).
    auto const body = [](test_node& n) {
      launch_config const site{
          .work_groups = 5, .work_items_per_group = 64, .lds_bytes = 32 * 1024};
      expect(n.gpu.run(site, wait_for_last_group{}, n.at(), std::ref(n.net.device())),
             fault::kind::not_resident, "1 of 5 groups are not resident");
    };
    job_shape s;
    for (auto const name : {comp_net::on_command_processor.name, comp_net::apu.name}) {
      s.configuration = name;
      s.threads.reset();
      run_job(s, body);
      s.threads = 2;
      s.stall_timeout = std::chrono::milliseconds(100);
      run_job(s, body);
    }
  }
}
