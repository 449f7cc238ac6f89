// SPDX-License-Identifier: Apache-2.0
// Worlds of ComP-Net nodes in many executions: what is right is never flagged, what is wrong found.
#include "comp_net_explored_nodes.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/net.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;
using comp_net::context;
using comp_net::device;
using comp_net_test::explore_nodes;
using comp_net_test::small_node;
using awaited = shmem::comparison;

namespace {

/// Two wavefronts write what the work-group sends, and both read what it gets.
struct send_from_both {
  task<> operator()(any_work_item auto& wi, global<std::uint64_t> words, global<std::uint64_t> own,
                    world& w, device& net) const {
    auto made = context::init(wi, net);
    context ctx = co_await std::move(made);
    pe const other{1 - net.self().id};
    std::uint32_t const i = wi.local_linear_id() / 32; // one work-item of each wavefront
    bool const works = wi.local_linear_id() % 32 == 0;
    if (works)
      wi.store(own + i, net.self().id * 10 + i);
    co_await ctx.put_signal(wi, words, own, 2, words + 2, 1, shmem::signal_op::set, other);
    co_await ctx.wait_until(wi, words + 2, awaited::equal, 1);
    if (works) {
      std::uint64_t const got = wi.load(words + (1 - i));
      w.check(got == other.id * 10 + (1 - i), "the other wavefront's word is not there");
    }
    co_await ctx.reduce(wi, shmem::reduction::sum, own, own, 2);
    if (works) {
      std::uint64_t const sum = wi.load(own + i);
      w.check(sum == 10 + 2 * i, "a wrong sum");
    }
    co_await ctx.destroy(wi);
  }
};

/// A flag without a fence between it and the data.
struct flag_without_fence {
  static inline std::uint_least32_t flag_line = 0;

  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t> own,
                    world& w, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    pe const other{1 - net.self().id};
    wf.store(own, 7);
    auto put = ctx.put_nbi(wf, words, own, 1, other);
    co_await std::move(put);
    flag_line = std::source_location::current().line() + 1;
    auto flag = ctx.p(wf, words + 1, 1, other);
    co_await std::move(flag);
    auto wait = ctx.wait_until(wf, words + 1, awaited::equal, 1);
    static_cast<void>(co_await std::move(wait));
    w.check(wf.load(words) == 7, "a flag came before the data");
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// Its context is closed with the launch; one that waits is told by another one.
struct leave_context {
  bool waits;
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t>,
                    world&, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    if (!waits)
      co_return;
    if (net.self().id == 0) {
      auto flag = ctx.p(wf, words, 1, pe{1});
      co_await std::move(flag);
    } else {
      auto wait = ctx.wait_until(wf, words, awaited::equal, 1);
      static_cast<void>(co_await std::move(wait));
    }
  }
};

/// What get_nbi fetches is read before quiet().
struct read_too_early {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t> own,
                    world&, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    auto get = ctx.get_nbi(wf, own, words, 2, pe{1 - net.self().id});
    co_await std::move(get);
    static_cast<void>(wf.load(own));
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// Group 0 waits for group 1 of the other node, and group 1 here is not resident until 0 has ended.
struct wait_for_others_last {
  task<> operator()(any_wavefront auto& wf, global<std::uint64_t> words, global<std::uint64_t>,
                    world&, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    if (wf.linear_group_id() == 0) {
      auto wait = ctx.wait_until(wf, words, awaited::equal, 1);
      static_cast<void>(co_await std::move(wait));
    } else {
      auto put = ctx.p(wf, words, 1, pe{1 - net.self().id});
      co_await std::move(put);
    }
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// Waits until nobody has the ring, and takes it.
struct open_when_free {
  task<> operator()(any_wavefront auto& wf, world& w, device& net) const {
    auto const is_free = [](std::uint32_t is_open) { return is_open == 0; };
    auto const is_open = member(net.states(), &comp_net::ring_state::is_open);
    static_cast<void>(co_await wf.wait_until(is_open, is_free, order::relaxed, scope::system));
    auto made = context::init(wf, net);
    static_cast<void>(co_await std::move(made));
    auto const met = net.contexts().met(0);
    w.check(met.barriers == 2 && met.reductions == 3, "a context goes on somewhere else");
  }
};

/// A service in a host thread gives a ring back; the next work-group that has it is on the GPU.
void reopen_what_host_closed(world& w, comp_net::ring_orders const& orders) {
  auto ends = make_in_process(1);
  explored_agent gpu(w.scheduler(), {.compute_units = 1, .wavefront_size = 32});
  auto network = shmem::node::start(gpu.core(), std::move(ends[0]),
                                    {.heap_bytes = 64, .most_teams = 1, .team_bytes = 256});
  w.check(network.has_value(), "start");
  if (!network)
    return;
  auto& known = gpu.core().known();
  comp_net::rings queues(known, 1, 2, orders);
  buffer<comp_net::ring_state> states(known, 1, "states");
  buffer<std::uint32_t> failed(known, 1, "failed");
  comp_net::open_contexts contexts(1, [] {});
  std::vector<comp_net::wait_record> waits(1);
  device net({.queues = &queues,
              .states = states.global(),
              .failed = failed.global(),
              .meetings = {},
              .network = &*network,
              .contexts = &contexts,
              .waits = waits});
  w.host().store(member(net.states(), &comp_net::ring_state::is_open), 1U);
  w.start("service", [&](world_core& self) {
    give_ring_back(self, net.states(), 0, {.write = 5, .barriers = 2, .reductions = 3}, orders);
  });
  static_cast<void>(
      gpu.run({.work_groups = 1, .work_items_per_group = 32, .lds_bytes = context::lds_bytes},
              open_when_free{}, std::ref(w), std::ref(net)));
  w.join();
  w.check(network->finish().has_value(), "finish");
}

template<class Kernel>
verdict explore_kernel(std::string_view configuration, std::uint64_t executions,
                       launch_config const& config, Kernel kernel,
                       launch_path launches = launch_path::straight, bool diagnoses = false) {
  return explore_nodes({.configuration = configuration,
                        .executions = executions,
                        .launches = launches,
                        .diagnoses = diagnoses},
                       [&](small_node& n) {
                         auto own = n.gpu.allocate<std::uint64_t>(4, "own");
                         static_cast<void>(
                             n.gpu.run(config, kernel, global<std::uint64_t>(n.words.data()),
                                       own.global(), std::ref(n.w), std::ref(n.net.device())));
                       });
}

constexpr launch_config one_wavefront{
    .work_groups = 1, .work_items_per_group = 32, .lds_bytes = context::lds_bytes};

} // namespace

TEST_SUITE("net.comp_net_explored") {
  TEST_CASE("work-groups of two wavefronts exchange, wait and reduce: nothing is ever flagged") {
    launch_config two = one_wavefront;
    two.work_items_per_group = 64;
    for (auto const name :
         {comp_net::on_command_processor.name, comp_net::apu.name, comp_net::dgpu.name}) {
      CAPTURE(name);
      verdict const v = explore_kernel(name, 150, two, send_from_both{});
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.inconclusive == 0);
    }
  }

  TEST_CASE("so it is where the kernels are packets, beside or on the core of the service") {
    launch_config two = one_wavefront;
    two.work_items_per_group = 64;
    for (auto const name : {comp_net::on_command_processor.name, comp_net::dgpu.name}) {
      CAPTURE(name);
      verdict const v = explore_kernel(name, 150, two, send_from_both{}, launch_path::packets);
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.inconclusive == 0);
    }
  }

  TEST_CASE("a context that has asked for nothing, and is left to the launch, is no race") {
    for (std::string_view const configuration : {"comp_net", "apu", "dgpu"})
      for (bool const waits : {false, true}) {
        CAPTURE(configuration);
        CAPTURE(waits);
        verdict const v = explore_kernel(configuration, 200, one_wavefront, leave_context{waits});
        CHECK_MESSAGE(v, v.to_string());
      }
  }

  TEST_CASE("a flag that may overtake its data is found, and that a fence() before it mends that") {
    verdict const v = explore_kernel(comp_net::on_command_processor.name, 200, one_wavefront,
                                     flag_without_fence{}, launch_path::straight, true);
    REQUIRE(v.failure);
    INFO(v.to_string());
    CHECK((v.failure->kind == "race" || v.failure->kind == "check"));
    REQUIRE(v.failure->mended);
    REQUIRE(v.failure->mended->changes.size() == 1);
    CHECK(to_string(v.failure->mended->changes[0]) ==
          "comp_net_explored_test.cpp:" + std::to_string(flag_without_fence::flag_line) +
              " remote operation -> with a fence() before it");
  }

  TEST_CASE("reading what get_nbi brings, before quiet(), is a race with the service") {
    verdict const v =
        explore_kernel(comp_net::on_command_processor.name, 200, one_wavefront, read_too_early{});
    REQUIRE(v.failure);
    INFO(v.failure->report);
    CHECK(v.failure->kind == "race");
  }

  TEST_CASE("a ring that a service on the host gives back is taken at system scope") {
    explore_options const options{.executions = 200, .shrinks = false, .diagnoses = false};
    verdict const v =
        explore(options, [](world& w) { reopen_what_host_closed(w, comp_net::ring_orders{}); });
    CHECK_MESSAGE(v, v.to_string());
    verdict const too_near = explore(options, [](world& w) {
      reopen_what_host_closed(w, comp_net::ring_orders::at(scope::agent));
    });
    REQUIRE(too_near.failure);
    CHECK(too_near.failure->kind == "race");
  }

  TEST_CASE("groups that wait for each other across nodes, one not resident: the report says so") {
    launch_config crowded{.work_groups = 2, .work_items_per_group = 32, .lds_bytes = 4096};
    for (auto const name : {comp_net::on_command_processor.name, comp_net::dgpu.name}) {
      CAPTURE(name);
      verdict const v = explore_kernel(name, 20, crowded, wait_for_others_last{});
      REQUIRE(v.failure);
      INFO(v.failure->report);
      CHECK(v.failure->kind.find("resident") != std::string::npos);
      CHECK(v.failure->report.find("1 of 2 groups are not resident") != std::string::npos);
    }
  }
}
