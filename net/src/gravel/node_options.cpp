// SPDX-License-Identifier: Apache-2.0
#include "node_options.hpp"

#include "frame.hpp"

#include <quarry/emu/grid.hpp>
#include <quarry/net/job.hpp>

#include <fmt/core.h>

#include <bit>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>

namespace quarry::net::gravel {
namespace {

/// kind, one run's header, one message with a value.
constexpr std::size_t least_buffer_bytes = (1 + run_header_words + 3) * 4;

} // namespace

void check(gravel_node::options const& o, std::span<std::uint64_t> heap, std::uint32_t pe_count) {
  auto const refuse = [](std::string const& text) {
    throw std::invalid_argument("gravel: " + text);
  };
  if (o.buffer_bytes < least_buffer_bytes || o.buffer_bytes > 1024 * 1024 ||
      o.buffer_bytes % 4 != 0)
    refuse(fmt::format("buffers of {} bytes; allowed are multiples of 4 from {} to 1048576",
                       o.buffer_bytes, least_buffer_bytes));
  if (o.buffers_per_node < 2 || o.buffers_per_node > 1024)
    refuse(fmt::format("{} buffers a node; allowed are 2 to 1024", o.buffers_per_node));
  std::uint32_t const most = o.style == simt_direct::name ? 1 : most_aggregators;
  if (o.aggregators == 0 || o.aggregators > most)
    refuse(fmt::format("{} aggregators; allowed {} with the style {}", o.aggregators,
                       most == 1 ? "is 1" : fmt::format("are 1 to {}", most), o.style));
  if (!std::has_single_bit(o.queue_slots) || o.queue_slots > 65'536)
    refuse(fmt::format("{} queue slots; allowed are powers of two to 65536", o.queue_slots));
  if (o.package_columns == 0 || o.package_columns > emu::most_work_items_per_group)
    refuse(fmt::format("packages of {} messages; allowed are 1 to 1024", o.package_columns));
  if (pe_count > 65'536) // what a remote_word can say
    refuse(fmt::format("a job of {} nodes; at most 65536 are allowed", pe_count));
  if (auto const why = refusal_of_timeout(o.timeout.value_or(job{}.timeout)); !why.empty())
    refuse(why);
  constexpr std::chrono::microseconds latest = max_job_timeout;
  if (o.flush_after < std::chrono::microseconds::zero() || o.flush_after > latest)
    refuse(fmt::format("a flush after {} us; allowed are 0 to {}", o.flush_after.count(),
                       latest.count()));
  if (heap.size() >= std::uint64_t{1} << 32)
    refuse(fmt::format("a heap of {} words; fewer than 4294967296 are allowed", heap.size()));
}

} // namespace quarry::net::gravel
