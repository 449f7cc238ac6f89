// SPDX-License-Identifier: Apache-2.0
// What goes wrong: pes that go away, are silent, speak nonsense or do something else.
#include "reluctant_port.hpp"
#include "shmem_job.hpp"
#include "transport_exchange.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <latch>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace shmem_test;

namespace {

node::options const hasty{.heap_bytes = 4096, .timeout = 200ms, .team_bytes = 1024};
node::options const usual{.heap_bytes = 4096, .timeout = 1s, .team_bytes = 1024};
node::options const brisk{.heap_bytes = 4096, .timeout = 20ms, .team_bytes = 1024};
node::options const large{.heap_bytes = 65'536, .timeout = 20s, .team_bytes = 1024};
node::options const patient{.heap_bytes = 4096, .timeout = 20s, .team_bytes = 1024};

/// What a pe can wait in when pe 1 has gone, each by its name.
struct waiting {
  char const* name;
  std::function<result<void>(node&, std::uint64_t*)> call;
};
std::vector<waiting> const waits_for_others{
    {"wait_until", [](node& n, std::uint64_t* w) { return n.wait_until(w, comparison::equal, 7); }},
    {"barrier_all", [](node& n, std::uint64_t*) { return n.barrier_all(); }},
    {"sync_all", [](node& n, std::uint64_t*) { return n.sync_all(); }},
    {"malloc",
     [](node& n, std::uint64_t*) -> result<void> {
       auto const m = n.malloc<int>(1);
       return m ? result<void>{} : m.error();
     }},
    {"broadcast", [](node& n, std::uint64_t* w) { return n.world().broadcast(w, w, 1, 1); }},
    {"reduce", [](node& n, std::uint64_t* w) { return n.world().reduce(reduction::sum, w, w, 1); }},
    {"finish", [](node& n, std::uint64_t*) { return n.finish(); }},
};
std::vector<waiting> const waits_for_answers{
    {"g to pe 1",
     [](node& n, std::uint64_t* w) -> result<void> {
       auto const g = n.default_context().g(w, pe{1});
       return g ? result<void>{} : g.error();
     }},
    {"atomic to pe 1",
     [](node& n, std::uint64_t* w) -> result<void> {
       auto const g = n.default_context().atomic_fetch_inc(w, pe{1});
       return g ? result<void>{} : g.error();
     }},
    {"quiet",
     [](node& n, std::uint64_t* w) -> result<void> {
       static_cast<void>(n.default_context().p(w, 1, pe{1})); // may know already
       return n.default_context().quiet();
     }},
};

/// An answer may still come from a pe that is going, but not for long.
waiting until_it_fails(waiting const& w) {
  return {w.name, [&w](node& n, std::uint64_t* word) {
            for (auto const begun = std::chrono::steady_clock::now();;)
              if (auto r = w.call(n, word); !r || std::chrono::steady_clock::now() > begun + 20s)
                return r;
          }};
}

/// Pe 1 goes without a word as soon as it has met the others; pe 0 and 2 wait for it.
void go_away(maker const& make, std::vector<waiting> const& calls) {
  for (waiting const& w : calls) {
    std::latch all_here(3), all_told(2);
    auto const outcome = run_native(make, 3, patient, [&](node& n) -> std::string {
      all_here.arrive_and_wait();
      if (n.self() == pe{1})
        return "gone";
      auto* const word = reinterpret_cast<std::uint64_t*>(n.local({0}));
      auto const told = [&]() -> std::string {
        QUARRY_SAYS(w.call(n, word), net_errc::peer_lost, {"shmem: ", w.name, "pe 1"});
        QUARRY_SAYS(n.barrier_all(), net_errc::peer_lost, {"shmem: barrier_all: ", "pe 1"});
        QUARRY_EXPECT(n.failure().has_value());
        return "told";
      };
      std::string what = told();
      all_told.arrive_and_wait(); // who goes first would be another one that has gone
      return what;
    });
    CHECK(joined(outcome) == "told, gone, told");
  }
}

/// One cache line, as messages begin.
struct raw_message {
  std::uint64_t words[8] = {};
  static raw_message hello(std::uint64_t heap, node::options const& o) {
    return {{1, 0, 0, 0, heap, 0, std::uint64_t{o.most_teams} << 40 | o.team_bytes, 1}};
  }
};

void send(transport_port& end, pe to, raw_message const& m, std::span<std::byte const> body = {}) {
  REQUIRE(end.try_send(to, std::as_bytes(std::span(m.words)), body).value());
}

} // namespace

TEST_SUITE("net.shmem_faults") {
  TEST_CASE("who waits for a pe that has gone is told so, by its name, whatever it waits in") {
    for (maker const& make : {maker(in_process_ends), maker(loopback_ends)})
      go_away(make, waits_for_others);
    std::vector<waiting> calls;
    for (waiting const& w : waits_for_answers)
      calls.push_back(until_it_fails(w));
    go_away(loopback_ends, calls);
  }

  TEST_CASE("under a schedule too, who waits for a pe that has gone is told so") {
    for (std::uint64_t seed = 0; seed < 20; ++seed)
      for (waiting const& w : waits_for_others) {
        CAPTURE(seed);
        auto const outcome = run_sequential(2, seed, patient, [&](node& n) -> std::string {
          if (n.self() == pe{1})
            return "gone";
          auto* const word = reinterpret_cast<std::uint64_t*>(n.local({0}));
          QUARRY_SAYS(w.call(n, word), net_errc::peer_lost, {"shmem: ", w.name, "pe 1"});
          return "told";
        });
        // It may go so early that the other one has not even begun.
        bool const is_told = outcome[0] == "told" || outcome[0].find("start") != std::string::npos;
        CHECK_MESSAGE(is_told, outcome[0]);
      }
  }

  TEST_CASE("under a schedule a wait that nobody can end ends at once, with who waits for what") {
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      CAPTURE(seed);
      auto const outcome = run_sequential(2, seed, patient, [&](node& n) -> std::string {
        auto* const word = reinterpret_cast<std::uint64_t*>(n.local({0}));
        auto const r = n.wait_until(word, comparison::equal, 1);
        QUARRY_SAYS(r, net_errc::timeout, {"shmem: wait_until", "nothing progresses"});
        return "told";
      });
      CHECK(joined(outcome) == "told, told");
    }
  }

  TEST_CASE("a pe that never comes ends the start, by name") {
    auto all = in_process_ends(3);
    native_scheduler scheduler({.threads = 1});
    auto const n = node::start(scheduler, std::move(all[0]), hasty);
    REQUIRE(n.has_error());
    CHECK_MESSAGE(says(n.error(), net_errc::timeout, {"start", "200 ms", "pe 1, pe 2"}),
                  n.error().what);
  }

  TEST_CASE("it waits as long as its job says, unless it is told otherwise") {
    for (bool const is_told : {false, true}) {
      ends all = loopback_ends_within(2, is_told ? 20s : 300ms);
      CHECK(all[0]->timeout() == (is_told ? 20s : 300ms));
      native_scheduler scheduler({.threads = 1});
      node::options o{.heap_bytes = 4096, .team_bytes = 1024};
      if (is_told)
        o.timeout = 300ms;
      auto const n = node::start(scheduler, std::move(all[0]), o);
      REQUIRE(n.has_error());
      CHECK(n.error().code == net_errc::timeout);
      CHECK_MESSAGE(n.error().what.find(" 300 ms") != std::string::npos, n.error().what);
    }
  }

  TEST_CASE("a pe that stops ends every wait within the timeout, and is named") {
    auto calls = waits_for_others;
    calls.insert(calls.end(), waits_for_answers.begin(), waits_for_answers.end());
    for (waiting const& w : calls) {
      auto all = in_process_ends(2);
      send(*all[1], pe{0}, raw_message::hello(4096, hasty)); // and nothing more
      native_scheduler scheduler({.threads = 1});
      auto n = node::start(scheduler, std::move(all[0]), hasty);
      REQUIRE(n.has_value());
      auto* const word = reinterpret_cast<std::uint64_t*>(n->local({0}));
      auto const begun = std::chrono::steady_clock::now();
      auto const r = w.call(*n, word);
      REQUIRE(r.has_error());
      CHECK_MESSAGE(says(r.error(), net_errc::timeout, {w.name, "200 ms", "no word from pe 1"}),
                    r.error().what);
      CHECK(std::chrono::steady_clock::now() - begun < *hasty.timeout + 4s); // of a busy machine
    }
  }

  TEST_CASE("a wait that nobody ends ends in a timeout all the same, and the others hear of it") {
    for (maker const& make : {maker(in_process_ends), maker(loopback_ends)}) {
      auto const outcome = run_native(make, 2, usual, [](node& n) -> std::string {
        auto const word = n.malloc<std::uint64_t>(1);
        QUARRY_OK(word);
        auto const r =
            n.self() == pe{0} ? n.wait_until(word->data(), comparison::equal, 1) : n.barrier_all();
        QUARRY_EXPECT(r.has_error());
        // Who hears last may hear first that the other one has left.
        QUARRY_EXPECT(r.error().code == net_errc::timeout || r.error().code == net_errc::peer_lost);
        QUARRY_EXPECT(r.error().what.find(n.self() == pe{0} ? "shmem: wait_until"
                                                            : "barrier_all") != std::string::npos);
        return r.error().code == net_errc::timeout ? "timeout" : "lost";
      });
      CHECK((outcome[0] == "timeout" || outcome[1] == "timeout"));
      for (std::string const& o : outcome)
        CHECK_MESSAGE((o == "timeout" || o == "lost"), o);
    }
  }

  TEST_CASE("who gives up says why, also to a pe that has no room for that at once") {
    auto all = in_process_ends(2);
    send(*all[1], pe{0}, raw_message::hello(4096, hasty)); // and nothing more
    native_scheduler scheduler({.threads = 1});
    {
      auto n = node::start(
          scheduler,
          std::make_unique<quarry_test::reluctant_port>(std::move(all[0]), 40, "barrier_all"),
          hasty);
      REQUIRE(n.has_value());
      CHECK(n->barrier_all().has_error());
    }
    std::string said;
    auto const hear = [&said](pe, std::span<std::byte const> bytes) {
      said.append(reinterpret_cast<char const*>(bytes.data()), bytes.size());
    };
    auto const lost = contract::poll_until(*all[1], hear, [] { return false; });
    CHECK(lost->code == net_errc::peer_lost);
    CHECK_MESSAGE(said.find("pe 0 waits in barrier_all") != std::string::npos, said);
  }

  TEST_CASE("what never blocks says so when a pe takes nothing any more, and the job goes on") {
    auto all = in_process_ends(2);
    send(*all[1], pe{0}, raw_message::hello(65'536, large));
    native_scheduler scheduler({.threads = 1});
    auto n = node::start(scheduler, std::move(all[0]), large);
    REQUIRE(n.has_value());
    std::vector<std::byte> const bytes(65'536, std::byte{1});
    auto& c = n->default_context();
    std::optional<error> refused;
    int accepted = 0;
    for (; accepted < 1000 && !refused; ++accepted)
      if (auto const t = c.put_nbi({0}, bytes, pe{1}); !t)
        refused = t.error();
    REQUIRE(refused.has_value());
    CHECK(refused->code == std::errc::resource_unavailable_try_again);
    CHECK(refused->what.find("pe 1") != std::string::npos);
    CHECK_FALSE(n->failure().has_value());
    std::size_t came = 0; // it takes them after all
    for (int i = 0; i < 1000 && !c.put_nbi({0}, bytes, pe{1}); ++i)
      came += all[1]->poll([](auto...) {}).value();
    CHECK(came > 0);
  }

  TEST_CASE("heaps or teams of different sizes are refused at the start, on all sides") {
    for (maker const& make : {maker(in_process_ends), maker(loopback_ends)}) {
      auto all = make(2);
      std::array<std::string, 2> outcome;
      {
        std::vector<std::jthread> hosts;
        for (std::uint32_t id = 0; id < 2; ++id)
          hosts.emplace_back([&, id] {
            native_scheduler scheduler({.threads = 1});
            auto const n =
                node::start(scheduler, std::move(all[id]),
                            {.heap_bytes = 4096 * (id + std::size_t{1}), .timeout = 20s});
            if (!n && (n.error().code == net_errc::mismatched_job ||
                       n.error().code == net_errc::peer_lost))
              outcome[id] = n.error().what;
          });
      }
      auto const both = outcome[0] + outcome[1];
      CHECK_MESSAGE(!outcome[0].empty(), both);
      CHECK_MESSAGE(!outcome[1].empty(), both);
      CHECK_MESSAGE(both.find("4096") != std::string::npos, both);
      CHECK_MESSAGE(both.find("8192") != std::string::npos, both);
      CHECK_MESSAGE(both.find("shmem: start: pe") != std::string::npos, both);
    }
  }

  TEST_CASE("pes in different collectives, or with different sizes, are told so") {
    struct pair {
      std::function<result<void>(node&, int*)> even, odd;
      char const* text;
    };
    auto const mallocs = [](std::size_t count) {
      return [count](node& n, int*) -> result<void> {
        auto const m = n.malloc<int>(count);
        return m ? result<void>{} : m.error();
      };
    };
    pair const pairs[] = {
        {[](node& n, int* w) { return n.world().broadcast(w, w, 1, 0); },
         [](node& n, int* w) { return n.world().fcollect(w + 4, w, 1); }, "broadcast"},
        {[](node& n, int*) { return n.barrier_all(); }, [](node& n, int*) { return n.sync_all(); },
         "barrier"},
        {[](node& n, int* w) { return n.world().broadcast(w, w, 1, 0); },
         [](node& n, int* w) { return n.world().broadcast(w, w, 1, 1); },
         "are in broadcast, and do not agree about it: pe "},
        {[](node& n, int* w) { return n.world().broadcast(w, w, 1, 0); },
         [](node& n, int* w) { return n.world().broadcast(w, w, 2, 0); }, " has bytes "},
        {[](node& n, int* w) { return n.world().reduce(reduction::sum, w, w, 2); },
         [](node& n, int* w) { return n.world().reduce(reduction::maximum, w, w, 2); },
         ", elements 2, of bytes 4, signed, dest at "},
        {mallocs(10), mallocs(20), " are in malloc, and do not agree"},
    };
    for (pair const& p : pairs)
      for (maker const& make : {maker(in_process_ends), maker(loopback_ends)}) {
        std::latch all_here(4);
        std::atomic<int> told{0};
        auto const outcome = run_native(make, 4, patient, [&](node& n) -> std::string {
          all_here.arrive_and_wait();
          auto* const words = reinterpret_cast<int*>(n.local({0}));
          auto const r = (n.self().id % 2 == 0 ? p.even : p.odd)(n, words);
          QUARRY_EXPECT(r.has_error());
          // Who is told by a pe that has left already may hear of that first.
          if (r.error().code == net_errc::peer_lost)
            return "ended";
          QUARRY_SAYS(r, net_errc::mismatched_collective, {p.text, "pe "});
          ++told;
          return "ended";
        });
        CHECK(joined(outcome) == "ended, ended, ended, ended");
        CHECK(told >= 1);
      }
  }

  TEST_CASE("a message that is none ends the job with bad_frame, and touches nothing") {
    std::mt19937_64 random(7);
    int refused = 0;
    for (int round = 0; round < 150; ++round) {
      CAPTURE(round);
      auto all = in_process_ends(2);
      send(*all[1], pe{0}, raw_message::hello(4096, brisk));
      raw_message m;
      std::vector<std::byte> body(random() % 3 == 0 ? random() % 300 : 0, std::byte{0xff});
      for (auto& w : m.words)
        w = random();
      m.words[0] = (m.words[0] & ~std::uint64_t{0xff}) | random() % 14; // a kind, often a known one
      if (random() % 4 == 0)
        REQUIRE(all[1]->try_send(pe{0}, body, {}).value()); // hardly ever a whole header
      else
        send(*all[1], pe{0}, m, body);
      native_scheduler scheduler({.threads = 1});
      auto n = node::start(scheduler, std::move(all[0]), brisk);
      if (!n) {
        refused += n.error().code == net_errc::bad_frame;
        continue;
      }
      auto* const word = reinterpret_cast<std::uint64_t*>(n->local({0}));
      auto const r = n->wait_until(word, comparison::not_equal, 0);
      REQUIRE(r.has_error());
      refused += r.error().code == net_errc::bad_frame;
      for (std::size_t i = 0; i < 512; ++i)
        CHECK(word[i] == 0);
      if (r.error().code == net_errc::timeout)
        CHECK(((m.words[0] & 0xff) == 10 || (m.words[0] & 0xff) == 11 || !body.empty() ||
               (m.words[0] & 0xff) == 8));
    }
    CHECK(refused > 100);
  }

  TEST_CASE("a failure that a pe tells is of a known kind, and its text can be shown") {
    auto const told = [](std::uint64_t code) {
      auto all = in_process_ends(2);
      send(*all[1], pe{0}, raw_message::hello(4096, usual));
      constexpr std::uint64_t failure = 12;
      std::string const text = "red \x1b[31m";
      send(*all[1], pe{0}, {{failure, 0, 0, 0, 0, code, 0, 1}}, std::as_bytes(std::span(text)));
      native_scheduler scheduler({.threads = 1});
      auto n = node::start(scheduler, std::move(all[0]), usual);
      auto const met = n ? n->barrier_all() : result<void>(n.error());
      REQUIRE(met.has_error());
      return met.error();
    };
    for (std::uint64_t const code : std::array<std::uint64_t, 3>{0, 300, (1ULL << 32) + 1}) {
      CAPTURE(code);
      CHECK(told(code).code == net_errc::bad_frame);
    }
    auto const known = told(static_cast<std::uint64_t>(net_errc::failed_handler));
    CHECK(known.code == net_errc::failed_handler);
    CHECK_MESSAGE(known.what.find("pe 1 says: red ?[31m") != std::string::npos, known.what);
  }
}
