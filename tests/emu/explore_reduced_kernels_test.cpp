// SPDX-License-Identifier: Apache-2.0
// Exhaustive exploration of random kernels that leaves out what comes to the same.
#include "explored_ends.hpp"

#include <quarry/emu.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/random_bits.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace {

using namespace quarry_test;

enum class act {
  load,
  store,
  load_acquire,
  store_release,
  add_relaxed,
  fence_acq_rel,
  load_seq_cst,
  store_relaxed,
  fence_seq_cst,
  add_acq_rel,
  add_seq_cst,
  store_seq_cst
};

/// Of a wavefront's first lane, of any scope, on one of two words.
struct step {
  act what;
  std::size_t word;
  scope far;
  std::uint32_t value;
};
using program = std::vector<std::vector<step>>; ///< by work-group

struct interpret {
  void operator()(any_wavefront auto& wf, global<std::uint32_t> words, program const* p,
                  std::uint32_t* seen) const {
    auto const one_lane = wf.where(wf.local_id() == 0);
    std::uint32_t& saw = seen[wf.linear_group_id()];
    auto const see = [&](std::uint32_t v) { saw = saw * 7 + v + 1; };
    for (step const& s : (*p)[wf.linear_group_id()]) {
      auto const at = words + s.word;
      switch (s.what) {
      case act::load:
        see(wf.load(at));
        break;
      case act::store:
        wf.store(at, s.value);
        break;
      case act::load_acquire:
        see(wf.load(at, order::acquire, s.far));
        break;
      case act::store_release:
        wf.store(at, s.value, order::release, s.far);
        break;
      case act::add_relaxed:
        see(wf.fetch_add(at, 3U, order::relaxed, s.far));
        break;
      case act::fence_acq_rel:
        wf.fence(order::acq_rel, s.far);
        break;
      case act::load_seq_cst:
        see(wf.load(at, order::seq_cst, s.far));
        break;
      case act::fence_seq_cst:
        wf.fence(order::seq_cst, s.far);
        break;
      case act::add_acq_rel:
        see(wf.fetch_add(at, 3U, order::acq_rel, s.far));
        break;
      case act::add_seq_cst:
        see(wf.fetch_add(at, 3U, order::seq_cst, s.far));
        break;
      case act::store_seq_cst:
        wf.store(at, s.value, order::seq_cst, s.far);
        break;
      case act::store_relaxed:
        wf.store(at, s.value, order::relaxed, s.far);
        break;
      }
    }
  }
};

explored_all all_of(program const& p, unsigned compute_units, search how, search_bounds most = {}) {
  explored_all e;
  verdict const v = explore(options_of(how, most), [&](world& w) {
    std::vector<std::uint32_t> saw(p.size());
    explored_agent gpu(
        w.scheduler(),
        {.compute_units = compute_units, .wavefront_slots = 2, .wavefront_size = 32});
    auto memory = gpu.allocate<std::uint32_t>(32, "words");
    auto const end = gpu.run({.work_items = 32 * p.size(), .work_items_per_group = 32}, interpret{},
                             memory.global(), &p, saw.data());
    w.check(static_cast<bool>(end), "the kernel ended with a fault");
    if (!end) // the execution was given up
      return;
    e.seen.insert({saw[0], saw[1], memory.host()[0], memory.host()[16]});
  });
  check_complete(v, most);
  e.executions = v.executions;
  return e;
}

/// Of one to three steps in each of two groups, whose kinds are drawn from `kinds`.
program draw(random_bits& bits, std::span<act const> kinds) {
  program p(2);
  std::uint32_t value = 10;
  for (auto& group : p)
    for (std::uint32_t n = 1 + bits.below(3); n != 0; --n) {
      act const what = kinds[bits.below(static_cast<std::uint32_t>(kinds.size()))];
      std::size_t const word = 16 * bits.below(2);
      auto const far =
          static_cast<scope>(static_cast<std::uint32_t>(scope::work_group) + bits.below(3));
      group.push_back({what, word, far, ++value});
    }
  return p;
}

struct counts {
  std::uint64_t full = 0, reduced = 0, hashed = 0;
};

/// What the program comes to is the same by each search.
void compare(program const& p, unsigned compute_units, search_bounds const& switches, counts& n) {
  explored_all const full = all_of(p, compute_units, search::everything);
  explored_all const reduced = all_of(p, compute_units, search::reduced);
  explored_all const hashed = all_of(p, compute_units, search::hashed);
  CHECK(reduced.seen == full.seen);
  CHECK(hashed.seen == full.seen);
  search_bounds const few{.deviations = 2};
  CHECK(all_of(p, compute_units, search::hashed, few).seen ==
        all_of(p, compute_units, search::everything, few).seen);
  auto const seen = all_of(p, compute_units, search::everything, switches).seen;
  CHECK(all_of(p, compute_units, search::reduced, switches).seen == seen);
  CHECK(all_of(p, compute_units, search::hashed, switches).seen == seen);
  n.full += full.executions;
  n.reduced += reduced.executions;
  n.hashed += hashed.executions;
}

/// So many random programs of those kinds.
counts compare_random(std::uint64_t seed, unsigned programs, std::span<act const> kinds) {
  random_bits bits(seed);
  counts n;
  for (unsigned i = 0; i < programs; ++i) {
    CAPTURE(i);
    search_bounds switches{.preemptions = i % 3};
    if (i % 2 != 0)
      switches.stale = 1;
    compare(draw(bits, kinds), 1 + i % 2, switches, n);
  }
  MESSAGE(n.full, " executions, reduced ", n.reduced, ", hashed ", n.hashed);
  return n;
}

} // namespace

TEST_SUITE("emu.explore_reduced_kernels") {
  TEST_CASE("what random kernels come to is the same, on one compute unit and on two") {
    using enum act;
    counts const n =
        compare_random(3, 150,
                       std::array{load, store, load_acquire, store_release, add_relaxed,
                                  fence_acq_rel, load_seq_cst, store_relaxed});
    CHECK(2 * n.hashed < n.full);
    CHECK(3 * n.reduced < n.full);
  }

  TEST_CASE("so is what fences, updates and seq_cst stores of too narrow a scope come to") {
    using enum act;
    counts const n =
        compare_random(4, 100,
                       std::array{load, store_release, fence_acq_rel, store_relaxed, fence_seq_cst,
                                  add_acq_rel, add_seq_cst, store_seq_cst});
    CHECK(2 * n.hashed < n.full);
    CHECK(2 * n.reduced < n.full);
  }
}
