// SPDX-License-Identifier: Apache-2.0
// How tests drive the ends of a network, wherever these are: what transport_contract.hpp is made
// of.
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
/// Makes the ends of a network of so many pes. Those that are in other processes, which run the
/// same test, are null here.
using maker = std::function<ends(std::uint32_t pe_count)>;
/// Returns once it is called in all processes of the test.
using meeting = std::function<void()>;

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

/// The same for pe `id` alone.
inline std::string at(ends& all, std::size_t id,
                      std::function<std::string(transport_port&)> const& body) {
  return all[id] ? body(*all[id]) : "";
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

} // namespace contract
