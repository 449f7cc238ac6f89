// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/comp_net/configuration.hpp>

#include <doctest/doctest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace quarry::net::comp_net;
using quarry::emu::scope;

TEST_SUITE("net.comp_net_configuration") {
  TEST_CASE("there are the paper's five, in its order") {
    std::vector<std::string_view> names;
    for (configuration const* const c : configurations)
      names.push_back(c->name);
    CHECK(names == std::vector<std::string_view>{"cpu", "inter_kernel", "apu", "dgpu", "comp_net"});
  }

  TEST_CASE("each is found by its name") {
    for (configuration const* const c : configurations)
      CHECK(&find_configuration(c->name) == c);
    CHECK(&find_configuration("comp_net") == &on_command_processor);
  }

  TEST_CASE("another name is refused, with those that there are") {
    for (char const* const name : {"", "CPU", "comp_net ", "gpu"})
      CHECK_THROWS_WITH_AS(static_cast<void>(find_configuration(name)),
                           ("comp_net: no configuration '" + std::string(name) +
                            "'; there are: cpu, inter_kernel, apu, dgpu, comp_net")
                               .c_str(),
                           std::invalid_argument);
  }

  TEST_CASE("rings meet in the L2 where the service runs behind it, and only there") {
    for (configuration const* const c : configurations) {
      CAPTURE(c->name);
      CHECK((c->ring_scope == scope::agent) == (c->place == service_place::command_processor));
      CHECK((c->ring_scope == scope::agent || c->ring_scope == scope::system));
    }
  }

  TEST_CASE("kernels have operations of their own where there is a service, and a GPU") {
    std::set<std::string_view> with;
    for (configuration const* const c : configurations) {
      if (c->has_device_calls())
        with.insert(c->name);
      CHECK((c->uses_gpu || !c->has_device_calls()));
    }
    CHECK(with == std::set<std::string_view>{"apu", "dgpu", "comp_net"});
  }
}
