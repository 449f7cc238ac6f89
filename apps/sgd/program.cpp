// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "network.hpp"
#include "reference.hpp"
#include "trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <allreduce/all_reducer.hpp>
#include <array>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <programs/comp_net_cluster.hpp>
#include <string>
#include <utility>
#include <vector>

namespace quarry::sgd {
namespace {

using clock = std::chrono::steady_clock;
using command::comp_net_node;

struct settings {
  command::comp_net_settings common;
  std::uint32_t steps = 400;
  std::uint32_t batch = 64;
  std::uint32_t sample_count = 512;
  std::uint32_t percent = 97; ///< of the samples that must be right in the end
};

/// Rounding differs with the order of the sums: by 1e-6 after a thousand steps. Of batches that are
/// much larger a right answer may be off by more.
constexpr float tolerance = 1e-4F;
constexpr std::uint32_t most_batch = 1U << 12;

struct node_outcome {
  double seconds = 0;
  double sum_seconds = 0; ///< of them, in allreduce
  parameters learnt{};
};

training training_of(settings const& s, std::uint64_t seed) {
  return {
      .seed = seed, .steps = s.steps, .batch = s.batch, .sample_count = s.sample_count, .rate = 1};
}

double seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

result<node_outcome> run_one(comp_net_node& node, settings const& s, training const& t) {
  auto learner = trainer::make(node, t, s.common.work_group_count);
  if (!learner)
    return learner.error();
  auto const start = clock::now();
  if (auto const done = learner->run(); !done)
    return done.error();
  return node_outcome{.seconds = seconds_since(start),
                      .sum_seconds = learner->sum_seconds(),
                      .learnt = learner->learnt()};
}

/// What is wrong with an answer: how often in all, and in words.
struct mistakes {
  std::uint64_t count = 0;
  std::vector<std::string> kinds;

  void add(std::uint64_t often, std::string kind) {
    if (often == 0)
      return;
    count += often;
    kinds.push_back(std::move(kind));
  }
};

/// Nodes that have learnt something else than node 0, and of node 0 the parameters that are not
/// those of one process alone, and whether it gets too many samples wrong.
mistakes find_mistakes(settings const& s, training const& t, std::vector<node_outcome> const& all,
                       double accuracy_percent) {
  mistakes found;
  parameters const& first = all.front().learnt;
  using bits = std::array<std::uint32_t, parameter_count>;
  std::uint64_t strangers = 0;
  for (node_outcome const& one : all)
    strangers += std::bit_cast<bits>(one.learnt) == std::bit_cast<bits>(first) ? 0 : 1;
  found.add(strangers, fmt::format("{} of {} nodes have learnt something else than node 0",
                                   strangers, all.size()));
  parameters const alone = reference(t);
  std::uint64_t off = 0;
  for (std::uint32_t i = 0; i < parameter_count; ++i)
    off += std::abs(first[i] - alone[i]) <= tolerance ? 0 : 1;
  found.add(off, fmt::format("{} of {} parameters are not those of one process alone", off,
                             parameter_count));
  // Rounded down: what is too little does not look as if it were enough.
  found.add(accuracy_percent >= s.percent ? 0 : 1,
            fmt::format("accuracy {:.2f} %, asked for is {} % (--accuracy)",
                        std::floor(accuracy_percent * 100) / 100, s.percent));
  return found;
}

command::program_result describe(settings const& s, training const& t,
                                 std::vector<node_outcome> const& all) {
  command::program_result r;
  r.is_checked = true;
  double const accuracy_percent = t.accuracy(all.front().learnt) * 100;
  auto found = find_mistakes(s, t, all, accuracy_percent);
  r.wrong_count = found.count;
  r.reason = fmt::format("{}", fmt::join(found.kinds, "; "));
  r.lines = std::move(found.kinds);
  command::add_settings(r, s.common);
  r.settings.push_back({"batch", s.batch});
  r.settings.push_back({"samples", s.sample_count});
  node_outcome const& slowest =
      *std::ranges::max_element(all, {}, [](node_outcome const& o) { return o.seconds; });
  r.figures = {{"steps", std::uint64_t{s.steps}, ""},
               {"parameters", std::uint64_t{parameter_count}, ""},
               {"time", slowest.seconds * 1e3, "ms"},
               {"allreduce", slowest.sum_seconds * 1e3, "ms"},
               {"accuracy", accuracy_percent, "%"}};
  return r;
}

result<command::program_result> run(command::run_options const& o, settings const& s) {
  training const t = training_of(s, o.seed);
  auto const heap =
      allreduce::all_reducer::heap_bytes(o.node_count, parameter_count, s.common.work_group_count);
  auto const all = command::gather_outcomes<node_outcome>(
      o, s.common, heap, [&](comp_net_node& node) { return run_one(node, s, t); });
  if (!all)
    return all.error();
  return describe(s, t, *all);
}

void check(command::run_options const& o, settings const& s) {
  if (s.batch < o.node_count)
    command::refuse("--batch", fmt::format("{} samples for {} nodes; at least one each", s.batch,
                                           o.node_count));
  if (s.common.work_group_count * o.node_count > parameter_count)
    command::refuse("--work-groups",
                    fmt::format("{} rings of {} nodes for {} parameters; at least one each",
                                s.common.work_group_count, o.node_count, parameter_count));
  command::check_groups(o, s.common, allreduce::all_reducer::group_size);
}

command::program_call add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  command::add_comp_net_options(app, s->common);
  command::add_number(app, "--steps", s->steps, 1, 1U << 24, "down the gradient");
  command::add_number(app, "--batch", s->batch, 1, most_batch, "samples of a step, of all nodes");
  command::add_number(app, "--samples", s->sample_count, 1, 1U << 20, "that are learnt");
  command::add_number(app, "--accuracy", s->percent, 0, 100,
                      "percent of the samples that must be right in the end");
  command::check_when_read(app, [s, &app] { command::check(app, s->common); });
  return {.check = [s](command::run_options const& o) { check(o, *s); },
          .run = [s](command::run_options const& o) { return run(o, *s); }};
}

} // namespace

command::program program() {
  return {.name = "sgd",
          .summary = "a small network trained by all nodes, gradients summed by allreduce",
          .examples = "Examples:\n"
                      "  quarry run sgd --nodes 4\n"
                      "  quarry run sgd --nodes 2 --configuration cpu --steps 1000 --accuracy 99\n",
          .add_options = &add_options};
}

} // namespace quarry::sgd
