// SPDX-License-Identifier: Apache-2.0
// The parts of ComP-Net's programs that need no network; meson.build runs them on every one.
#include "running_command.hpp"

#include <doctest/doctest.h>

#include <allreduce/reference.hpp>
#include <cmath>
#include <jacobi/reference.hpp>
#include <ping_pong/reference.hpp>
#include <regex>
#include <set>
#include <sgd/reference.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace quarry;

namespace {

command_outcome quarry_run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "run");
  return run_command("QUARRY_COMMAND", std::move(arguments));
}

} // namespace

TEST_SUITE("apps.comp_net_programs") {
  TEST_CASE("ping_pong: everybody is the partner of its partner, and the odd one its own") {
    for (std::uint32_t count = 1; count <= 9; ++count)
      for (std::uint32_t id = 0; id < count; ++id) {
        net::pe const other = ping_pong::partner_of(net::pe{id}, count);
        CHECK(other.id < count);
        CHECK(ping_pong::partner_of(other, count) == net::pe{id});
        CHECK((other.id == id) == (id == count - 1 && count % 2 == 1));
      }
  }

  TEST_CASE("ping_pong: no two messages have the same words, and every word and round counts") {
    ping_pong::message_shape const s{.rounds = 5, .words = 3};
    std::set<std::uint64_t> words;
    for (std::uint32_t from = 0; from < 4; ++from)
      for (std::uint32_t group = 0; group < 3; ++group)
        for (std::uint32_t round = 0; round <= s.rounds; ++round)
          for (std::uint64_t i = 0; i < s.words; ++i)
            words.insert(ping_pong::word_of(ping_pong::first_word(s, from, group, round), i));
    CHECK(words.size() == 4 * 3 * 6 * 3);
    CHECK(ping_pong::reference(s, 0, 0, false) != ping_pong::reference(s, 0, 0, true));
    CHECK(ping_pong::reference(s, 0, 0, false) != ping_pong::reference(s, 1, 0, false));
  }

  TEST_CASE("allreduce: segments make up the vector, and each is summed by every node once") {
    for (std::uint32_t const nodes : {1U, 2U, 3U, 8U})
      for (std::uint32_t const count : {40U, 41U, 1000U}) {
        allreduce::rings const r{nodes, 5, count, {}, {}, {}};
        std::uint32_t next = 0;
        for (std::uint32_t ring = 0; ring < r.ring_count; ++ring)
          for (std::uint32_t i = 0; i < nodes; ++i) {
            allreduce::range const s = r.segment(ring, i);
            CHECK(s.first == next);
            CHECK(s.count > 0);
            next += s.count;
          }
        CHECK(next == count);
        for (std::uint32_t node = 0; node < nodes; ++node) {
          std::set<std::uint32_t> added, replaced;
          for (std::uint32_t step = 0; step < r.steps(); ++step)
            (r.adds(step) ? added : replaced).insert(r.received(2, node, step).first);
          CHECK(added.size() == nodes - 1);
          CHECK(replaced.size() == nodes - 1);
          CHECK(!added.contains(r.segment(2, node).first));
          CHECK(!replaced.contains(r.segment(2, node + 1).first)); // whole here already
        }
      }
  }

  TEST_CASE("allreduce: the reference is a sum") {
    allreduce::rings const r{3, 2, 20, {}, {}, {}};
    std::vector<std::vector<float>> parts(3, std::vector<float>(20));
    for (std::size_t node = 0; node < 3; ++node)
      for (std::size_t i = 0; i < 20; ++i)
        parts[node][i] = static_cast<float>(100 * node + i); // exact
    auto const sums = allreduce::reference(r, parts);
    for (std::size_t i = 0; i < 20; ++i)
      CHECK(sums[i] == static_cast<float>(300 + 3 * i));
  }

  TEST_CASE("jacobi: the reference relaxes as by hand, and ends where it changes no more") {
    jacobi::grid_shape s{.node_count = 1,
                         .strips_per_node = 2,
                         .rows = 1,
                         .columns = 1,
                         .most_sweeps = 2,
                         .sweeps_per_check = 1,
                         .tolerance = 1e-9};
    auto const two = jacobi::reference(s); // two cells, one above the other, below a 1
    CHECK(two.sweeps == 2);
    CHECK(two.cells[1 * 3 + 1] == 0.25);
    CHECK(two.cells[2 * 3 + 1] == 0.0625);
    CHECK(two.change == 0.0625);
    s.most_sweeps = 1000;
    auto const all = jacobi::reference(s); // a = (1 + b) / 4, b = a / 4
    CHECK(all.sweeps < 100);
    CHECK(all.change <= 1e-9);
    CHECK(std::abs(all.cells[1 * 3 + 1] - 4.0 / 15) < 1e-8);
    CHECK(std::abs(all.cells[2 * 3 + 1] - 1.0 / 15) < 1e-8);
    s.sweeps_per_check = 7;
    CHECK(jacobi::reference(s).sweeps % 7 == 0);
  }

  TEST_CASE("jacobi: what a strip sends is what its neighbour waits for") {
    jacobi::grid g{};
    g.shape = {2, 3, 4, 5, 1, 1, 0};
    std::vector<double> cells(g.shape.node_cells());
    std::vector<std::uint64_t> edges(std::size_t{g.shape.strips_per_node} * 2 * 2);
    g.cells = emu::global(cells.data());
    g.edges = emu::global(edges.data());
    CHECK_FALSE(jacobi::halo_of(g, 0, 0, jacobi::side::above, 1).is_there);
    CHECK_FALSE(jacobi::halo_of(g, 1, 2, jacobi::side::below, 1).is_there);
    for (std::uint64_t const after : {1U, 2U, 3U}) {
      auto const down = jacobi::halo_of(g, 0, 2, jacobi::side::below, after);
      CHECK(down.is_there);
      CHECK(down.target == net::pe{1});
      CHECK(down.from.get() == g.row(2, after, 4).get());
      CHECK(down.to.get() == g.row(0, after, 0).get());
      CHECK(down.signal.get() == g.edge(0, jacobi::side::above, after).get());
      auto const up = jacobi::halo_of(g, 1, 0, jacobi::side::above, after);
      CHECK(up.target == net::pe{0});
      CHECK(up.from.get() == g.row(0, after, 1).get());
      CHECK(up.to.get() == g.row(2, after, 5).get());
      CHECK(up.signal.get() == g.edge(2, jacobi::side::below, after).get());
    }
  }

  TEST_CASE("sgd: the gradient is that of the cross entropy") {
    auto const p = sgd::first_parameters(3);
    sgd::sample const s = sgd::make_sample(3, 5);
    sgd::parameters gradient{};
    sgd::network(p).add_gradient(s, gradient);
    auto const loss = [&](sgd::parameters const& q) {
      double const likely = sgd::network(q)(s);
      return -std::log(s.label > 0.5F ? likely : 1 - likely);
    };
    for (std::uint32_t i = 0; i < sgd::parameter_count; ++i) {
      constexpr float step = 1e-2F;
      auto more = p, less = p;
      more[i] += step;
      less[i] -= step;
      CHECK(std::abs((loss(more) - loss(less)) / (2 * step) - gradient[i]) < 2e-3);
    }
  }

  TEST_CASE("sgd: one process learns what it should, which a straight line could not") {
    sgd::training t{.seed = 1, .steps = 400, .batch = 64, .sample_count = 512, .rate = 1};
    CHECK(t.accuracy(sgd::reference(t)) >= 0.97);
    t.steps = 0;
    CHECK(t.accuracy(sgd::reference(t)) < 0.9);
  }

  TEST_CASE("options that do not go together are refused by name, with what is allowed") {
    struct refusal {
      std::vector<std::string> line;
      std::string message;
    };
    for (auto const& [line, message] : std::vector<refusal>{
             {{"ping_pong", "--configuration", "gpu"},
              "--configuration: read 'gpu', allowed is one of: comp_net, apu, dgpu, inter_kernel, "
              "cpu"},
             {{"ping_pong", "--pattern", "push"}, "read 'push', allowed is one of: put, get"},
             {{"ping_pong", "--words", "0"}, "--words: read '0', allowed is a whole number from 1"},
             {{"ping_pong", "--service-threads", "3"},
              "--service-threads: 3 for 2 work-groups; allowed is one for each at most"},
             {{"ping_pong", "--polling-rounds", "0"},
              "--polling-rounds: read '0', allowed is a whole number from 1 to 1000000"},
             {{"allreduce", "--ring-entries", "1025"},
              "--ring-entries: read '1025', allowed is a whole number from 1 to 1024"},
             {{"jacobi", "--ring-entries", "48"},
              "--ring-entries: is 48; allowed are powers of two up to 1024"},
             {{"sgd", "--command-processor-cores", "65"},
              "--command-processor-cores: read '65', allowed is a whole number from 1 to 64"},
             {{"sgd", "--command-processor-rounds", "0"},
              "--command-processor-rounds: read '0', allowed is a whole number from 1 to 65536"},
             {{"allreduce", "--elements", "7", "--nodes", "4"},
              "--elements: 7 for 2 rings of 4 nodes; at least 8"},
             {{"jacobi", "--rows", "7"}, "--rows: 7 for 2 work-groups; allowed are multiples"},
             {{"jacobi", "--digits", "16"},
              "--digits: read '16', allowed is a whole number from 1"},
             {{"sgd", "--nodes", "8", "--batch", "4"}, "--batch: 4 samples for 8 nodes; at least"},
             {{"sgd", "--nodes", "8", "--work-groups", "9"},
              "9 rings of 8 nodes for 65 parameters"},
         }) {
      auto const outcome = quarry_run(line);
      CAPTURE(message);
      CHECK(outcome.status == 2);
      CHECK_MESSAGE(outcome.says(message), outcome.err);
    }
  }

  TEST_CASE("work-groups that cannot all be resident are refused, not waited for") {
    auto const outcome = quarry_run({"ping_pong", "--work-groups", "100", "--compute-units", "1"});
    CHECK(outcome.status == 2);
    CHECK_MESSAGE(
        outcome.says("--work-groups: 100 of 64 work-items, which all wait for each other"),
        outcome.err);
  }

  TEST_CASE("a network that has learnt too little is a wrong answer") {
    auto const outcome = quarry_run({"sgd", "--steps", "1", "--configuration", "cpu"});
    CHECK(outcome.status == 1);
    std::regex const reason("[^]*\n(accuracy [0-9]{2}\\.[0-9]{2} %, asked for is 97 % "
                            "\\(--accuracy\\))\n# 1 wrong: FAILED: \\1\n");
    CHECK_MESSAGE(std::regex_match(outcome.out, reason), outcome.out);
  }

  TEST_CASE("a grid that the limit of sweeps has kept from its rest says so, and is right") {
    auto const jacobi = [](std::vector<std::string> line) {
      line.insert(line.begin(), {"jacobi", "--configuration", "cpu"});
      return quarry_run(std::move(line));
    };
    auto const limited = jacobi({"--sweeps", "1", "--digits", "15", "--json", "/dev/stderr"});
    CHECK(limited.status == 0);
    std::string const words =
        "not at rest: the limit of sweeps (--sweeps 1) has ended it; the last "
        "change is 0.25, more than 1e-15 (--digits 15)";
    CHECK_MESSAGE(limited.out.ends_with("\n" + words + "\n# 0 wrong: OK\n"), limited.out);
    CHECK_MESSAGE(limited.err.find("\"" + words + "\"") != std::string::npos, limited.err);
    auto const resting = jacobi({"--rows", "2", "--columns", "4", "--sweeps", "100"});
    CHECK(resting.status == 0);
    CHECK_MESSAGE(!resting.says("not at rest"), resting.out);
    CHECK(jacobi({"--help"}).says("until it is at rest or --sweeps are done"));
  }
}
