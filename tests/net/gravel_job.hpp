// SPDX-License-Identifier: Apache-2.0
// A job of Gravel nodes in one process: a thread each, or one thread and a schedule.
#pragma once

#include "test_agents.hpp"

#include <quarry/emu.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/net.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

namespace gravel_test {

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;
using gravel::gravel_node;
using quarry_test::unchecked_agent;

inline constexpr std::size_t heap_words = 256;

/// One node of a test's job.
struct test_node {
  unchecked_agent& gpu;
  gravel_node& net;
  std::span<std::uint64_t> heap;
  std::uint32_t id;
  std::uint32_t count;
  [[nodiscard]] global<std::uint64_t> at(std::size_t word) const {
    return global<std::uint64_t>(heap.data() + word);
  }
};
using node_body = std::function<void(test_node&)>;

using heaps = std::vector<std::vector<std::uint64_t>>;
inline heaps empty_heaps(std::uint32_t nodes) {
  return heaps(nodes, std::vector<std::uint64_t>(heap_words));
}

/// Every node's heap at the end, or the first error.
struct job_outcome {
  gravel_test::heaps heaps;
  std::vector<std::optional<error>> errors;
  std::vector<gravel::statistics> counts;
};

inline void run_one(executor& scheduler, std::unique_ptr<transport_port> end,
                    gravel_node::options o, node_body const& body, job_outcome& out,
                    std::uint32_t id, std::uint32_t wave_size) {
  unchecked_agent gpu(scheduler, {.compute_units = 2, .wavefront_size = wave_size});
  std::uint32_t const count = end->pe_count();
  gravel_node net(gpu.core(), std::move(end), out.heaps[id], o);
  test_node node{gpu, net, out.heaps[id], id, count};
  body(node);
  if (auto const done = net.finish(); !done)
    out.errors[id] = done.error();
  out.counts[id] = net.counts();
}

inline job_outcome make_outcome(std::uint32_t nodes) {
  return {empty_heaps(nodes), std::vector<std::optional<error>>(nodes),
          std::vector<gravel::statistics>(nodes)};
}

inline job_outcome run_native(std::uint32_t nodes, std::size_t threads, gravel_node::options o,
                              node_body const& body, std::uint32_t wave_size = 64) {
  job_outcome out = make_outcome(nodes);
  std::vector<std::thread> hosts;
  for (auto& end : make_in_process(nodes)) {
    std::uint32_t const id = end->self().id; // not among the captures: their order is unspecified
    hosts.emplace_back([&, id, end = std::move(end)]() mutable {
      native_scheduler scheduler({.threads = threads});
      run_one(scheduler, std::move(end), o, body, out, id, wave_size);
    });
  }
  for (std::thread& h : hosts)
    h.join();
  return out;
}

/// The same over loopback TCP.
inline job_outcome run_loopback(std::uint32_t nodes, gravel_node::options o, node_body const& body,
                                std::uint32_t wave_size) {
  job_outcome out = make_outcome(nodes);
  std::vector<job> const jobs = make_local_jobs(nodes, std::chrono::seconds{10}).value();
  std::vector<std::thread> hosts;
  for (std::uint32_t id = 0; id < nodes; ++id)
    hosts.emplace_back([&, id] {
      native_scheduler scheduler({.threads = 1});
      auto end = loopback::open(jobs[id]);
      if (!end)
        out.errors[id] = end.error();
      else
        run_one(scheduler, std::move(*end), o, body, out, id, wave_size);
    });
  for (std::thread& h : hosts)
    h.join();
  return out;
}

inline job_outcome run_sequential(std::uint32_t nodes, std::optional<std::uint64_t> seed,
                                  gravel_node::options o, node_body const& body,
                                  std::uint32_t wave_size = 64) {
  job_outcome out = make_outcome(nodes);
  sequential_scheduler scheduler({.seed = seed});
  std::vector<std::function<void()>> hosts;
  auto ends = std::make_shared<std::vector<std::unique_ptr<in_process>>>(make_in_process(nodes));
  for (std::uint32_t id = 0; id < nodes; ++id)
    hosts.emplace_back(
        [&, ends, id] { run_one(scheduler, std::move((*ends)[id]), o, body, out, id, wave_size); });
  scheduler.run(std::move(hosts));
  return out;
}

/// Calls `test(run)`, where run(nodes, options, body) gives a job's outcome: natively with 1 and 2
/// threads a node, over loopback, and by round robin and a few seeds; with wavefronts of 32 and 64.
template<class F>
void with_every_job(F const& test, std::uint64_t seeds = 2) {
  for (std::uint32_t const size : {32U, 64U}) {
    CAPTURE(size);
    for (std::size_t const threads : {1U, 2U}) {
      CAPTURE(threads);
      test([&](std::uint32_t nodes, gravel_node::options const& o, node_body const& body) {
        return run_native(nodes, threads, o, body, size);
      });
    }
    {
      bool const is_loopback = true;
      CAPTURE(is_loopback);
      test([&](std::uint32_t nodes, gravel_node::options const& o, node_body const& body) {
        return run_loopback(nodes, o, body, size);
      });
    }
    for (std::uint64_t seed = 0; seed <= seeds; ++seed) {
      CAPTURE(seed); // 0: round robin
      auto const choice = seed == 0 ? std::optional<std::uint64_t>() : std::optional(seed);
      test([&](std::uint32_t nodes, gravel_node::options const& o, node_body const& body) {
        return run_sequential(nodes, choice, o, body, size);
      });
    }
  }
}

/// What a kernel with the usual arguments does on every node, over `items` work-items.
template<class Kernel>
node_body launching(Kernel kernel, std::uint32_t items) {
  return [kernel, items](test_node& n) {
    launch_config const config{.work_items = items, .work_items_per_group = 128};
    auto const o = n.gpu.run(config, kernel, n.at(0), n.count, std::ref(n.net.device()));
    CHECK_MESSAGE(o, (o ? "" : o.get_fault()->report));
  };
}

/// The same of a job that fails: the kernel ends, or is told so.
template<class Kernel>
node_body launching_in_vain(Kernel kernel, std::uint32_t items) {
  return [kernel, items](test_node& n) {
    launch_config const config{.work_items = items, .work_items_per_group = 128};
    auto const o = n.gpu.run(config, kernel, n.at(0), n.count, std::ref(n.net.device()));
    CHECK((o || o.get_fault()->report.find("was given up") != std::string::npos));
  };
}

/// No node may have had an error, and the heaps must be these.
inline void check_heaps(job_outcome const& out, heaps const& all) {
  for (auto const& e : out.errors)
    CHECK_MESSAGE(!e, (e ? e->what : ""));
  CHECK(out.heaps == all);
}

} // namespace gravel_test
