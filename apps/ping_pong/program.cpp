// SPDX-License-Identifier: Apache-2.0
#include "program.hpp"

#include "host_player.hpp"
#include "kernel.hpp"
#include "reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <programs/comp_net_cluster.hpp>
#include <programs/memory_need.hpp>

namespace quarry::ping_pong {
namespace {

using clock = std::chrono::steady_clock;
using command::comp_net_node;

constexpr std::array pattern_choices{command::choice{"put", pattern_kind::put},
                                     command::choice{"get", pattern_kind::get}};

struct settings {
  command::comp_net_settings common;
  pattern_kind pattern = pattern_kind::put;
  message_shape shape{.rounds = 1000, .words = 8};
};

struct node_outcome {
  double seconds = 0;
  std::uint64_t wrong = 0;
};

constexpr std::uint32_t group_size = 64; // ComP-Net §5.2
constexpr std::uint32_t most_words = 1U << 20;

result<void> play(comp_net_node& node, settings const& s, mailboxes const& m) {
  if (!node.has_device_calls())
    return host_player(node, m, s.common.work_group_count, group_size).play(s.pattern);
  auto const groups = comp_net_node::groups(s.common.work_group_count, group_size);
  auto const net = std::ref(node.net.device());
  auto const done = s.pattern == pattern_kind::put ? node.gpu.run(groups, ping_pong_wave{}, m, net)
                                                   : node.gpu.run(groups, get_wave{}, m, net);
  done.or_throw();
  return {};
}

result<node_outcome> run_one(comp_net_node& node, settings const& s) {
  std::uint32_t const groups = s.common.work_group_count;
  std::uint64_t const words = std::uint64_t{groups} * s.shape.words;
  auto const inbox = node.host().malloc<std::uint64_t>(words);
  if (!inbox)
    return inbox.error();
  auto const signals = node.host().malloc<std::uint64_t>(groups);
  if (!signals)
    return signals.error();
  auto outbox = node.gpu.allocate<std::uint64_t>(words, "outbox");
  auto checks = node.gpu.allocate<std::uint64_t>(groups, "checks");
  std::ranges::fill(*signals, 0);
  std::ranges::fill(checks.host(), 0);
  mailboxes const m{s.shape, emu::global<std::uint64_t>(inbox->data()), outbox.global(),
                    emu::global<std::uint64_t>(signals->data()), checks.global()};
  for (std::uint32_t g = 0; g < groups; ++g)
    fill(s.shape, inbox->data() + m.place(g), first_word(s.shape, node.id, g, 0));
  if (auto const all_here = node.host().barrier_all(); !all_here)
    return all_here.error();
  auto const start = clock::now();
  if (auto const played = play(node, s, m); !played)
    return played.error();
  node_outcome out{.seconds = std::chrono::duration<double>(clock::now() - start).count()};
  std::uint32_t const partner = partner_of(net::pe{node.id}, node.count).id;
  for (std::uint32_t g = 0; g < groups; ++g)
    out.wrong +=
        checks.host()[g] != reference(s.shape, partner, g, s.pattern == pattern_kind::get) ? 1 : 0;
  return out;
}

command::program_result describe(settings const& s, command::run_options const& o,
                                 node_outcome const& sum) {
  command::program_result r;
  r.is_checked = true;
  r.wrong_count = sum.wrong;
  command::add_settings(r, s.common);
  r.settings.push_back({"pattern", command::name_of(pattern_choices, s.pattern)});
  std::uint64_t const messages =
      std::uint64_t{s.shape.rounds} * s.common.work_group_count * o.node_count;
  // There is one under way in each pair's work-groups: half a round trip. A get is a whole one.
  double const hops = s.pattern == pattern_kind::put ? 2 : 1;
  r.figures = {{"message", std::uint64_t{s.shape.words} * 8, "B"},
               {"messages", messages, ""},
               {"time", sum.seconds * 1e3, "ms"},
               {"latency", sum.seconds * 1e6 / s.shape.rounds / hops, "us"},
               {"messages/s", static_cast<double>(messages) / sum.seconds / 1e6, "M/s"}};
  return r;
}

std::size_t heap_bytes(settings const& s) {
  return (std::size_t{s.shape.words} + 8) * 8 * s.common.work_group_count; // signals, rounded up
}

result<command::program_result> run(command::run_options const& o, settings const& s) {
  auto const all = command::gather_outcomes<node_outcome>(
      o, s.common, heap_bytes(s), [&](comp_net_node& node) { return run_one(node, s); });
  if (!all)
    return all.error();
  node_outcome total;
  for (node_outcome const& one : *all) {
    total.seconds = std::max(total.seconds, one.seconds);
    total.wrong += one.wrong;
  }
  return describe(s, o, total);
}

/// What a node sends is as large as what it receives.
void check(command::run_options const& o, settings const& s) {
  command::need_memory(o, "--nodes, --work-groups, --words", 2 * heap_bytes(s));
  command::check_groups(o, s.common, group_size);
}

command::program_call add_options(CLI::App& app) {
  auto const s = std::make_shared<settings>();
  command::add_comp_net_options(app, s->common);
  command::add_choice(app, "--pattern", s->pattern, pattern_choices,
                      "messages to and fro, or each fetches from the other");
  command::add_number(app, "--rounds", s->shape.rounds, 1, 1U << 30, "of each work-group");
  command::add_number(app, "--words", s->shape.words, 1, most_words, "of 8 bytes, in a message");
  command::check_when_read(app, [s, &app] { command::check(app, s->common); });
  return {.check = [s](command::run_options const& o) { check(o, *s); },
          .run = [s](command::run_options const& o) { return run(o, *s); }};
}

} // namespace

command::program program() {
  return {.name = "ping_pong",
          .summary = "messages to and fro between pairs of nodes, through ComP-Net",
          .examples = "Examples:\n"
                      "  quarry run ping_pong --nodes 2\n"
                      "  quarry run ping_pong --nodes 2 --configuration inter_kernel --words 1\n"
                      "  quarry run ping_pong --nodes 2 --pattern get --work-groups 1\n"
                      "  quarry run ping_pong --nodes 2 --pattern get --work-groups 480 "
                      "--compute-units 12 --service-threads 2\n"
                      "  quarry run ping_pong --nodes 2 --polling-rounds 32 --ring-entries 8\n",
          .add_options = &add_options,
          .draws = false};
}

} // namespace quarry::ping_pong
