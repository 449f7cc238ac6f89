// SPDX-License-Identifier: Apache-2.0
// A payload and a flag in host memory, from a GPU to a polling host thread and the other way round:
// the shape of every proxy queue. The rows are those that were counted on an NVIDIA H200 with an
// x86 host, 327 680 instances each. What was seen there must be reachable, and what is correct in
// PTX must not be; what is not correct and was not seen is reachable here, too.
#include <quarry/emu/agent.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/emu/kernel.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

namespace {

using namespace quarry;
using namespace quarry::emu;

/// What stands between payload and flag on the GPU's side. An x86 host stores and loads in order.
struct row {
  char const* name;
  std::uint32_t words;
  bool is_precached; ///< the reader has a copy of the payload before it waits
  std::optional<scope> fence;
  std::uint32_t seen; ///< instances
  bool is_correct;
};

constexpr row gpu_to_host[]{
    {"proxy+1word+none", 1, false, std::nullopt, 64, false},
    {"proxy+1word+fence.cta", 1, false, scope::work_group, 5, false},
    {"proxy+1word+fence.gpu", 1, false, scope::agent, 1, false},
    {"proxy+1word+fence.sys", 1, false, scope::system, 0, true},
    {"proxy+16words+none", 16, false, std::nullopt, 25952, false},
    {"proxy+16words+fence.gpu", 16, false, scope::agent, 226, false},
    {"proxy+16words+fence.sys", 16, false, scope::system, 0, true},
};
constexpr row host_to_gpu[]{
    {"host-flag+none", 1, false, std::nullopt, 0, false},
    {"host-flag+precached+none", 1, true, std::nullopt, 0, false},
    {"host-flag+precached+fence.cta", 1, true, scope::work_group, 0, false},
    {"host-flag+precached+fence.gpu", 1, true, scope::agent, 0, false},
    {"host-flag+precached+fence.sys", 1, true, scope::system, 0, true},
};

constexpr auto is_set = [](std::uint32_t flag) { return flag != 0; };
constexpr std::uint32_t sent = 42;

struct proxied {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> payload,
                    global<std::uint32_t> flag, row const& r) const {
    wf.store(payload + wf.global_id(), sent);
    if (r.fence)
      wf.fence(order::acq_rel, *r.fence);
    wf.store(flag, 1, order::relaxed, scope::system);
    co_return;
  }
};

struct polls {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> payload,
                    global<std::uint32_t> flag, row const& r, world& w) const {
    if (r.is_precached)
      static_cast<void>(wf.load(payload));
    auto set = wf.wait_until(flag, is_set, order::relaxed, scope::system);
    static_cast<void>(co_await set);
    if (r.fence)
      wf.fence(order::acq_rel, *r.fence);
    std::uint32_t const got = wf.load(payload);
    w.check(got == sent, "the payload is stale");
  }
};

machine const one_wavefront{.compute_units = 1, .wavefront_slots = 1, .wavefront_size = 32};

void from_gpu(world& w, row const& r) {
  explored_agent gpu(w.scheduler(), one_wavefront);
  auto pinned = w.allocate<std::uint32_t>(32, "pinned");
  auto const payload = pinned.global(), flag = pinned.global() + 16;
  w.start_task("host", [&](world_core& self) -> task<> {
    auto set = self.wait_until(flag, is_set, order::acquire, scope::system);
    static_cast<void>(co_await set);
    for (std::uint32_t i = 0; i < r.words; ++i) {
      std::uint32_t const got = self.load(payload + i);
      w.check(got == sent, "the payload is stale");
    }
  });
  auto const end = gpu.run({.work_items = r.words, .work_items_per_group = 32}, proxied{}, payload,
                           flag, std::cref(r));
  w.check(static_cast<bool>(end), "the kernel ended with a fault");
  w.join();
}

void from_host(world& w, row const& r) {
  explored_agent gpu(w.scheduler(), one_wavefront);
  auto pinned = w.allocate<std::uint32_t>(32, "pinned");
  auto const payload = pinned.global(), flag = pinned.global() + 16;
  w.start("host", [=](world_core& self) {
    self.store(payload, sent);
    self.store(flag, 1, order::release, scope::system);
  });
  auto const end = gpu.run({.work_items = 1, .work_items_per_group = 32}, polls{}, payload, flag,
                           std::cref(r), std::ref(w));
  w.check(static_cast<bool>(end), "the kernel ended with a fault");
  w.join();
}

using direction = void (*)(world&, row const&);

verdict explored(direction pass, row const& r, explore_options how) {
  how.shrinks = false;
  how.diagnoses = false;
  return explore(how, [&](world& w) { pass(w, r); });
}

/// With the default strategy, by value.
void check_reachable(direction pass, row const& r) {
  verdict const stale = explored(pass, r, {.detects_races = false});
  REQUIRE_MESSAGE(stale.failure, stale.to_string());
  CHECK(stale.failure->kind == "check");
  CHECK(stale.failure->report.find("the payload is stale") != std::string::npos);
}

/// In no execution; and it is no race, except for the early look at the payload.
void check_unreachable(direction pass, row const& r) {
  verdict const all = explored(
      pass, r,
      {.executions = 1'000'000, .strategy = "exhaustive", .detects_races = !r.is_precached});
  CHECK_MESSAGE(all, all.to_string());
  CHECK(all.is_complete);
  CHECK(all.executions > 10);
}

void check_rows(direction pass, std::span<row const> rows) {
  for (row const& r : rows) {
    CAPTURE(std::string(r.name));
    if (r.is_correct)
      check_unreachable(pass, r);
    else
      check_reachable(pass, r);
  }
}

} // namespace

TEST_SUITE("litmus.host_witness") {
  TEST_CASE("GPU to host: a fence of system scope orders the payload, nothing less does") {
    check_rows(from_gpu, gpu_to_host);
  }

  TEST_CASE("host to GPU: a fence of system scope drops the stale copy, nothing less does") {
    check_rows(from_host, host_to_gpu);
  }
}
