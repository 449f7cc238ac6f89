// SPDX-License-Identifier: Apache-2.0
// Message passing with each of its parts missing, too narrow or in the wrong place, between two
// wavefronts of a work-group, of two compute units and of two agents: twenty rows, each exhaustive.
#include <quarry/emu/agent.hpp>
#include <quarry/emu/explore.hpp>
#include <quarry/emu/kernel.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace {

using namespace quarry;
using namespace quarry::emu;

enum class placement : std::uint8_t { same_group, other_unit, other_agent };

struct ordering {
  order how;
  scope far;
};
/// A datum and a flag; the flag is read once, the datum if it is set.
struct protocol {
  ordering publish;
  ordering look;
  std::optional<ordering> fence_before_publish{};
  std::optional<ordering> fence_before_look{};
  std::optional<ordering> fence_after_look{};
};

void write(any_wavefront auto& wf, global<std::uint32_t> data, global<std::uint32_t> flag,
           protocol p) {
  wf.store(data, 42);
  if (auto const f = p.fence_before_publish)
    wf.fence(f->how, f->far);
  wf.store(flag, 1, p.publish.how, p.publish.far);
}

void read(any_wavefront auto& wf, global<std::uint32_t> data, global<std::uint32_t> flag,
          protocol p, world& w) {
  if (auto const f = p.fence_before_look)
    wf.fence(f->how, f->far);
  std::uint32_t const seen = wf.load(flag, p.look.how, p.look.far);
  if (auto const f = p.fence_after_look)
    wf.fence(f->how, f->far);
  if (seen == 0)
    return;
  std::uint32_t const datum = wf.load(data);
  w.check(datum == 42, "the datum is stale");
}

struct writer {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> data, global<std::uint32_t> flag,
                    protocol p) const {
    write(wf, data, flag, p);
    co_return;
  }
};
struct reader {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> data, global<std::uint32_t> flag,
                    protocol p, world& w) const {
    read(wf, data, flag, p, w);
    co_return;
  }
};
/// Both, in one grid.
struct passes {
  task<> operator()(any_wavefront auto& wf, global<std::uint32_t> data, global<std::uint32_t> flag,
                    protocol p, world& w) const {
    if (wf.linear_group_id() + wf.index_in_group() == 0)
      write(wf, data, flag, p);
    else
      read(wf, data, flag, p, w);
    co_return;
  }
};

void pass_message(world& w, placement where, protocol p) {
  machine const shape{.compute_units = where == placement::other_unit ? 2U : 1U,
                      .wavefront_slots = where == placement::other_unit ? 1U : 2U,
                      .wavefront_size = 32};
  explored_agent gpu(w.scheduler(), shape);
  auto words = gpu.allocate<std::uint32_t>(32, "words");
  auto const data = words.global(), flag = words.global() + 16;
  if (where != placement::other_agent) {
    launch_config const two{.work_items = 64,
                            .work_items_per_group = where == placement::same_group ? 64U : 32U,
                            .cooperative = true};
    auto const end = gpu.run(two, passes{}, data, flag, p, std::ref(w));
    w.check(static_cast<bool>(end), "the kernel ended with a fault");
    return;
  }
  explored_agent other(w.scheduler(), shape);
  auto const seen_there = other.expose(words.host().data(), words.size(), "words");
  launch_config const one{.work_items = 32, .work_items_per_group = 32};
  auto writes = gpu.launch(one, writer{}, data, flag, p);
  auto reads = other.launch(one, reader{}, data, flag, p, std::ref(w));
  auto const wrote = writes.wait(), did_read = reads.wait();
  w.check(wrote && did_read, "a kernel ended with a fault");
}

verdict search(placement where, protocol p, bool detects_races) {
  return explore({.executions = 1'000'000,
                  .strategy = "exhaustive",
                  .detects_races = detects_races,
                  .shrinks = false,
                  .diagnoses = false},
                 [=](world& w) { pass_message(w, where, p); });
}

/// The race detector finds it; without it, a stale datum does.
void check_bug(std::string const& row, placement where, protocol p) {
  CAPTURE(row);
  verdict const race = search(where, p, true);
  REQUIRE_MESSAGE(race.failure, race.to_string());
  CHECK(race.failure->kind == "race");
  verdict const stale = search(where, p, false);
  REQUIRE_MESSAGE(stale.failure, stale.to_string());
  CHECK(stale.failure->kind == "check");
  CHECK(stale.failure->report.find("the datum is stale") != std::string::npos);
}

/// Neither ever, in all executions.
void check_correct(std::string const& row, placement where, protocol p) {
  CAPTURE(row);
  for (bool const detects_races : {true, false}) {
    verdict const all = search(where, p, detects_races);
    CHECK_MESSAGE(all, all.to_string());
    CHECK(all.is_complete);
    CHECK(all.executions > 10);
  }
}

constexpr auto relaxed = order::relaxed, acquire = order::acquire, release = order::release;

/// The rows of two wavefronts that do not share a work-group.
void check_far(placement where, scope far) {
  auto const narrow = far == scope::system ? scope::agent : scope::work_group;
  check_correct("release and acquire", where, {{release, far}, {acquire, far}});
  check_correct("fences", where,
                {.publish = {relaxed, far},
                 .look = {relaxed, far},
                 .fence_before_publish = ordering{release, far},
                 .fence_after_look = ordering{acquire, far}});
  check_bug("missing release", where, {{relaxed, far}, {acquire, far}});
  check_bug("narrow release", where, {{release, narrow}, {acquire, far}});
  check_bug("narrow release fence", where,
            {.publish = {relaxed, far},
             .look = {acquire, far},
             .fence_before_publish = ordering{release, narrow}});
  check_bug("missing acquire", where, {{release, far}, {relaxed, far}});
  check_bug("narrow acquire", where, {{release, far}, {acquire, narrow}});
  check_bug("acquire before the load", where,
            {.publish = {release, far},
             .look = {relaxed, far},
             .fence_before_look = ordering{acquire, far}});
}

} // namespace

TEST_SUITE("litmus.matrix") {
  TEST_CASE("MP in one work-group: 4 rows") {
    auto const where = placement::same_group;
    auto const far = scope::work_group;
    check_correct("release and acquire", where, {{release, far}, {acquire, far}});
    check_bug("missing release", where, {{relaxed, far}, {acquire, far}});
    check_bug("missing acquire", where, {{release, far}, {relaxed, far}});
    check_bug("acquire before the load", where,
              {.publish = {release, far},
               .look = {relaxed, far},
               .fence_before_look = ordering{acquire, far}});
  }

  TEST_CASE("MP between compute units: 8 rows") {
    check_far(placement::other_unit, scope::agent);
  }

  TEST_CASE("MP between agents: 8 rows") {
    check_far(placement::other_agent, scope::system);
  }
}
