// SPDX-License-Identifier: Apache-2.0
#include "cluster.hpp"

#include "memory_need.hpp"

#include <quarry/net/in_process.hpp>
#include <quarry/net/loopback.hpp>
#include <quarry/net/mpi.hpp>
#include <quarry/sigquit.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <future>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace quarry::command {
namespace {

error as_error(std::exception const& e) {
  return {std::make_error_code(std::errc::state_not_recoverable), message_of(e)};
}

/// One node from its transport to its goodbye.
result<void> run_node(run_options const& o, native_scheduler& scheduler,
                      std::unique_ptr<net::transport_port> transport, std::size_t heap_bytes,
                      node_body const& body) {
  program_agent gpu(scheduler, machine_of(o), {.checks_bounds = o.checks_bounds});
  net::symmetric_heap heap(heap_bytes);
  std::uint32_t const id = transport->self().id;
  std::uint32_t const count = transport->pe_count();
  net::gravel::gravel_node net(gpu.core(), std::move(transport), heap.words(),
                               {.style = name_of(style_choices, o.style.value()),
                                .aggregators = o.aggregator_count,
                                .timeout = o.timeout});
  cluster_node node{id, count, scheduler, gpu, heap, net};
  if (auto const done = body(node); !done)
    return done;
  return net.finish();
}

result<void> guarded(connected_body const& body, native_scheduler& scheduler,
                     std::unique_ptr<net::transport_port> transport) {
  try {
    return body(scheduler, std::move(transport));
  } catch (std::exception const& e) {
    return as_error(e);
  }
}

template<net::transport T>
result<std::unique_ptr<net::transport_port>> opened(net::job const& j) {
  auto transport = T::open(j);
  if (!transport)
    return transport.error();
  return std::unique_ptr<net::transport_port>(std::move(*transport));
}

using schedulers = std::vector<std::unique_ptr<native_scheduler>>;

/// A node on each of them, in a thread each.
///
/// Errors   the first node's; std::system_error – a thread cannot be started
result<void> run_in_process(schedulers const& places, connected_body const& body) {
  std::mutex mutex;
  std::optional<error> first;
  // None runs before all are there: the last thread may want the memory that the first ones take.
  std::promise<bool> are_all_here;
  std::shared_future<bool> const may_run = are_all_here.get_future().share();
  std::vector<std::jthread> threads;
  auto const refuse = [&](std::error_code why) {
    are_all_here.set_value(false);
    throw std::system_error(why, fmt::format("a thread for each of {} nodes", places.size()));
  };
  try {
    for (auto& end : net::make_in_process(static_cast<std::uint32_t>(places.size())))
      threads.emplace_back(
          [&, may_run, end = std::move(end), &place = *places[threads.size()]]() mutable {
            if (!may_run.get())
              return;
            auto const done = guarded(body, place, std::move(end));
            std::lock_guard const lock(mutex);
            if (!done && !first)
              first = done.error();
          });
  } catch (std::system_error const& e) {
    refuse(e.code());
  } catch (std::bad_alloc const&) {
    refuse(std::make_error_code(std::errc::not_enough_memory));
  }
  are_all_here.set_value(true);
  threads.clear(); // when they have ended
  if (first)
    return *first;
  return {};
}

} // namespace

emu::machine machine_of(run_options const& o) {
  emu::machine m;
  m.compute_units = o.compute_unit_count != 0 ? o.compute_unit_count : threads_per_node(o);
  m.wavefront_size = o.wavefront_size;
  return m;
}

result<void> run_connected(run_options const& options, connected_body const& body) {
  schedulers places;
  std::vector<executor*> reported;
  for (std::uint32_t i = 0; i < (options.job ? 1 : options.node_count); ++i) {
    places.push_back(std::make_unique<native_scheduler>(native_scheduler::options{
        .threads = threads_per_node(options), .stall_timeout = 3 * options.timeout}));
    reported.push_back(places.back().get());
  }
  sigquit_report const on_sigquit(reported);
  if (options.job) {
    auto transport = options.transport == transport_kind::mpi ? opened<net::mpi>(*options.job)
                                                              : opened<net::loopback>(*options.job);
    if (!transport)
      return transport.error();
    return guarded(body, *places[0], std::move(*transport));
  }
  return run_in_process(places, body);
}

result<void> run_nodes(run_options const& options, std::size_t heap_bytes, node_body const& body) {
  return run_connected(
      options, [&](native_scheduler& scheduler, std::unique_ptr<net::transport_port> transport) {
        return run_node(options, scheduler, std::move(transport), heap_bytes, body);
      });
}

std::uint64_t gravel_bytes(run_options const& options) {
  net::gravel::gravel_node::options const buffers;
  return std::uint64_t{buffers.buffer_bytes} * buffers.buffers_per_node * options.node_count *
         options.aggregator_count;
}

void add_traffic(program_result& result, net::gravel::statistics const& counts) {
  double const average = counts.frames == 0 ? 0.0
                                            : static_cast<double>(counts.frame_bytes) /
                                                  static_cast<double>(counts.frames);
  result.figures.push_back({"messages", counts.frames, ""});
  result.figures.push_back({"average message", average, "B"});
  result.figures.push_back({"on the wire", counts.wire_bytes, "B"});
}

} // namespace quarry::command
