// SPDX-License-Identifier: Apache-2.0
// What is reported when wavefronts of a group wait for some that never come.
#include "agents.hpp"

#include <string>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

struct one_ends_early {
  task<> operator()(any_wavefront auto& wf) const {
    if (wf.index_in_group() == 2)
      co_return;
    co_await wf.barrier();
  }
};

struct one_is_elsewhere {
  task<> operator()(any_wavefront auto& wf) const {
    if (wf.index_in_group() == 1)
      static_cast<void>(co_await wf.group_reduce(wf.local_id(0), plus{}));
    else
      co_await wf.barrier();
  }
};

struct two_fine_grain_barriers {
  task<> operator()(any_wavefront auto& wf) const {
    auto const a = wf.make_fine_grain_barrier();
    auto const b = wf.make_fine_grain_barrier();
    if (wf.index_in_group() == 0)
      co_await wf.barrier_of(a);
    else
      co_await wf.barrier_of(b);
  }
};

/// Group 3 diverges, the others wait for a word that never comes.
struct others_poll {
  task<> operator()(any_wavefront auto& wf, global<int> word) const {
    if (wf.linear_group_id() != 3) {
      auto const is_set = [](int v) { return v != 0; };
      static_cast<void>(co_await wf.wait_until(word, is_set, order::acquire, scope::agent));
    } else if (wf.index_in_group() != 0) {
      co_await wf.barrier();
    }
  }
};

struct item_returns_early {
  task<> operator()(any_work_item auto& wi) const {
    if (wi.local_linear_id() == 70)
      co_return;
    co_await wi.barrier();
  }
};

struct item_waits_elsewhere {
  task<> operator()(any_work_item auto& wi) const {
    if (wi.local_linear_id() == 70) // NOLINT(*-branch-clone): it matters from where
      co_await wi.barrier();
    else
      co_await wi.barrier();
  }
};

struct plain_returns_early {
  void operator()(any_plain_work_item auto& wi) const {
    if (wi.local_linear_id() == 70)
      return;
    wi.barrier();
  }
};

struct whole_wave_of_items_returns {
  task<> operator()(any_work_item auto& wi) const {
    if (wi.local_linear_id() < 64)
      co_return;
    co_await wi.barrier();
  }
};

struct good {
  task<> operator()(any_wavefront auto& wf, global<int> out) const {
    int const n = co_await wf.group_reduce(wf.local_id(0) * 0 + 1, plus{});
    if (wf.linear_group_id() == 0 && wf.index_in_group() == 0)
      wf.store(out, n);
  }
};

/// The launch diverges; then the same agent runs a good kernel. The first report.
template<class Kernel, class... Args>
std::string diverges(agent& gpu, launch_config config, Kernel kernel, Args... args) {
  launch_config const& site = config;
  std::string const report =
      fail_with(gpu.run(site, kernel, args...), fault::kind::barrier_divergence);
  CHECK_SAYS(report, "barrier divergence");
  CHECK_SAYS(report, "work_group_test.cpp:" + std::to_string(site.where.line()));
  auto out = gpu.allocate<int>(1, "out");
  succeed(gpu.run({.work_groups = 20}, good{}, out.global()));
  CHECK(out.host()[0] == 256);
  return report;
}

} // namespace

TEST_SUITE("emu.work_group") {
  TEST_CASE("a wavefront that has ended is named as absent from the barrier") {
    with_every_agent([](agent& gpu) {
      auto const report =
          diverges(gpu, {.work_groups = 5, .work_items_per_group = 256}, one_ends_early{});
      CHECK_SAYS(report, "absent wavefronts: 2 (has ended)");
      CHECK_SAYS(report, "launch of one_ends_early, 5 groups of 256 work-items");
      CHECK_SAYS(report, "waits at barrier, work_group_test.cpp:");
      CHECK_SAYS(report, "wavefront 2 (work-items " +
                             std::to_string(2 * gpu.core().shape().wavefront_size) + "..");
    });
  }
  TEST_CASE("a wavefront in a different collective is named, with both collectives") {
    with_every_agent([](agent& gpu) {
      auto const report =
          diverges(gpu, {.work_groups = 3, .work_items_per_group = 128}, one_is_elsewhere{});
      CHECK_SAYS(report, "barrier");
      CHECK_SAYS(report, "work-group reduce");
      CHECK_SAYS(report, "launch of one_is_elsewhere, 3 groups");
    });
  }
  TEST_CASE("wavefronts at two fine-grain barriers that all have joined wait for ever") {
    with_every_agent([](agent& gpu) {
      auto const report =
          diverges(gpu, {.work_groups = 2, .work_items_per_group = 256}, two_fine_grain_barriers{});
      CHECK_SAYS(report, "they wait in different places");
      CHECK_SAYS(report, "wavefront 1 ");
    });
  }
  TEST_CASE("groups that poll are cleaned up when another group of their launch diverges") {
    with_every_agent([](agent& gpu) {
      auto word = gpu.allocate<int>(1, "word");
      auto const report = diverges(gpu, {.work_groups = 8, .work_items_per_group = 256},
                                   others_poll{}, word.global());
      CHECK_SAYS(report, "group 3 (3,0,0)");
      CHECK_SAYS(report, "absent wavefronts: 0 (has ended)");
    });
  }

  TEST_CASE("a work-item that has returned is named as absent from its item kernel's barrier") {
    with_every_agent([](agent& gpu) {
      auto const report =
          diverges(gpu, {.work_groups = 2, .work_items_per_group = 128}, item_returns_early{});
      CHECK_SAYS(report, "absent work-items: 70 (has ended)");
    });
  }
  TEST_CASE("work-items at two barriers are named as waiting elsewhere") {
    with_every_agent([](agent& gpu) {
      auto const report =
          diverges(gpu, {.work_groups = 2, .work_items_per_group = 128}, item_waits_elsewhere{});
      CHECK_SAYS(report, "(waits elsewhere, at the barrier at work_group_test.cpp:");
    });
  }
  TEST_CASE("a plain function that has returned is named as absent") {
    with_every_agent([](agent& gpu) {
      auto const report =
          diverges(gpu, {.work_groups = 2, .work_items_per_group = 128}, plain_returns_early{});
      CHECK_SAYS(report, "absent work-items: 70 (has ended)");
    });
  }
  TEST_CASE("an item kernel's wavefront that has ended as a whole is named") {
    with_every_agent([](agent& gpu) {
      auto const report = diverges(gpu, {.work_groups = 2, .work_items_per_group = 256},
                                   whole_wave_of_items_returns{});
      CHECK_SAYS(report, "0 (has ended)");
    });
  }
}
