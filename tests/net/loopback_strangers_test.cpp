// SPDX-License-Identifier: Apache-2.0
// Who comes to a job that is being made: strangers are sent away, impossible jobs are refused.
#include "raw_peer.hpp"
#include "transport_contract.hpp"

#include <quarry/net/loopback.hpp>

#include <unistd.h>

using namespace quarry::net;
using namespace std::chrono_literals;

namespace {

bool contains(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

/// Opens pe 1's end against a listener that answers with `answer`.
quarry::error open_against(std::function<void(wire::greeting&)> const& change) {
  raw::two_jobs pair;
  std::jthread const impostor([&] {
    auto caller = raw::peer::accept(pair.jobs[0].listen_fd);
    caller.read(sizeof(wire::greeting));
    auto answer = raw::greeting_of(pair.jobs[0], 0);
    change(answer);
    caller.send_object(answer);
    (void)caller.is_sent_away();
  });
  job mine = pair.jobs[1];
  mine.listen_fd = ::dup(mine.listen_fd);
  auto const opened = loopback::open(mine);
  ::close(pair.jobs[0].listen_fd);
  REQUIRE(opened.has_error());
  return opened.error();
}

} // namespace

TEST_SUITE("net.loopback_strangers") {
  TEST_CASE("two that were started with other options say so at once") {
    raw::two_jobs pair;
    job jobs[2] = {pair.jobs[0], pair.jobs[1]};
    jobs[0].terms = "gups\n--table-size 5";
    jobs[1].terms = "gups\n--table-size 6";
    jobs[1].listen_fd = ::dup(jobs[1].listen_fd);
    raw::captured_stderr said;
    quarry::error ends[2];
    {
      std::vector<std::jthread> both;
      for (int i : {0, 1})
        both.emplace_back([&, i] {
          auto const end = loopback::open(jobs[i]);
          if (end.has_error())
            ends[i] = end.error();
        });
    }
    for (int i : {0, 1}) {
      CHECK(ends[i].code == net_errc::mismatched_job);
      CHECK(ends[i].what == (i == 0
                                 ? "loopback: start: pe 1 was started with other options than pe 0"
                                 : "loopback: start: pe 0 was started with other options than "
                                   "pe 1"));
    }
  }

  TEST_CASE("whoever says nothing of its options is not asked") {
    raw::two_jobs pair;
    job jobs[2] = {pair.jobs[0], pair.jobs[1]};
    jobs[0].terms = "gups";
    jobs[1].listen_fd = ::dup(jobs[1].listen_fd);
    bool is_open[2] = {};
    {
      std::vector<std::jthread> both;
      for (int i : {0, 1})
        both.emplace_back([&, i] { is_open[i] = loopback::open(jobs[i]).has_value(); });
    }
    CHECK(is_open[0]);
    CHECK(is_open[1]);
  }

  TEST_CASE("strangers are sent away, said so, and hold nobody up") {
    struct stranger {
      char const* says;
      std::function<void(wire::greeting&)> change;
      bool knows_token = false;
    };
    auto const refused = [](std::uint32_t how) { // an answer, from who was never called
      return [how](auto& g) {
        g.pe = how;
        g.token_high = g.token_low = 0;
      };
    };
    std::vector<stranger> const strangers{
        {"token", [](auto& g) { g.token_low ^= 1; }},
        {"token", [](auto& g) { g.token_high ^= std::uint64_t{1} << 63; }},
        {"version 1", [](auto& g) { g.version = 1; }},
        {"does not speak the protocol", [](auto& g) { g.magic ^= 0x20; }},
        {"token", refused(wire::refused_token)},
        {"token", refused(wire::refused_pe)},
        {"token", refused(wire::refused_terms)},
        {"pe 0 of 2", [](auto& g) { g.pe = 0; }, true},
        {"pe 2 of 2", [](auto& g) { g.pe = 2; }, true},
        {"pe 1 of 3", [](auto& g) { g.pe_count = 3; }, true},
        {"pe 4294967293 of 2", [](auto& g) { g.pe = wire::refused_terms; }, true},
    };
    for (auto const& [says, change, knows_token] : strangers) {
      CAPTURE(says);
      raw::captured_stderr said;
      raw::two_jobs pair;
      auto greeting = raw::greeting_of(pair.real(), 1);
      change(greeting);
      auto odd = raw::peer::connect(pair.port());
      odd.send_object(greeting);
      auto peer = raw::peer::connect(pair.port());
      peer.send_object(raw::greeting_of(pair.real(), 1));
      auto const end = loopback::open(pair.real());
      REQUIRE(end.has_value());
      // It may be told why, but not the token.
      auto const told = odd.read(sizeof(wire::greeting));
      if (told.size() == sizeof(wire::greeting)) {
        wire::greeting g;
        std::memcpy(&g, told.data(), sizeof g);
        CHECK(((g.token_high | g.token_low) != 0) == knows_token);
      }
      CHECK(odd.is_sent_away());
      CHECK(peer.read(sizeof(wire::greeting)).size() == sizeof(wire::greeting));
      auto const lines = said.lines();
      REQUIRE(lines.size() == 1);
      CHECK(contains(lines[0], says));
      CHECK(contains(lines[0], "pe 0"));
    }
  }

  TEST_CASE("a pe that is there already is not replaced by a second one") {
    raw::captured_stderr said;
    auto jobs = make_local_jobs(3, 10s).value();
    auto const port = jobs[0].endpoints[0].port;
    auto first = raw::peer::connect(port);
    first.send_object(raw::greeting_of(jobs[0], 1));
    std::unique_ptr<loopback> end;
    std::jthread opener([&] { end = loopback::open(jobs[0]).value(); });
    REQUIRE(first.read(sizeof(wire::greeting)).size() == sizeof(wire::greeting));
    auto second = raw::peer::connect(port);
    second.send_object(raw::greeting_of(jobs[0], 1));
    (void)second.read(sizeof(wire::greeting)); // an answer without the token, or none
    CHECK(second.is_sent_away());
    auto third = raw::peer::connect(port);
    third.send_object(raw::greeting_of(jobs[0], 2));
    opener.join();
    auto const hello = raw::frame({}, 0);
    first.send(hello);
    std::size_t came = 0;
    CHECK_FALSE(
        contract::poll_until(
            *end, [&](pe source, auto) { came += source == pe{1}; }, [&] { return came == 1; })
            .has_value());
    auto const lines = said.lines();
    REQUIRE(lines.size() == 1);
    CHECK(contains(lines[0], "pe 1"));
    ::close(jobs[1].listen_fd);
    ::close(jobs[2].listen_fd);
  }

  TEST_CASE("hundreds who say nothing, half a word or nonsense do not keep the job from its peer") {
    raw::captured_stderr said;
    raw::two_jobs pair;
    std::mt19937 random(1);
    std::vector<raw::peer> crowd;
    for (int i = 0; i < 600; ++i) {
      crowd.push_back(raw::peer::connect(pair.port()));
      auto greeting = raw::greeting_of(pair.real(), 1);
      auto bytes = std::as_writable_bytes(std::span(&greeting, 1));
      if (i % 3 == 1)
        crowd.back().send(bytes.first(random() % 32));
      else if (i % 3 == 2) {
        bytes[random() % 32] ^= static_cast<std::byte>(1 + random() % 255);
        crowd.back().send(bytes);
      }
    }
    auto peer = raw::peer::connect(pair.port());
    peer.send_object(raw::greeting_of(pair.real(), 1));
    auto const end = loopback::open(pair.real());
    REQUIRE(end.has_value());
    CHECK(peer.read(sizeof(wire::greeting)).size() == sizeof(wire::greeting));
    // Once the mesh is made nobody is a guest any more: the silent ones are sent away as well.
    for (raw::peer& one : crowd) {
      (void)one.read(sizeof(wire::greeting));
      CHECK(one.is_sent_away());
    }
    CHECK_THROWS(raw::peer::connect(pair.port()));
    CHECK(said.lines().size() >= 1);
  }

  TEST_CASE("who calls another job, another version or no pe at all is told so at once") {
    auto const other_token = open_against([](auto& g) { g.token_low ^= 1; });
    CHECK(other_token.code == net_errc::bad_token);
    auto const other_version = open_against([](auto& g) { g.version = 7; });
    CHECK(other_version.code == net_errc::version_mismatch);
    CHECK(contains(other_version.what, "version 7"));
    auto const other_magic = open_against([](auto& g) { g.magic = 0; });
    CHECK(other_magic.code == net_errc::bad_handshake);
    auto const other_pe = open_against([](auto& g) { g.pe = 5; });
    CHECK(other_pe.code == net_errc::bad_handshake);
    auto const refused = open_against([](auto& g) { g.pe = wire::refused_terms; });
    CHECK(refused.code == net_errc::mismatched_job); // who says so knows the token
    auto const squatter = open_against([](auto& g) {
      g.pe = wire::refused_terms;
      g.token_high = g.token_low = 0;
    });
    CHECK(squatter.code == net_errc::bad_token);
    for (auto const& e : {other_token, other_version, other_magic, other_pe, refused, squatter})
      CHECK(contains(e.what, "pe 0"));
  }

  TEST_CASE("two pes with different tokens both end with an error, the caller with bad_token") {
    raw::captured_stderr said;
    auto jobs = make_local_jobs(2, 300ms).value();
    jobs[1].token = job_token::random();
    std::vector<quarry::error> errors(2);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 2; ++i)
      threads.emplace_back([&, i] {
        if (auto const opened = loopback::open(jobs[i]); !opened)
          errors[i] = opened.error();
      });
    threads.clear();
    CHECK(errors[0].code == net_errc::timeout);
    CHECK(contains(errors[0].what, "pe 1"));
    CHECK(errors[1].code == net_errc::bad_token);
    CHECK(said.lines().size() == 1);
  }

  TEST_CASE("a pe that never comes is a timeout that names it") {
    raw::two_jobs pair(100ms);
    auto const opened = loopback::open(pair.real());
    REQUIRE(opened.has_error());
    CHECK(opened.error().code == net_errc::timeout);
    CHECK(contains(opened.error().what, "pe 1"));
    CHECK(contains(opened.error().what, "100 ms"));
  }

  TEST_CASE("a port in use is said by its number") {
    raw::two_jobs pair;
    job again = pair.real();
    again.listen_fd = -1;
    auto const opened = loopback::open(again);
    REQUIRE(opened.has_error());
    CHECK(opened.error().code == net_errc::port_in_use);
    CHECK(contains(opened.error().what, std::to_string(pair.port())));
    ::close(pair.jobs[0].listen_fd);
  }

  TEST_CASE(
      "any other address than 127.0.0.1 is refused, and the descriptor is closed all the same") {
    for (auto const* address : {"0.0.0.0", "192.168.0.1", "127.0.0.2"}) {
      raw::two_jobs pair;
      pair.jobs[0].endpoints[1].address = address;
      auto const opened = loopback::open(pair.real());
      REQUIRE(opened.has_error());
      CHECK(opened.error().code == net_errc::forbidden_address);
      CHECK(contains(opened.error().what, address));
      CHECK_THROWS(raw::peer::connect(pair.port()));
    }
  }

  TEST_CASE("a job that cannot be one is refused before anything happens") {
    raw::two_jobs const pair;
    auto const refused = [&](auto change) {
      job j = pair.real();
      j.listen_fd = -1;
      change(j);
      auto const opened = loopback::open(j);
      return opened.has_error() && opened.error().code == net_errc::bad_environment;
    };
    CHECK(refused([](job& j) { j.pe_count = 0; }));
    CHECK(refused([](job& j) { j.self = pe{2}; }));
    CHECK(refused([](job& j) { j.endpoints.pop_back(); }));
    CHECK(refused([](job& j) { j.listen_fd = 0; })); // stdin is no listening socket
    ::close(pair.jobs[0].listen_fd);
  }
}
