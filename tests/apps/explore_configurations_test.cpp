// SPDX-License-Identifier: Apache-2.0
// The programs of ComP-Net's evaluation in each of its configurations: kernels that communicate,
// and hosts that do so between kernels or without a GPU.
#include "repetitions.hpp"

#include <quarry/explore/target.hpp>
#include <quarry/net/comp_net/configuration.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace {

using namespace quarry;
using namespace quarry::exploration;

/// As `quarry explore` has it.
target const& in_configuration(std::string program, std::string_view configuration) {
  if (configuration != net::comp_net::on_command_processor.name)
    program.append("-").append(configuration);
  std::ranges::replace(program, '_', '-');
  return find_target(program);
}

/// Its own orders are enough, and it can do without none of them.
void check_orders(std::string const& program) {
  for (auto const* const configuration : net::comp_net::configurations) {
    target const& t = in_configuration(program, configuration->name);
    CAPTURE(t.name);
    verdict const v =
        explore_target(t, nullptr, {.executions = quarry_test::fewer(100U), .jobs = 2});
    CHECK_MESSAGE(v, v.to_string());
    CHECK(v.inconclusive == 0);
    std::set<std::string> unnoticed;
    for (weakening const& w : t.weakenings)
      if (explore_target(t, &w, {.executions = 30, .shrinks = false, .diagnoses = false}))
        unnoticed.insert(w.name());
    CHECK(unnoticed == std::set<std::string>{});
  }
}

} // namespace

TEST_SUITE("apps.explore_configurations") {
  TEST_CASE("allreduce: right as it is, and every order is needed, in all five configurations") {
    check_orders("allreduce");
  }
  TEST_CASE("allreduce on three nodes: the same") {
    check_orders("allreduce-three");
  }
  TEST_CASE("ping_pong, with puts and with gets: the same") {
    check_orders("ping-pong");
    check_orders("ping-pong-get");
  }
  TEST_CASE("jacobi: the same") {
    check_orders("jacobi");
  }
  TEST_CASE("sgd: the same") {
    check_orders("sgd");
  }
  TEST_CASE("apu and dgpu come to the same executions, comp_net to others") {
    for (char const* const name : {"allreduce", "ping-pong", "jacobi"}) {
      CAPTURE(name);
      auto const hash = [&](std::string_view configuration) {
        return explore_target(in_configuration(name, configuration), nullptr, {.executions = 20})
            .trace_hash;
      };
      CHECK(hash(net::comp_net::apu.name) == hash(net::comp_net::dgpu.name));
      CHECK(hash(net::comp_net::apu.name) != hash(net::comp_net::on_command_processor.name));
    }
  }
  TEST_CASE("these are all programs that there are") {
    std::set<std::string> programs;
    for (target const& t : targets())
      if (t.is_program)
        programs.insert(t.name);
    std::set<std::string> expected;
    for (char const* const name :
         {"allreduce", "allreduce-three", "ping-pong", "ping-pong-get", "jacobi", "sgd"})
      for (auto const* const configuration : net::comp_net::configurations)
        expected.insert(in_configuration(name, configuration->name).name);
    CHECK(programs == expected);
  }
}
