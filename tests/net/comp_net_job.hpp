// SPDX-License-Identifier: Apache-2.0
// A job of ComP-Net nodes in one process: a thread each, or one thread and a schedule.
#pragma once

#include "test_agents.hpp"

#include <quarry/emu.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/net.hpp>
#include <quarry/sequential_scheduler.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace comp_net_test {

using namespace quarry;
using namespace quarry::emu;
using namespace quarry::net;
using quarry_test::unchecked_agent;

inline constexpr std::size_t heap_words = 512;

/// One node of a test's job.
struct test_node {
  unchecked_agent& gpu;
  comp_net::node& net;
  std::span<std::uint64_t> words; ///< symmetric
  std::uint32_t id;
  std::uint32_t count;
  [[nodiscard]] global<std::uint64_t> at(std::size_t word = 0) const {
    return global<std::uint64_t>(words.data() + word);
  }
};
using node_body = std::function<void(test_node&)>;

/// How a job's nodes are scheduled and connected.
struct job_shape {
  std::string_view configuration = comp_net::on_command_processor.name;
  std::uint32_t nodes = 1;
  std::optional<std::size_t> threads{}; ///< native, so many a node; none: one thread and a schedule
  std::optional<std::uint64_t> seed{};  ///< of the schedule; none: round robin
  std::uint32_t wavefront_size = 64;
  bool over_loopback = false;
  bool shares_memory = true;
  std::uint32_t service_threads = 1;
  std::uint32_t ring_entries = 4;
  std::uint32_t polling_rounds = 4;
  std::chrono::milliseconds stall_timeout{60'000};
  std::chrono::milliseconds timeout{10'000}; ///< of waits for other nodes
  bool finishes = true;                      ///< false: the nodes leave without a word
};

inline void run_one(executor& scheduler, std::unique_ptr<transport_port> end, job_shape const& s,
                    node_body const& body) {
  unchecked_agent gpu(scheduler, {.compute_units = 2, .wavefront_size = s.wavefront_size});
  std::uint32_t const id = end->self().id;
  comp_net::node::options const o{.configuration = s.configuration,
                                  .rings = 8,
                                  .ring_entries = s.ring_entries,
                                  .service_threads = s.service_threads,
                                  .polling_rounds = s.polling_rounds,
                                  .reduce_bytes = 64,
                                  .shmem = {.heap_bytes = heap_words * 8 + 4096,
                                            .timeout = s.timeout,
                                            .most_teams = 1,
                                            .team_bytes = 4096,
                                            .shares_memory = s.shares_memory}};
  auto net = comp_net::node::start(gpu.core(), std::move(end), o);
  REQUIRE_MESSAGE(net.has_value(), (net ? "" : net.error().what));
  auto const words = net->shmem().malloc<std::uint64_t>(heap_words);
  REQUIRE_MESSAGE(words.has_value(), (words ? "" : words.error().what));
  test_node node{gpu, *net, *words, id, s.nodes};
  body(node);
  if (!s.finishes)
    return;
  auto const done = net->finish();
  if (!done && done.error().code == net_errc::already_finished)
    return; // the body has done so
  CHECK_MESSAGE(done, (done ? "" : done.error().what));
}

inline void run_native(job_shape const& s, node_body const& body) {
  std::vector<std::thread> hosts;
  auto const start = [&](std::unique_ptr<transport_port> end) {
    native_scheduler scheduler({.threads = *s.threads, .stall_timeout = s.stall_timeout});
    run_one(scheduler, std::move(end), s, body);
  };
  if (s.over_loopback) {
    auto jobs = make_local_jobs(s.nodes, std::chrono::milliseconds(10'000));
    REQUIRE(jobs.has_value());
    for (auto const& j : *jobs)
      hosts.emplace_back([&start, j] {
        auto end = loopback::open(j);
        REQUIRE_MESSAGE(end.has_value(), (end ? "" : end.error().what));
        start(std::move(*end));
      });
  } else {
    for (auto& end : make_in_process(s.nodes))
      hosts.emplace_back([&start, end = std::move(end)]() mutable { start(std::move(end)); });
  }
  for (std::thread& h : hosts)
    h.join();
}

inline void run_job(job_shape const& s, node_body const& body) {
  CAPTURE(s.configuration);
  CAPTURE(s.nodes);
  CAPTURE(s.wavefront_size);
  CAPTURE(s.seed.value_or(0));
  if (s.threads)
    return run_native(s, body);
  sequential_scheduler scheduler({.seed = s.seed});
  std::vector<std::function<void()>> hosts;
  auto ends = std::make_shared<std::vector<std::unique_ptr<in_process>>>(make_in_process(s.nodes));
  for (std::uint32_t id = 0; id < s.nodes; ++id)
    hosts.emplace_back([&, ends, id] { run_one(scheduler, std::move((*ends)[id]), s, body); });
  scheduler.run(std::move(hosts));
}

/// The same, but no node finishes: those that end early are lost to the others.
inline void run_losing(job_shape s, node_body const& body) {
  s.finishes = false;
  run_job(s, body);
}

/// Where with_every_job() runs its jobs, if it is not in threads of this process: over MPI.
inline void (*elsewhere)(job_shape const& s, node_body const& body) = nullptr;

/// Natively: straight into the other heaps, by messages in process, and over loopback.
inline void with_every_network(job_shape s, node_body const& body) {
  CAPTURE(*s.threads);
  run_job(s, body);
  if (s.nodes == 1)
    return; // nothing leaves it
  {
    INFO("in process, by messages");
    s.shares_memory = false;
    run_job(s, body);
  }
  INFO("loopback");
  s.over_loopback = true;
  run_job(s, body);
}

/// Runs the body on 1, 2 and 4 nodes in the three configurations with device calls: natively with 1
/// and 2 threads a node, over every network; by round robin and by a seed.
inline void with_every_job(node_body const& body) {
  for (auto const name :
       {comp_net::on_command_processor.name, comp_net::apu.name, comp_net::dgpu.name})
    for (std::uint32_t const nodes : {1U, 2U, 4U}) {
      job_shape s{.configuration = name, .nodes = nodes};
      for (std::size_t const threads : {1U, 2U}) {
        s.threads = threads;
        s.wavefront_size = threads == 1 ? 64 : 32;
        elsewhere != nullptr ? elsewhere(s, body) : with_every_network(s, body);
      }
      if (elsewhere != nullptr)
        continue;
      s.threads.reset();
      run_job(s, body);
      s.seed = 7;
      s.wavefront_size = 64;
      run_job(s, body);
    }
}

/// The launch must have ended well.
inline void succeed(outcome const& o) {
  CHECK_MESSAGE(o, (o.get_fault() ? o.get_fault()->report : std::string()));
}

/// Work-groups of 96 work-items: two wavefronts of 64, three of 32.
inline launch_config groups(std::uint32_t count) {
  return {
      .work_groups = count, .work_items_per_group = 96, .lds_bytes = comp_net::context::lds_bytes};
}

/// It ended with such a fault, whose report says so and names the file of whoever asks.
inline void expect(outcome const& o, fault::kind kind, std::string_view says,
                   std::source_location where = std::source_location::current()) {
  REQUIRE(o.get_fault());
  std::string_view const path = where.file_name();
  std::string const file(path.substr(path.rfind('/') + 1));
  INFO(o.get_fault()->report);
  CHECK(to_string(o.get_fault()->what) == to_string(kind));
  CHECK(o.get_fault()->report.find(says) != std::string::npos);
  CHECK(o.get_fault()->report.find(file + ":") != std::string::npos);
}

/// On one node, natively and by a schedule.
inline void with_one_node(node_body const& body) {
  job_shape s;
  s.threads = 2;
  run_job(s, body);
  s.threads.reset();
  run_job(s, body);
}

inline launch_config one_wavefront_each(std::uint32_t count) {
  return {
      .work_groups = count, .work_items_per_group = 64, .lds_bytes = comp_net::context::lds_bytes};
}

} // namespace comp_net_test
