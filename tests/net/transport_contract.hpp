// SPDX-License-Identifier: Apache-2.0
// What every model of quarry::net::transport promises: one contract, run for each of them.
#pragma once

#include "transport_exchange.hpp"

namespace contract {

// The contract, by theme

/// What is sent to oneself, alone.
inline void talks_to_itself(transport_port& end) {
  std::byte const one{42};
  REQUIRE(end.try_send(pe{0}, {&one, 1}, {}).value());
  CHECK(end.has_input());
  std::vector<received> came;
  CHECK_FALSE(poll_until(end, into(came), [&] { return !came.empty(); }).has_value());
  CHECK(came.size() == 1);
  CHECK(came[0].source == pe{0});
  CHECK(came[0].bytes == std::vector{one});
  CHECK_FALSE(end.has_input());
  CHECK(finish(end) == "");
}

inline void delivers(maker const& make) {
  SUBCASE("messages of a pair arrive in order, each once and whole, also to oneself") {
    ends all = make(3);
    all_well(in_threads(all, [](transport_port& end) { return exchange(end, 1000); }));
    all_well(in_threads(all, finish));
  }
  SUBCASE("a job of one pe can talk to itself and finish") {
    ends all = make(1);
    CHECK(at(all, 0, [](transport_port& end) { return exchange(end, 100); }) == "");
    CHECK((!all[0] || all[0]->wire_bytes() == 0));
    CHECK(at(all, 0, finish) == "");
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
    if (all[0])
      talks_to_itself(*all[0]);
  }
  SUBCASE("who is delivered to may poll: what comes is delivered once") {
    ends all = make(2);
    constexpr std::size_t count = 8; // so many have room in every transport
    all_well(in_threads(all, [&](transport_port& end) -> std::string {
      std::string wrong;
      for (std::uint32_t i = 0; i < 2 * count;) { // by turns to oneself and to the other one
        auto const sent = end.try_send(pe{i % 2}, std::as_bytes(std::span(&i, 1)), {});
        if (!sent)
          return sent.error().what;
        i += *sent ? 1 : 0;
        if (!*sent)
          return "no room";
      }
      std::vector<std::uint32_t> came;
      std::function<void(pe, std::span<std::byte const>)> const deliver =
          [&](pe, std::span<std::byte const> bytes) {
            std::uint32_t number = 0;
            std::memcpy(&number, bytes.data(), sizeof number);
            came.push_back(number);
            if (auto const polled = end.poll(deliver); !polled)
              wrong = polled.error().what;
          };
      auto const failed = poll_until(end, deliver, [&] {
        return !wrong.empty() || (came.size() >= 2 * count && end.is_flushed());
      });
      if (failed || !wrong.empty())
        return failed ? failed->what : wrong;
      std::ranges::sort(came);
      for (std::size_t i = 0; i < came.size(); ++i) // each from both
        if (came[i] != i / 2 * 2 + end.self().id)
          return "message " + std::to_string(i) + " is another one";
      return came.size() == 2 * count ? "" : "there are too many";
    }));
    all_well(in_threads(all, finish));
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

/// Sends 64 KiB messages to pe 1 until there is no room.
inline std::string send_until_refused(transport_port& end, std::uint64_t& sent) {
  std::vector<std::byte> const bytes(65'536, std::byte{7});
  for (sent = 0; sent < 10'000; ++sent) {
    auto const accepted = end.try_send(pe{1}, bytes, {});
    if (!accepted)
      return accepted.error().what;
    if (!*accepted)
      return sent > 0 ? "" : "there was no room for a single one";
  }
  return "there was room without an end";
}

/// Says to pe 1 how many they were, once there is room again.
inline std::string send_the_count(transport_port& end, std::uint64_t count) {
  auto const nothing = [](auto...) {};
  if (auto const failed = poll_until(end, nothing, [&] {
        auto const sent = end.try_send(pe{1}, std::as_bytes(std::span(&count, 1)), {});
        return !sent || *sent;
      }))
    return failed->what;
  if (auto const failed = poll_until(end, nothing, [&] { return end.is_flushed(); }))
    return failed->what;
  return end.has_room(pe{1}) ? "" : "there is no room where all has left";
}

/// As pe 1.
inline std::string receive_all(transport_port& end) {
  std::uint64_t came = 0;
  std::optional<std::uint64_t> expected;
  auto const deliver = [&](pe, std::span<std::byte const> got) {
    if (got.size() == sizeof came && !expected)
      std::memcpy(&expected.emplace(), got.data(), sizeof came);
    else
      came += got.size() == 65'536 ? 1 : 0;
  };
  if (auto const failed = poll_until(end, deliver, [&] { return expected.has_value(); }))
    return failed->what;
  return came == *expected ? "" : "not all of them came";
}

/// A job of two is asked for what is impossible.
inline void refuses(transport_port& end) {
  std::vector<std::byte> const too_long(max_message_bytes + 1);
  auto const long_one = end.try_send(pe{1}, too_long, {});
  REQUIRE(long_one.has_error());
  CHECK(long_one.error().code == net_errc::oversized_message);
  CHECK(long_one.error().what.find(std::to_string(max_message_bytes)) != std::string::npos);
  auto const half = std::span(too_long).first(max_message_bytes / 2 + 1);
  auto const in_two_parts = end.try_send(pe{1}, half, half);
  REQUIRE(in_two_parts.has_error());
  CHECK(in_two_parts.error().code == net_errc::oversized_message);
  auto const nobody = end.try_send(pe{2}, {}, {});
  REQUIRE(nobody.has_error());
  CHECK(nobody.error().code == net_errc::no_such_pe);
  CHECK(nobody.error().what.find("pe 2") != std::string::npos);
  for (std::uint32_t const id : {2u, 3u, ~0u})
    CHECK(end.has_room(pe{id})); // who waited for it would wait for ever
}

inline void limits(maker const& make, meeting const& meet = [] {}) {
  SUBCASE("a message that is too long, or for nobody, is refused by name; the next one is not") {
    ends all = make(2);
    if (all[0])
      refuses(*all[0]);
    all_well(in_threads(all, [](transport_port& end) { return exchange(end, 10); }));
    all_well(in_threads(all, finish));
  }
  SUBCASE("who does not poll is not sent to for ever; once it polls, all of it arrives") {
    ends all = make(2);
    std::uint64_t sent = 0;
    CHECK(at(all, 0, [&](transport_port& end) { return send_until_refused(end, sent); }) == "");
    meet(); // until then pe 1 has not polled
    all_well(in_threads(all, [&](transport_port& end) {
      return end.self() == pe{0} ? send_the_count(end, sent) : receive_all(end);
    }));
    all_well(in_threads(all, finish));
  }
  SUBCASE("the bytes sent to other pes are counted, what goes to oneself is not") {
    ends all = make(2);
    all_well(in_threads(all, [](transport_port& end) -> std::string {
      std::vector<std::byte> const bytes(1000);
      bool const sends = end.self() == pe{0};
      if (sends &&
          !(end.try_send(pe{0}, bytes, {}).value() && end.try_send(pe{1}, bytes, {}).value() &&
            end.try_send(pe{1}, bytes, bytes).value()))
        return "a message was refused";
      std::vector<received> came;
      if (auto const failed = poll_until(
              end, into(came), [&] { return came.size() == (sends ? 1 : 2) && end.is_flushed(); }))
        return failed->what;
      auto const counted = end.wire_bytes();
      bool const is_right = sends ? 3000 <= counted && counted < 4000 : counted == 0;
      return is_right ? "" : std::to_string(counted) + " bytes were counted";
    }));
    all_well(in_threads(all, finish));
  }
}

inline bool is_loss_of(quarry::error const& e, pe who) {
  return e.code == net_errc::peer_lost && e.what.find(to_string(who)) != std::string::npos;
}

/// Sends to pe 1, which has gone, as long as that is taken, and polls where it is not. Answers what
/// comes: that cannot be told of the loss while there is more.
inline std::string hears_last_word(transport_port& end) {
  std::vector<std::byte> const bytes(65'536);
  std::vector<received> came;
  bool is_told_early = false;
  auto const answer = [&](pe from, std::span<std::byte const> message) {
    came.push_back({from, {message.begin(), message.end()}});
    is_told_early = is_told_early || !end.try_send(from, {}, {});
  };
  for (auto const deadline = clock::now() + bound; clock::now() < deadline;) {
    auto const sent = end.try_send(pe{1}, bytes, {});
    if (sent && *sent)
      continue;
    auto const polled = sent ? end.poll(answer) : sent.error();
    if (!polled && !is_loss_of(polled.error(), pe{1}))
      return polled.error().what;
    if (!polled)
      return came.size() == 2 && !is_told_early ? "" : "the loss was said before the last word";
  }
  return "a pe that has gone is sent to for ever";
}

inline void ends_well_or_says_so(maker const& make) {
  SUBCASE("what a pe has said before it left comes before its loss, also to who only sends") {
    ends all = make(2);
    CHECK(at(all, 1, [](transport_port& end) -> std::string {
            std::byte const word{42};
            for (int i = 0; i < 2; ++i)
              if (!end.try_send(pe{0}, {&word, 1}, {}).value())
                return "a message was refused";
            auto const failed = poll_until(end, [](auto...) {}, [&] { return end.is_flushed(); });
            return failed ? failed->what : "";
          }) == "");
    all[1].reset();
    CHECK(at(all, 0, hears_last_word) == "");
  }
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
    CHECK(at(all, 0, [](transport_port& end) -> std::string {
            auto const lost = poll_until(end, [](auto...) {}, [] { return false; });
            if (!is_loss_of(*lost, pe{1}))
              return lost->what;
            auto const before = clock::now();
            end.wait(bound); // what is known needs no waiting for
            return clock::now() - before < bound / 2 ? "" : "wait() waited";
          }) == "");
  }
  SUBCASE("wait() ends when a message comes") {
    ends all = make(2);
    all_well(in_threads(all, [](transport_port& end) -> std::string {
      auto const before = clock::now();
      std::byte const one{1};
      std::vector<received> came;
      if (end.self() == pe{1} && !end.try_send(pe{0}, {&one, 1}, {}).value())
        return "a message was refused";
      while (end.self() == pe{0} && came.empty() && clock::now() - before < bound) {
        if (auto const polled = end.poll(into(came)); !polled)
          return polled.error().what;
        if (came.empty())
          end.wait(bound);
      }
      if (end.self() == pe{0} && came.size() != 1)
        return "it did not come once";
      if (auto const failed = poll_until(end, into(came), [&] { return end.is_flushed(); }))
        return failed->what;
      return clock::now() - before < bound / 2 ? "" : "wait() waited on";
    }));
    all_well(in_threads(all, finish));
  }
  SUBCASE("wait() ends when it is interrupted, also when that was before") {
    ends all = make(2);
    all_well(in_threads(all, [](transport_port& end) -> std::string {
      auto const before = clock::now();
      end.interrupt();
      end.wait(bound);
      std::jthread const other([&] { end.interrupt(); });
      end.wait(bound);
      return clock::now() - before < bound / 2 ? "" : "wait() waited on";
    }));
    all_well(in_threads(all, finish));
  }
  SUBCASE("who finishes in order is not lost to those who finish later") {
    ends all = make(3);
    all_well(in_threads(all, [](transport_port& end) { return exchange(end, 20); }));
    std::vector<std::string> outcome(3);
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < 3; ++i)
      if (all[i])
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
    if (all[0]) {
      auto const sent = all[0]->try_send(pe{1}, {}, {});
      REQUIRE(sent.has_error());
      CHECK(sent.error().code == net_errc::already_finished);
      CHECK(sent.error().what.find("pe 0") != std::string::npos);
    }
  }
}

} // namespace contract
