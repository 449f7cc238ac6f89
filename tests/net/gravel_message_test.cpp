// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/gravel_message.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <set>

using namespace quarry::net;
using namespace quarry::net::gravel;

namespace {

constexpr command commands[] = {command::increment, command::add, command::put,
                                command::active_message};

} // namespace

TEST_SUITE("net.gravel_message") {
  TEST_CASE("a row names a node and a word of it, up to the limits of both") {
    std::set<std::uint64_t> rows;
    for (std::uint32_t const node : {0U, 1U, 2U, 255U, 32'768U, 65'535U})
      for (std::uint32_t const word : {0U, 1U, 65'535U, 65'536U, 1U << 31, ~0U}) {
        std::uint64_t const row = remote_word::encode(pe{node}, word);
        CHECK(remote_word::target(row) == pe{node});
        CHECK(remote_word::word(row) == word);
        CHECK(rows.insert(row).second); // no two places have one row
      }
  }

  TEST_CASE("lanes may make rows themselves: a node above, and an index added to a base below") {
    std::uint64_t const base = remote_word::encode(pe{0}, 1000);
    CHECK((std::uint64_t{7} << remote_word::pe_shift) + (base + 24) ==
          remote_word::encode(pe{7}, 1024));
  }

  TEST_CASE("a tag says the command, and the handler of an active message") {
    std::set<std::uint32_t> tags;
    for (command const c : commands)
      for (std::uint32_t const handler : {0U, 1U, 255U, 256U, (1U << 24) - 1}) {
        std::uint32_t const tag = package_tag::encode(c, handler);
        CHECK(package_tag::what(tag) == c);
        CHECK(package_tag::handler(tag) == handler);
        CHECK(tags.insert(tag).second);
      }
    CHECK(package_tag::handler(package_tag::encode(command::active_message, 1U << 24)) ==
          (1U << 24) - 1); // which nobody has added, instead of handler 0
    CHECK(package_tag::encode(command::put) == package_tag::encode(command::put, 0));
  }

  TEST_CASE("no tag is 0: an aggregator knows by it that no run is open") {
    for (command const c : commands)
      CHECK(package_tag::encode(c) != 0);
  }
}
