// SPDX-License-Identifier: Apache-2.0
#include "memory_need.hpp"

#include "exit_status.hpp"

#include <quarry/memory_limits.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

namespace quarry::command {
namespace {

double gigabytes(std::uint64_t bytes) {
  return static_cast<double>(bytes) / 1e9;
}

constexpr char const* out_of_memory =
    "out of memory: the machine has no more, or a limit (ulimit) allows no more";

std::terminate_handler const say_and_abort = std::get_terminate();

/// Of an exception or none.
bool is_want_of_memory(std::exception_ptr const& thrown) {
  try {
    if (thrown)
      std::rethrow_exception(thrown);
    return false;
  } catch (std::bad_alloc const&) {
    return true;
  } catch (...) {
    return false;
  }
}

[[noreturn]] void terminate() {
  if (is_want_of_memory(std::current_exception())) {
    std::fprintf(stderr, "quarry: %s\n", out_of_memory);
    std::_Exit(world_fault);
  }
  say_and_abort();
  std::abort();
}

} // namespace

void terminate_for_want_of_memory() {
  std::set_terminate(terminate);
}

void need_memory(std::string const& options, std::uint64_t bytes) {
  if (auto const most = std::min(machine_memory(), process_memory()); bytes > most)
    refuse(options, fmt::format("needs {:.3g} GB of memory, allowed are {:.3g} GB",
                                gigabytes(bytes), gigabytes(most)));
}

void need_memory(run_options const& o, std::string const& options, std::uint64_t bytes_per_node) {
  if (o.transport == transport_kind::in_process)
    return need_memory(options, bytes_per_node * o.node_count);
  need_memory(options, bytes_per_node);
  auto const most = machine_memory() / o.node_count;
  if (o.transport == transport_kind::loopback && bytes_per_node > most)
    refuse(options,
           fmt::format("each of {} processes needs {:.3g} GB of memory, allowed are {:.3g} GB",
                       o.node_count, gigabytes(bytes_per_node), gigabytes(most)));
}

std::uint64_t allowed_bytes_per_node(run_options const& o) {
  std::uint64_t const shared = machine_memory() / o.node_count;
  if (o.transport == transport_kind::in_process)
    return std::min(shared, process_memory() / o.node_count);
  return std::min(o.transport == transport_kind::loopback ? shared : machine_memory(),
                  process_memory());
}

std::string message_of(std::exception const& e) {
  if (dynamic_cast<std::bad_alloc const*>(&e) != nullptr)
    return out_of_memory;
  return e.what();
}

} // namespace quarry::command
