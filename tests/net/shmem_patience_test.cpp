// SPDX-License-Identifier: Apache-2.0
// How long a pe waits for others that are there: as long as they do something.
#include "forwarding_port.hpp"
#include "shmem_job.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <latch>
#include <memory>
#include <source_location>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace shmem_test;

namespace {

using clock = std::chrono::steady_clock;

/// The ways in which pes hear of each other.
struct connected {
  char const* name;
  maker make;
  bool shares_memory;
};
std::vector<connected> const all_ways{{"direct", in_process_ends, true},
                                      {"messages", in_process_ends, false},
                                      {"loopback", loopback_ends, false}};

/// Of who is answered, on a machine that does other work as well; three of these are the most that
/// waits last where nobody begins anything.
constexpr auto patience = 2s;

node::options options_of(connected const& way, std::chrono::milliseconds timeout) {
  return {.heap_bytes = 4096,
          .timeout = timeout,
          .team_bytes = 1024,
          .shares_memory = way.shares_memory};
}

/// In all ways at the same time: waits take their time. Each pe is to give `expected`.
void on_all_ways(std::uint32_t pes, std::chrono::milliseconds timeout, body const& what,
                 std::string const& expected = "") {
  std::vector<std::vector<std::string>> outcomes(all_ways.size());
  {
    std::vector<std::jthread> jobs;
    for (std::size_t i = 0; i < all_ways.size(); ++i)
      jobs.emplace_back([&, i] {
        outcomes[i] = run_native(all_ways[i].make, pes, options_of(all_ways[i], timeout), what);
      });
  }
  for (std::size_t i = 0; i < all_ways.size(); ++i) {
    CAPTURE(all_ways[i].name);
    for (std::string const& outcome : outcomes[i])
      CHECK(outcome == expected);
  }
}

/// Pe 0 and 1 count each other's words up for so long, and pe 2 waits for them.
std::string two_play(node& n, clock::duration duration) {
  auto const word = n.malloc<std::uint64_t>(1);
  QUARRY_OK(word);
  bool const begins = n.self() == pe{0};
  auto const end = clock::now() + duration;
  for (std::uint64_t round = 1; n.self().id < 2; ++round) {
    constexpr std::uint64_t last = 1'000'000'000;
    std::uint64_t const value = begins && clock::now() > end ? last : round;
    pe const other{1 - n.self().id};
    if (begins)
      QUARRY_OK(n.default_context().p(word->data(), value, other));
    auto const got = n.signal_wait_until(word->data(), comparison::greater_equal, round);
    QUARRY_OK(got);
    if (!begins)
      QUARRY_OK(n.default_context().p(word->data(), *got, other));
    if (*got == last)
      break;
  }
  QUARRY_OK(n.barrier_all());
  return "";
}

/// Four threads of pe 0 wait for pe 1, which does something else for so long.
std::string many_wait(node& n, clock::duration duration) {
  constexpr std::size_t threads = 4;
  auto const words = n.malloc<std::uint64_t>(threads + 1);
  QUARRY_OK(words);
  if (n.self() == pe{1}) {
    for (auto const end = clock::now() + duration; clock::now() < end;)
      QUARRY_OK(n.default_context().p(words->data() + threads, 1, pe{1}));
    for (std::size_t i = 0; i < threads; ++i)
      QUARRY_OK(n.default_context().p(words->data() + i, 1, pe{0}));
  } else {
    std::vector<std::string> wrong(threads);
    std::vector<std::jthread> all;
    for (std::size_t i = 0; i < threads; ++i)
      all.emplace_back([&, i] {
        if (auto const met = n.wait_until(words->data() + i, comparison::equal, 1); !met)
          wrong[i] = met.error().what;
      });
    all.clear();
    for (std::string const& one : wrong)
      if (!one.empty())
        return one;
  }
  QUARRY_OK(n.barrier_all());
  return "";
}

/// Pe 1 calls, and what it waits for is always there already, until pe 0 has got its words.
std::string never_waits(node& n, std::atomic<bool>& is_over) {
  auto const words = n.malloc<std::uint64_t>(1);
  QUARRY_OK(words);
  QUARRY_OK(n.barrier_all());
  if (n.self() == pe{1}) {
    while (!is_over)
      QUARRY_OK(n.wait_until(words->data(), comparison::equal, 0));
  } else {
    std::string wrong;
    for (int i = 0; i < 3 && wrong.empty(); ++i)
      if (auto const got = n.default_context().g(words->data(), pe{1}); !got)
        wrong = got.error().what;
    is_over = true;
    if (!wrong.empty())
      return wrong;
  }
  QUARRY_OK(n.barrier_all());
  return "";
}

/// Of a pe that is stopped once, after it has asked the others: what they answer lies unread for
/// longer than it waits for anybody.
class stopped_port : public quarry_test::forwarding_port {
public:
  stopped_port(std::unique_ptr<transport_port> real, std::atomic<bool>& waits,
               std::atomic<bool>& was_stopped)
      : forwarding_port(std::move(real)), waits_(waits), was_stopped_(was_stopped) {}

  [[nodiscard]] quarry::result<bool> try_send(pe target, std::span<std::byte const> head,
                                              std::span<std::byte const> body) override {
    if (waits_ && begun_ == clock::time_point())
      begun_ = clock::now();
    // What is sent before is no question: nobody asks in the first half of a timeout.
    has_asked_ = has_asked_ || (waits_ && clock::now() - begun_ > patience / 4);
    return forwarding_port::try_send(target, head, body);
  }
  [[nodiscard]] quarry::result<std::size_t> poll(sink const& deliver) override {
    if (!has_asked_ || was_stopped_)
      return forwarding_port::poll(deliver);
    for (auto const end = clock::now() + patience; clock::now() < end;)
      std::this_thread::yield();
    was_stopped_ = true;
    return std::size_t{0};
  }

private:
  std::atomic<bool>& waits_;
  std::atomic<bool>& was_stopped_;
  clock::time_point begun_{};
  bool has_asked_ = false;
};

/// Of a pe whose answers come so late, behind what it has sent before, that they do not come.
class muted_port : public quarry_test::forwarding_port {
public:
  using forwarding_port::forwarding_port;
  [[nodiscard]] quarry::result<bool> try_send(pe target, std::span<std::byte const> head,
                                              std::span<std::byte const> body) override {
    constexpr std::byte pong{11}; // message_kind::pong
    return head.front() == pong ? true : forwarding_port::try_send(target, head, body);
  }
};

} // namespace

TEST_SUITE("net.shmem_patience") {
  TEST_CASE("who waits for pes that go on with each other waits for as long as they do") {
    on_all_ways(3, patience, [](node& n) { return two_play(n, 7s); });
  }

  TEST_CASE("threads of a pe that wait at the same time do not spoil each other's questions") {
    on_all_ways(2, patience, [](node& n) { return many_wait(n, 7s); });
  }

  TEST_CASE("a pe whose waits are all over when they begin answers others meanwhile") {
    for (connected const& way : all_ways) {
      CAPTURE(way.name);
      std::atomic<bool> is_over{false};
      all_well(run_native(way.make, 2, options_of(way, patience),
                          [&](node& n) { return never_waits(n, is_over); }));
    }
  }

  TEST_CASE("a pe that was stopped hears what the others have answered before it gives them up") {
    std::atomic<bool> waits{false}, was_stopped{false};
    auto const make = [&](std::uint32_t pes) {
      ends all = in_process_ends(pes);
      all[0] = std::make_unique<stopped_port>(std::move(all[0]), waits, was_stopped);
      return all;
    };
    connected const by_messages{"messages", make, false};
    all_well(run_native(make, 2, options_of(by_messages, patience), [&](node& n) -> std::string {
      auto const word = n.malloc<std::uint64_t>(1);
      QUARRY_OK(word);
      QUARRY_OK(n.barrier_all());
      if (n.self() == pe{0}) {
        waits = true;
        QUARRY_OK(n.wait_until(word->data(), comparison::equal, 1));
        QUARRY_EXPECT(was_stopped);
      } else {
        while (!was_stopped)
          std::this_thread::yield();
        QUARRY_OK(n.default_context().p(word->data(), 1, pe{0}));
      }
      QUARRY_OK(n.barrier_all());
      return "";
    }));
  }

  TEST_CASE("operations that come say themselves that the others go on") {
    auto const make = [](std::uint32_t pes) {
      ends all = in_process_ends(pes);
      all[1] = std::make_unique<muted_port>(std::move(all[1]));
      return all;
    };
    connected const by_messages{"messages", make, false};
    all_well(run_native(make, 2, options_of(by_messages, 1s), [&](node& n) -> std::string {
      auto const word = n.malloc<std::uint64_t>(1);
      QUARRY_OK(word);
      QUARRY_OK(n.barrier_all());
      auto& c = n.default_context();
      if (n.self() == pe{1})
        for (auto const end = clock::now() + 5s; clock::now() < end;) {
          QUARRY_OK(c.p(word->data(), 1, pe{0}));
          QUARRY_OK(c.quiet());
        }
      QUARRY_OK(n.barrier_all());
      return "";
    }));
  }

  TEST_CASE("who waits for pes that answer, but begin nothing, is told so after three timeouts") {
    std::latch all_waited(3); // pes 0, of all jobs
    on_all_ways(
        2, 1s,
        [&](node& n) -> std::string {
          if (n.self() == pe{1}) {
            all_waited.wait();
            return "is waited for";
          }
          auto const begun = clock::now();
          auto const line = std::source_location::current().line() + 1;
          auto const met = n.barrier_all();
          auto const waited = clock::now() - begun;
          all_waited.count_down();
          QUARRY_EXPECT(!met);
          QUARRY_EXPECT(met.error().code == net_errc::timeout);
          QUARRY_EXPECT(waited >= 3s);
          QUARRY_EXPECT(
              met.error().what ==
              "shmem: barrier_all to pe 1: pe 0 waits in barrier_all (shmem_patience_test.cpp:" +
                  std::to_string(line) +
                  ") to pe 1: every pe answers, but none has begun an operation for 3000 ms; if "
                  "one computes for so long, the timeout is too short");
          return "is waited for";
        },
        "is waited for");
  }

  TEST_CASE("and who of them does nothing any more") {
    body const what = [](node& n) -> std::string {
      auto const word = n.malloc<std::uint64_t>(1);
      QUARRY_OK(word);
      if (n.self() == pe{1}) { // more patient than the other one
        QUARRY_EXPECT(!n.finish());
        return "is waited for";
      }
      auto const set = n.wait_until(word->data(), comparison::equal, 1);
      QUARRY_EXPECT(!set);
      QUARRY_EXPECT(set.error().code == net_errc::timeout);
      QUARRY_EXPECT(set.error().what.ends_with(
          "begun an operation for 3000 ms (pe 1: in finish()); if one computes for so long, the "
          "timeout is too short"));
      return "is waited for";
    };
    std::vector<std::string> outcomes(2 * all_ways.size());
    {
      std::vector<std::jthread> hosts;
      for (std::size_t i = 0; i < all_ways.size(); ++i) {
        auto ends = std::make_shared<shmem_test::ends>(all_ways[i].make(2));
        for (std::size_t id = 0; id < 2; ++id)
          hosts.emplace_back([&, ends, i, id] {
            native_scheduler scheduler({.threads = 1});
            outcomes[2 * i + id] = run_one(scheduler, std::move((*ends)[id]),
                                           options_of(all_ways[i], id == 0 ? 1s : 20s), what);
          });
      }
    }
    for (std::string const& outcome : outcomes)
      CHECK(outcome == "is waited for");
  }
}
