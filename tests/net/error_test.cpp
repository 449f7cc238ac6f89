// SPDX-License-Identifier: Apache-2.0
// What provokes each enumerator is tested where it belongs: loopback, transport, heap, job.
#include <quarry/net/error.hpp>

#include <doctest/doctest.h>

#include <set>
#include <string>

using namespace quarry::net;

TEST_SUITE("net.error") {
  TEST_CASE("every enumerator has a sentence of its own, and no other value has") {
    std::set<std::string> sentences;
    auto const last = static_cast<int>(net_errc::bad_environment);
    for (int code = 1; code <= last; ++code)
      sentences.insert(net_category().message(code));
    CHECK(sentences.size() == static_cast<std::size_t>(last));
    CHECK(sentences.count("an unknown error") == 0);
    CHECK(net_category().message(0) == "an unknown error");
    CHECK(net_category().message(last + 1) == "an unknown error");
  }

  TEST_CASE("an error code compares equal to its enumerator only") {
    std::error_code const code = net_errc::peer_lost;
    CHECK(code == net_errc::peer_lost);
    CHECK(code != net_errc::timeout);
    CHECK(code != std::error_code{static_cast<int>(net_errc::peer_lost), std::generic_category()});
    CHECK(std::string{code.category().name()} == "quarry.net");
  }

  TEST_CASE("a result's value() throws the code with its sentence") {
    quarry::result<int> const failed = make_error(net_errc::peer_lost, "pe 3 reset its connection");
    REQUIRE_FALSE(failed.has_value());
    try {
      (void)failed.value();
      FAIL("value() of an error returned");
    } catch (std::system_error const& e) {
      CHECK(e.code() == net_errc::peer_lost);
      CHECK(std::string{e.what()}.find("pe 3 reset its connection") != std::string::npos);
    }
  }
}
