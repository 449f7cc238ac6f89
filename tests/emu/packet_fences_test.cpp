// SPDX-License-Identifier: Apache-2.0
// What the fence scopes of packets order, and what they do not.
#include <quarry/emu.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <string>

namespace {

using namespace quarry;
using namespace quarry::emu;

struct write_word {
  void operator()(any_wavefront auto& wf, global<std::uint32_t> at) const { wf.store(at, 42); }
};
struct copy_word {
  void operator()(any_wavefront auto& wf, global<std::uint32_t> from,
                  global<std::uint32_t> to) const {
    wf.store(to, wf.load(from));
  }
};

/// The scopes of two kernels in one queue, the second of which reads what the first has written,
/// and of which the host then reads what the second has written.
struct fences {
  fence_scope first_release = fence_scope::agent;
  fence_scope second_acquire = fence_scope::agent;
  fence_scope second_release = fence_scope::system;
  bool barrier = true;
  coherence grain = coherence::fine_grained;
};

void two_kernels(world& w, fences f) {
  explored_agent gpu(w.scheduler(), {.compute_units = 2,
                                     .wavefront_slots = 1,
                                     .wavefront_size = 32,
                                     .command_processor_cores = 1});
  auto words = gpu.allocate<std::uint32_t>(32, "words", contents::zeroed, f.grain);
  auto const from = words.global(), to = words.global() + 16;
  user_queue queue(gpu.core().known(), 2);
  packet_processor processor(gpu.core(), queue);
  loaded_kernel const first = gpu.load(write_word{}, from);
  loaded_kernel const second = gpu.load(copy_word{}, from, to);
  signal end(gpu.core().known());
  launch_config const one{.work_items = 32, .work_items_per_group = 32};
  auto const kind = packet_type::kernel_dispatch;
  w.check(bool(processor.submit(
              first.packet(one, {kind, false, fence_scope::system, f.first_release}))),
          "no room for the first packet");
  w.check(bool(processor.submit(
              second.packet(one, {kind, f.barrier, f.second_acquire, f.second_release}, end))),
          "no room for the second packet");
  w.check(bool(processor.wait(end)), "the signal was not counted down");
  w.check(w.host().load(to) == 42, "the word did not arrive");
  w.check(words.host()[16] == 42, "host code does not find it there");
}

/// What two kernels of two agents are ordered by: the second agent's barrier packet, which waits
/// for the signal of the first one's kernel.
struct across {
  fence_scope first_release = fence_scope::system;
  fence_scope barrier_acquire = fence_scope::none;
  fence_scope second_acquire = fence_scope::system;
  coherence grain = coherence::fine_grained;
};

void two_agents(world& w, across f) {
  machine const each{
      .compute_units = 1, .wavefront_slots = 1, .wavefront_size = 32, .command_processor_cores = 1};
  explored_agent near(w.scheduler(), each), far(w.scheduler(), each);
  auto words = near.allocate<std::uint32_t>(32, "words", contents::zeroed, f.grain);
  signal written(near.core().known()), end(far.core().known());
  registration const shared(far.core().known(), words.host().data(), words.host().size_bytes(),
                            "words");
  registration const dependency = written.share_with(far.core().known());
  user_queue near_queue(near.core().known(), 2), far_queue(far.core().known(), 2);
  packet_processor near_processor(near.core(), near_queue), far_processor(far.core(), far_queue);
  loaded_kernel const first = near.load(write_word{}, words.global());
  loaded_kernel const second = far.load(copy_word{}, words.global(), words.global() + 16);
  launch_config const one{.work_items = 32, .work_items_per_group = 32};
  auto const submit = [&w](packet_processor& to, packet const& p) {
    w.check(bool(to.submit(p)), "no room for a packet");
  };
  auto const kind = packet_type::kernel_dispatch;
  submit(near_processor,
         first.packet(one, {kind, false, fence_scope::system, f.first_release}, written));
  packet_header const barrier{packet_type::barrier_and, true, f.barrier_acquire, fence_scope::none};
  submit(far_processor, barrier_packet{.header = barrier.bits(), .dep_signal = {written.handle()}});
  submit(far_processor,
         second.packet(one, {kind, true, f.second_acquire, fence_scope::system}, end));
  w.check(bool(far_processor.wait(end)), "the signal was not counted down");
  w.check(w.host().load(words.global() + 16) == 42, "the word did not arrive");
}

verdict explored(std::function<void(world&)> const& those, bool detects_races) {
  return explore(
      {.executions = 400, .detects_races = detects_races, .shrinks = false, .diagnoses = false},
      those);
}
verdict explored(fences f, bool detects_races) {
  return explored([f](world& w) { two_kernels(w, f); }, detects_races);
}
verdict explored(across f, bool detects_races) {
  return explored([f](world& w) { two_agents(w, f); }, detects_races);
}

} // namespace

TEST_SUITE("emu.packet_fences") {
  TEST_CASE("scopes that suffice are clean: agent between kernels, system for the host") {
    for (fences const& f : {fences{}, fences{fence_scope::system, fence_scope::system}}) {
      verdict const v = explored(f, true);
      CHECK_MESSAGE(v, v.to_string());
      CHECK(v.inconclusive == 0);
    }
  }

  TEST_CASE("coarse-grained memory needs no more: agent scope passes it from kernel to kernel") {
    constexpr auto coarse = coherence::coarse_grained;
    verdict const v = explored(fences{.grain = coarse}, true);
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.inconclusive == 0);
    for (fences const& f : {fences{.first_release = fence_scope::none, .grain = coarse},
                            fences{.second_acquire = fence_scope::none, .grain = coarse},
                            fences{.second_release = fence_scope::agent, .grain = coarse}}) {
      verdict const race = explored(f, true);
      REQUIRE(race.failure);
      CHECK(race.failure->kind == "race");
      CHECK(race.failure->report.find("packet_processor.cpp") == std::string::npos); // Quarry's own
      verdict const stale = explored(f, false);
      REQUIRE(stale.failure);
      CHECK(stale.failure->kind == "check");
    }
  }

  TEST_CASE("a missing fence, a narrow one and a missing barrier bit are races and stale values") {
    for (fences const& f :
         {fences{.first_release = fence_scope::none}, fences{.second_acquire = fence_scope::none},
          fences{.second_release = fence_scope::agent}, fences{.second_release = fence_scope::none},
          fences{.barrier = false}}) {
      verdict const race = explored(f, true);
      REQUIRE(race.failure);
      CHECK(race.failure->kind == "race");
      verdict const stale = explored(f, false);
      REQUIRE(stale.failure);
      CHECK(stale.failure->kind == "check");
      CHECK(stale.failure->report.find("the word did not arrive") != std::string::npos);
    }
  }

  TEST_CASE("a kernel's acquire covers the signals that packets before it have waited for") {
    for (coherence const grain : {coherence::fine_grained, coherence::coarse_grained})
      for (across const& f : {across{.grain = grain},
                              across{.barrier_acquire = fence_scope::system, .grain = grain}}) {
        verdict const v = explored(f, true);
        CHECK_MESSAGE(v, v.to_string());
        CHECK(v.inconclusive == 0);
      }
    for (across const& f :
         {across{.first_release = fence_scope::agent}, across{.second_acquire = fence_scope::agent},
          across{.second_acquire = fence_scope::none}}) {
      verdict const race = explored(f, true);
      REQUIRE(race.failure);
      CHECK(race.failure->kind == "race");
    }
    verdict const stale = explored(across{.first_release = fence_scope::agent}, false);
    REQUIRE(stale.failure);
    CHECK(stale.failure->kind == "check");
  }
}
