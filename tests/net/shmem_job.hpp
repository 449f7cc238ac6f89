// SPDX-License-Identifier: Apache-2.0
// Jobs of shmem nodes in one process: a thread each over any transport, or one thread and a
// schedule.
#pragma once

#include <quarry/emu/core.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/net.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace shmem_test {

using namespace quarry;
using namespace quarry::net;
using namespace std::chrono_literals;
using shmem::comparison;
using shmem::node;
using shmem::reduction;
using shmem::signal_op;

/// What a pe does; gives what was wrong, or nothing. (doctest's assertions belong to one thread.)
using body = std::function<std::string(node&)>;
using ends = std::vector<std::unique_ptr<transport_port>>;
/// The ends of a network of so many pes, all in this process.
using maker = std::function<ends(std::uint32_t pe_count)>;

#define QUARRY_EXPECT(condition)                                                                   \
  if (!(condition))                                                                                \
  return std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " #condition
#define QUARRY_OK(call)                                                                            \
  if (auto const& outcome_ = (call); !outcome_)                                                    \
  return std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " + outcome_.error().what

inline std::string joined(std::vector<std::string> const& all) {
  std::string text;
  for (std::string const& one : all)
    text += (text.empty() ? "" : ", ") + one;
  return text;
}
/// Is it that error, and does it say all of these?
inline bool says(error const& e, net_errc code, std::initializer_list<char const*> words) {
  return e.code == code && std::all_of(words.begin(), words.end(), [&](char const* w) {
           return e.what.find(w) != std::string::npos;
         });
}
#define QUARRY_SAYS(outcome, ...)                                                                  \
  if (auto const& o_ = (outcome); o_ || !says(o_.error(), __VA_ARGS__))                            \
  return std::string(__FILE__ ":") + std::to_string(__LINE__) + ": " #outcome " says " +           \
         (o_ ? "nothing" : o_.error().what)

inline pe right_of(node const& n) {
  return pe{(n.self().id + 1) % n.pe_count()};
}

inline ends in_process_ends(std::uint32_t pe_count) {
  ends all;
  for (auto& end : make_in_process(pe_count))
    all.push_back(std::move(end));
  return all;
}
inline ends loopback_ends_within(std::uint32_t pe_count, std::chrono::milliseconds timeout) {
  auto const jobs = make_local_jobs(pe_count, timeout).value();
  ends all(pe_count);
  std::vector<std::jthread> threads;
  for (std::uint32_t i = 0; i < pe_count; ++i)
    threads.emplace_back([&, i] { all[i] = loopback::open(jobs[i]).value(); });
  threads.clear();
  return all;
}
inline ends loopback_ends(std::uint32_t pe_count) {
  return loopback_ends_within(pe_count, 10s);
}

inline std::string run_one(executor& scheduler, std::unique_ptr<transport_port> end,
                           node::options const& o, body const& what) {
  auto n = node::start(scheduler, std::move(end), o);
  QUARRY_OK(n);
  if (std::string wrong = what(*n); !wrong.empty())
    return wrong;
  auto const over = n->finish();
  if (!over && over.error().code == net_errc::already_finished)
    return ""; // the body has done so
  QUARRY_OK(over);
  return "";
}

inline std::vector<std::string> run_native(maker const& make, std::uint32_t pes,
                                           node::options const& o, body const& what) {
  std::vector<std::string> outcome(pes);
  ends all = make(pes);
  {
    std::vector<std::jthread> hosts;
    for (std::uint32_t id = 0; id < pes; ++id)
      hosts.emplace_back([&, id] {
        native_scheduler scheduler({.threads = 1});
        outcome[id] = run_one(scheduler, std::move(all[id]), o, what);
      });
  }
  return outcome;
}

inline std::vector<std::string> run_sequential(std::uint32_t pes, std::uint64_t seed,
                                               node::options const& o, body const& what) {
  std::vector<std::string> outcome(pes);
  sequential_scheduler scheduler(
      {.seed = seed == 0 ? std::optional<std::uint64_t>() : std::optional(seed)});
  auto all = std::make_shared<ends>(in_process_ends(pes));
  std::vector<std::function<void()>> hosts;
  for (std::uint32_t id = 0; id < pes; ++id)
    hosts.emplace_back(
        [&, all, id] { outcome[id] = run_one(scheduler, std::move((*all)[id]), o, what); });
  scheduler.run(std::move(hosts));
  return outcome;
}

inline void all_well(std::vector<std::string> const& outcome) {
  for (std::string const& wrong : outcome)
    CHECK_MESSAGE(wrong.empty(), wrong);
}

inline constexpr std::size_t small_heap = 64 * 1024;
inline node::options const small{.heap_bytes = small_heap, .timeout = 20s, .team_bytes = 4096};

/// Where on_all() runs its jobs, if it is not in threads of this process: over MPI.
inline void (*elsewhere)(std::uint32_t pes, node::options const& o, body const& what) = nullptr;

/// On every kind of network, natively and by schedules.
inline void on_all(std::uint32_t pes, body const& what, node::options o = small,
                   std::uint64_t seeds = 2) {
  CAPTURE(pes);
  if (elsewhere != nullptr)
    return elsewhere(pes, o, what);
  {
    INFO("direct");
    all_well(run_native(in_process_ends, pes, o, what));
  }
  {
    INFO("loopback");
    all_well(run_native(loopback_ends, pes, o, what));
  }
  {
    INFO("in process, by messages");
    node::options apart = o;
    apart.shares_memory = false;
    all_well(run_native(in_process_ends, pes, apart, what));
  }
  for (std::uint64_t seed = 0; seed <= seeds; ++seed) { // 0: round robin
    CAPTURE(seed);
    all_well(run_sequential(pes, seed, o, what));
  }
}

/// Host code's own view of its heap, which under a schedule is read by its own actor.
inline constexpr std::uint32_t sizes[] = {1, 2, 3, 8};

} // namespace shmem_test
