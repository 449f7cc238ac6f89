// SPDX-License-Identifier: Apache-2.0
// What every model of quarry::net::transport promises: one contract, run for each of them.
#pragma once

#include <quarry/net/error.hpp>
#include <quarry/net/transport.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace contract {

using namespace quarry::net;
using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

using ends = std::vector<std::unique_ptr<transport_port>>;
/// Makes the ends of a network of so many pes, all in this process.
using maker = std::function<ends(std::uint32_t pe_count)>;

/// No wait of a test is longer; nothing is expected to take anywhere near as long.
inline constexpr auto bound = 30s;

/// Runs `body(end)` for every pe in a thread of its own; gives what each returned: nothing, or what
/// was wrong. (doctest's assertions belong to the main thread.)
inline std::vector<std::string>
in_threads(ends& all, std::function<std::string(transport_port&)> const& body) {
  std::vector<std::string> outcome(all.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < all.size(); ++i)
    if (all[i])
      threads.emplace_back([&, i] { outcome[i] = body(*all[i]); });
  threads.clear(); // joins
  return outcome;
}

/// One message that came.
struct received {
  pe source;
  std::vector<std::byte> bytes;
};

inline transport_port::sink into(std::vector<received>& list) {
  return [&list](pe source, std::span<std::byte const> bytes) {
    list.push_back({source, {bytes.begin(), bytes.end()}});
  };
}

/// Polls `end` until `done` holds; gives what went wrong, or nothing.
inline std::optional<quarry::error> poll_until(transport_port& end,
                                               transport_port::sink const& deliver,
                                               std::function<bool()> const& done) {
  auto const deadline = clock::now() + bound;
  while (!done()) {
    auto const polled = end.poll(deliver);
    if (!polled)
      return polled.error();
    if (clock::now() > deadline)
      return make_error(net_errc::timeout, "a test waited too long");
    if (*polled == 0)
      end.wait(1ms);
  }
  return std::nullopt;
}

/// The bytes of message `number` from `source` to `target`: any mix-up of messages shows.
inline std::vector<std::byte> content(pe source, pe target, std::uint32_t number) {
  std::mt19937 random(source.id * 1'000'003u + target.id * 10'007u + number);
  auto const bytes = 12 + random() % (number % 50 == 0 ? 100'000 : 600);
  std::vector<std::byte> all(bytes);
  for (std::byte& b : all)
    b = static_cast<std::byte>(random());
  std::uint32_t const head[3] = {source.id, target.id, number};
  std::memcpy(all.data(), head, sizeof head);
  return all;
}

/// Sends `count` messages from every pe to every pe, itself too, and checks all that comes.
inline std::string exchange(transport_port& end, std::uint32_t count) {
  std::uint32_t const pes = end.pe_count();
  std::vector<std::uint32_t> sent(pes), came(pes);
  std::string wrong;
  auto const deliver = [&](pe source, std::span<std::byte const> bytes) {
    auto const expected = content(source, end.self(), came[source.id]++);
    if (!std::ranges::equal(bytes, expected))
      wrong = to_string(end.self()) + " got something else than message " +
              std::to_string(came[source.id] - 1) + " of " + to_string(source);
    if (reinterpret_cast<std::uintptr_t>(bytes.data()) % 8 != 0)
      wrong = "a payload is not 8-byte aligned";
  };
  auto const deadline = clock::now() + bound;
  auto const is_done = [&](auto const& counts) {
    return std::ranges::all_of(counts, [&](auto n) { return n >= count; });
  };
  while (wrong.empty() && !(is_done(sent) && is_done(came) && end.is_flushed())) {
    for (std::uint32_t target = 0; target < pes; ++target) {
      if (sent[target] == count)
        continue;
      auto const bytes = content(end.self(), pe{target}, sent[target]);
      // A head of 12 bytes and a body: both parts must arrive as one message.
      auto const accepted =
          end.try_send(pe{target}, std::span(bytes).first(12), std::span(bytes).subspan(12));
      if (!accepted)
        return accepted.error().what;
      sent[target] += *accepted ? 1 : 0;
    }
    auto const polled = end.poll(deliver);
    if (!polled)
      return polled.error().what;
    if (clock::now() > deadline)
      return "the exchange did not end";
  }
  return wrong;
}

inline std::string finish(transport_port& end) {
  auto const finished = end.finish();
  return finished ? "" : finished.error().what;
}

inline void all_well(std::vector<std::string> const& outcome) {
  for (std::string const& wrong : outcome)
    CHECK(wrong == "");
}

// The contract, by theme

inline void delivers(maker const& make) {
  SUBCASE("messages of a pair arrive in order, each once and whole, also to oneself") {
    ends all = make(3);
    all_well(in_threads(all, [](transport_port& end) { return exchange(end, 1000); }));
    all_well(in_threads(all, finish));
  }
  SUBCASE("a job of one pe can talk to itself and finish") {
    ends all = make(1);
    CHECK(exchange(*all[0], 100) == "");
    CHECK(all[0]->wire_bytes() == 0);
    CHECK(finish(*all[0]) == "");
  }
  SUBCASE("empty messages and the longest ones arrive as what they are") {
    ends all = make(2);
    std::vector<std::byte> longest(max_message_bytes);
    for (std::size_t i = 0; i < longest.size(); ++i)
      longest[i] = static_cast<std::byte>(i * 7 >> 3);
    std::vector<std::span<std::byte const>> const messages{{}, longest, {}, {}, longest, {}};
    all_well(in_threads(all, [&](transport_port& end) -> std::string {
      std::vector<received> came;
      std::size_t sent = 0;
      pe const other{1 - end.self().id};
      auto const deadline = clock::now() + bound;
      while (sent < messages.size() || came.size() < messages.size() || !end.is_flushed()) {
        if (sent < messages.size()) {
          auto const accepted = end.try_send(other, messages[sent], {});
          if (!accepted)
            return accepted.error().what;
          sent += *accepted ? 1 : 0;
        }
        if (auto const polled = end.poll(into(came)); !polled)
          return polled.error().what;
        if (clock::now() > deadline)
          return "it did not end";
      }
      for (std::size_t i = 0; i < messages.size(); ++i)
        if (came[i].source != other || !std::ranges::equal(came[i].bytes, messages[i]))
          return "message " + std::to_string(i) + " came changed";
      return "";
    }));
    all_well(in_threads(all, finish));
  }
  SUBCASE("a message to oneself is delivered by poll(), not by try_send()") {
    ends all = make(1);
    std::byte const one{42};
    REQUIRE(all[0]->try_send(pe{0}, {&one, 1}, {}).value());
    CHECK(all[0]->has_input());
    std::vector<received> came;
    CHECK_FALSE(poll_until(*all[0], into(came), [&] { return !came.empty(); }).has_value());
    CHECK(came.size() == 1);
    CHECK(came[0].source == pe{0});
    CHECK(came[0].bytes == std::vector{one});
    CHECK_FALSE(all[0]->has_input());
    CHECK(finish(*all[0]) == "");
  }
  SUBCASE("an answer may be sent while a message is delivered") {
    ends all = make(2);
    constexpr std::uint32_t rounds = 2000;
    all_well(in_threads(all, [&](transport_port& end) -> std::string {
      pe const other{1 - end.self().id};
      std::uint32_t number = 0;
      std::string wrong;
      auto const send = [&](std::uint32_t n) {
        auto const sent = end.try_send(other, std::as_bytes(std::span(&n, 1)), {});
        if (!sent || !*sent)
          wrong = "a ball was refused";
      };
      if (end.self() == pe{0})
        send(0);
      auto const failed = poll_until(
          end,
          [&](pe, std::span<std::byte const> bytes) {
            std::memcpy(&number, bytes.data(), sizeof number);
            if (number < rounds)
              send(++number);
          },
          [&] { return !wrong.empty() || (number + 1 >= rounds && end.is_flushed()); });
      return failed ? failed->what : wrong;
    }));
    all_well(in_threads(all, finish));
  }
}

inline void limits(maker const& make) {
  SUBCASE("a message that is too long, or for nobody, is refused by name; the next one is not") {
    ends all = make(2);
    std::vector<std::byte> const too_long(max_message_bytes + 1);
    auto const long_one = all[0]->try_send(pe{1}, too_long, {});
    REQUIRE(long_one.has_error());
    CHECK(long_one.error().code == net_errc::oversized_message);
    CHECK(long_one.error().what.find(std::to_string(max_message_bytes)) != std::string::npos);
    auto const half = std::span(too_long).first(max_message_bytes / 2 + 1);
    auto const in_two_parts = all[0]->try_send(pe{1}, half, half);
    REQUIRE(in_two_parts.has_error());
    CHECK(in_two_parts.error().code == net_errc::oversized_message);
    auto const nobody = all[0]->try_send(pe{2}, {}, {});
    REQUIRE(nobody.has_error());
    CHECK(nobody.error().code == net_errc::no_such_pe);
    CHECK(nobody.error().what.find("pe 2") != std::string::npos);
    for (std::uint32_t const id : {2u, 3u, ~0u})
      CHECK(all[0]->has_room(pe{id})); // who waited for it would wait for ever
    all_well(in_threads(all, [](transport_port& end) { return exchange(end, 10); }));
    all_well(in_threads(all, finish));
  }
  SUBCASE("who does not poll is not sent to for ever; once it polls, all of it arrives") {
    ends all = make(2);
    std::vector<std::byte> const bytes(65'536, std::byte{7});
    std::size_t sent = 0, came = 0;
    auto const count = [&](pe, std::span<std::byte const> got) { came += got.size() == 65'536; };
    bool is_refused = false;
    while (!is_refused && sent < 10'000) {
      auto const accepted = all[0]->try_send(pe{1}, bytes, {});
      REQUIRE(accepted.has_value());
      is_refused = !*accepted;
      sent += *accepted ? 1 : 0;
    }
    CHECK(is_refused);
    CHECK(sent > 0);
    auto const drain = [&] {
      auto const deadline = clock::now() + bound;
      while (came < sent && clock::now() < deadline) {
        REQUIRE(all[0]->poll(count).has_value());
        REQUIRE(all[1]->poll(count).has_value());
      }
      CHECK(came == sent);
    };
    drain();
    CHECK(all[0]->has_room(pe{1}));
    CHECK(all[0]->try_send(pe{1}, bytes, {}).value());
    ++sent;
    drain();
    CHECK(all[0]->is_flushed());
    all_well(in_threads(all, finish));
  }
  SUBCASE("the bytes sent to other pes are counted, what goes to oneself is not") {
    ends all = make(2);
    std::vector<std::byte> const bytes(1000);
    REQUIRE(all[0]->try_send(pe{0}, bytes, {}).value());
    REQUIRE(all[0]->try_send(pe{1}, bytes, {}).value());
    REQUIRE(all[0]->try_send(pe{1}, bytes, bytes).value());
    std::vector<received> mine, others;
    CHECK_FALSE(poll_until(*all[0], into(mine), [&] {
                  return mine.size() == 1 && all[0]->is_flushed();
                }).has_value());
    CHECK_FALSE(poll_until(*all[1], into(others), [&] { return others.size() == 2; }).has_value());
    CHECK(all[0]->wire_bytes() >= 3000);
    CHECK(all[0]->wire_bytes() < 4000);
    CHECK(all[1]->wire_bytes() == 0);
    all_well(in_threads(all, finish));
  }
}

inline bool is_loss_of(quarry::error const& e, pe who) {
  return e.code == net_errc::peer_lost && e.what.find(to_string(who)) != std::string::npos;
}

inline void ends_well_or_says_so(maker const& make) {
  SUBCASE("a pe that leaves without finishing is lost to every waiter, by name, for good") {
    ends all = make(3);
    all[1].reset();
    all_well(in_threads(all, [](transport_port& end) -> std::string {
      auto const lost = poll_until(end, [](auto...) {}, [] { return false; });
      if (!is_loss_of(*lost, pe{1}))
        return "poll() says: " + lost->what;
      for (int again = 0; again < 3; ++again) {
        for (std::uint32_t target : {0u, 1u, 2u}) {
          auto const sent = end.try_send(pe{target}, {}, {});
          if (sent || !is_loss_of(sent.error(), pe{1}))
            return "try_send() does not say it";
        }
        auto const polled = end.poll([](auto...) {});
        if (polled || !is_loss_of(polled.error(), pe{1}))
          return "poll() does not say it again";
      }
      auto const finished = end.finish();
      if (finished || !is_loss_of(finished.error(), pe{1}))
        return "finish() does not say it";
      return "";
    }));
  }
  SUBCASE("a pe that is lost while another blocks wakes that one") {
    ends all = make(2);
    std::jthread const leaver([&] { all[1].reset(); });
    auto const lost = poll_until(*all[0], [](auto...) {}, [] { return false; });
    REQUIRE(lost.has_value());
    CHECK(is_loss_of(*lost, pe{1}));
    auto const before = clock::now();
    all[0]->wait(bound); // what is known needs no waiting for
    CHECK(clock::now() - before < bound / 2);
  }
  SUBCASE("wait() ends when a message comes") {
    ends all = make(2);
    auto const before = clock::now();
    std::jthread const sender([&] {
      std::byte const one{1};
      (void)all[1]->try_send(pe{0}, {&one, 1}, {});
      (void)poll_until(*all[1], [](auto...) {}, [&] { return all[1]->is_flushed(); });
    });
    std::vector<received> came;
    while (came.empty() && clock::now() - before < bound) {
      REQUIRE(all[0]->poll(into(came)).has_value());
      if (came.empty())
        all[0]->wait(bound);
    }
    CHECK(came.size() == 1);
    CHECK(clock::now() - before < bound / 2);
  }
  SUBCASE("who finishes in order is not lost to those who finish later") {
    ends all = make(3);
    all_well(in_threads(all, [](transport_port& end) { return exchange(end, 20); }));
    std::vector<std::string> outcome(3);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 3; ++i)
      threads.emplace_back([&, i] {
        // The later ones still poll while the earlier ones already say goodbye.
        for (std::size_t round = 0; round < i * 2000 && outcome[i].empty(); ++round)
          if (auto const polled = all[i]->poll([](auto...) {}); !polled)
            outcome[i] = polled.error().what;
        if (outcome[i].empty())
          outcome[i] = finish(*all[i]);
        all[i].reset();
      });
    threads.clear();
    all_well(outcome);
  }
  SUBCASE("who has finished does not send any more") {
    ends all = make(2);
    all_well(in_threads(all, finish));
    auto const sent = all[0]->try_send(pe{1}, {}, {});
    REQUIRE(sent.has_error());
    CHECK(sent.error().code == net_errc::already_finished);
    CHECK(sent.error().what.find("pe 0") != std::string::npos);
  }
}

} // namespace contract
