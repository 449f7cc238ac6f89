// SPDX-License-Identifier: Apache-2.0
#include "transport_leaving_contract.hpp"

#include <quarry/net/in_process.hpp>

#include <chrono>
#include <stdexcept>
#include <thread>

using namespace quarry::net;

namespace {

contract::ends make(std::uint32_t pe_count) {
  contract::ends all;
  for (auto& end : make_in_process(pe_count))
    all.push_back(std::move(end));
  return all;
}

} // namespace

TEST_SUITE("net.in_process") {
  TEST_CASE("in-process: delivery") {
    contract::delivers(make);
  }
  TEST_CASE("in-process: limits") {
    contract::limits(make);
  }
  TEST_CASE("in-process: ends") {
    contract::ends_well_or_says_so(make);
  }
  TEST_CASE("in-process: leaving") {
    contract::finishes_alone(make);
  }

  TEST_CASE("a pair has room for as many messages as it was made with, and no other pair pays") {
    auto const all = make_in_process(2, 3);
    for (int i = 0; i < 3; ++i)
      CHECK(all[0]->try_send(pe{1}, {}, {}).value());
    CHECK_FALSE(all[0]->has_room(pe{1}));
    CHECK(all[0]->has_room(pe{0}));
    CHECK_FALSE(all[0]->try_send(pe{1}, {}, {}).value());
    CHECK(all[0]->try_send(pe{0}, {}, {}).value());
    CHECK(all[1]->try_send(pe{1}, {}, {}).value());
    std::size_t came = 0;
    CHECK(all[1]->poll([&](auto...) { ++came; }).value() == 4);
    CHECK(came == 4);
    CHECK(all[0]->try_send(pe{1}, {}, {}).value());
  }

  TEST_CASE("who was refused to send is woken by room, and does not sleep where it has come") {
    using clock = std::chrono::steady_clock;
    constexpr auto for_long = std::chrono::seconds(60);
    auto const all = make_in_process(2, 1);
    for (bool const is_there_before : {true, false}) {
      CAPTURE(is_there_before);
      REQUIRE(all[0]->try_send(pe{1}, {}, {}).value());
      REQUIRE_FALSE(all[0]->try_send(pe{1}, {}, {}).value());
      auto const begin = clock::now();
      {
        auto const take = [&all] { static_cast<void>(all[1]->poll([](auto...) {})); };
        std::jthread takes;
        if (is_there_before)
          take();
        else
          takes = std::jthread(take);
        all[0]->wait(for_long);
      }
      CHECK(clock::now() - begin < for_long / 2);
    }
  }

  TEST_CASE("a pe that does not exist has no room to wait for, whoever else has none") {
    auto const all = make_in_process(2, 1);
    for (auto const& end : all)
      for (std::uint32_t const target : {0U, 1U})
        CHECK(end->try_send(pe{target}, {}, {}).value());
    for (auto const& end : all) {
      CHECK_FALSE(end->has_room(pe{0}));
      CHECK_FALSE(end->has_room(pe{1}));
      for (std::uint32_t const nobody : {2U, 3U, 4U, ~0U}) {
        CHECK(end->has_room(pe{nobody}));
        CHECK(end->try_send(pe{nobody}, {}, {}).error().code == net_errc::no_such_pe);
      }
    }
  }

  TEST_CASE("a network of no pe, or without room, is refused") {
    CHECK_THROWS_AS((void)make_in_process(0), std::invalid_argument);
    CHECK_THROWS_AS((void)make_in_process(2, 0), std::invalid_argument);
  }

  TEST_CASE("who leaves because another one has left is not taken for the cause") {
    auto all = make_in_process(4);
    all[2].reset();
    all[0].reset();
    for (std::uint32_t const left : {1U, 3U}) {
      auto const heard = all[left]->poll([](auto...) {});
      REQUIRE(!heard);
      CHECK(heard.error().what == "pe 2 left without finishing");
      CHECK(all[left]->finish().error().what == heard.error().what);
    }
  }
}
