// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/comp_net/command.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace quarry::net::comp_net;

TEST_SUITE("net.comp_net_command") {
  TEST_CASE("every operation has a name of its own: what faults say was given up") {
    constexpr operation all[] = {operation::put,    operation::get,   operation::put_signal,
                                 operation::atomic, operation::quiet, operation::fence};
    std::set<std::string> names;
    for (operation const o : all)
      CHECK(names.insert(to_string(o)).second);
    CHECK(std::string(to_string(operation::put_signal)) == "put_signal");
    CHECK(std::string(to_string(operation::fence)) == "fence");
  }

  TEST_CASE("flags are told apart") {
    command c;
    CHECK_FALSE(c.has(command::is_blocking));
    CHECK_FALSE(c.has(command::is_inline));
    c.flags = command::is_inline;
    CHECK_FALSE(c.has(command::is_blocking));
    CHECK(c.has(command::is_inline));
    c.flags |= command::is_blocking;
    CHECK(c.has(command::is_blocking));
    CHECK(c.has(command::is_inline));
  }

  TEST_CASE("payload that goes inline fits where the address of another would be") {
    CHECK(command::most_inline_bytes == sizeof(command::local));
  }
}
