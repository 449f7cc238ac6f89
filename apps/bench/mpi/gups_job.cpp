// SPDX-License-Identifier: Apache-2.0
#include "gups_job.hpp"

#include <mpi.h>

#include <bit>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

namespace quarry::bench {
namespace {

// Above this many updates in the job the serial recomputation would take longer than the run.
constexpr std::uint64_t recomputed_updates = std::uint64_t{1} << 22;

[[noreturn]] void refuse(char const* what, char const* allowed, std::string_view given) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0)
    std::fprintf(stderr, "%s must be %s, not %.*s\n", what, allowed, static_cast<int>(given.size()),
                 given.data());
  MPI_Finalize();
  std::exit(2);
}

std::uint64_t number(char const* name, std::string_view text, std::uint64_t least,
                     std::uint64_t most) {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  bool const whole = error == std::errc{} && end == text.data() + text.size();
  if (whole && value >= least && value <= most)
    return value;
  char allowed[64];
  std::snprintf(allowed, sizeof allowed, "a number from %llu to %llu",
                static_cast<unsigned long long>(least), static_cast<unsigned long long>(most));
  refuse(name, allowed, text);
}

gups_options parse(int argc, char** argv) {
  gups_options o;
  for (int i = 1; i < argc; i += 2) {
    std::string_view const name = argv[i];
    std::string_view const value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--updates-per-node")
      o.updates_per_node = number(argv[i], value, 1, std::uint64_t{1} << 40);
    else if (name == "--table-log2")
      o.table_log2 = static_cast<std::uint32_t>(number(argv[i], value, 1, 32));
    else if (name == "--seed")
      o.seed = number(argv[i], value, 0, ~std::uint64_t{0});
    else if (name == "--update-bytes")
      o.update_bytes = number(argv[i], value, 4, 8);
    else if (name == "--buffer-bytes")
      o.buffer_bytes = number(argv[i], value, 64, 1 << 24);
    else if (name == "--round-updates")
      o.round_updates = number(argv[i], value, 64, 1 << 26);
    else if (name == "--receives-per-node")
      o.receives_per_node = static_cast<std::uint32_t>(number(argv[i], value, 1, 64));
    else
      refuse("an option",
             "--updates-per-node, --table-log2, --seed, --update-bytes, --buffer-bytes, "
             "--round-updates or --receives-per-node",
             name);
  }
  if (o.update_bytes != 4 && o.update_bytes != 8)
    refuse("--update-bytes", "4 or 8", std::to_string(o.update_bytes));
  return o;
}

gups_options initialised(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  return parse(argc, argv);
}

std::uint64_t sum_over_nodes(std::uint64_t mine) {
  std::uint64_t total = 0;
  MPI_Allreduce(&mine, &total, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
  return total;
}

} // namespace

gups_job::gups_job(int argc, char** argv)
    : options_{initialised(argc, argv)}, table_{std::size_t{1} << options_.table_log2} {
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  rank_ = static_cast<std::uint32_t>(rank);
  shape_ = {static_cast<std::uint32_t>(size), options_.table_log2};
  if (!std::has_single_bit(shape_.node_count))
    refuse("the number of processes", "a power of two", std::to_string(size));
}

gups_job::~gups_job() {
  MPI_Finalize();
}

void gups_job::start() {
  // Open MPI connects a pair of processes at their first message: that belongs to start-up.
  std::size_t const words = 64 << 10;
  std::vector<std::uint64_t> out(words * node_count()), in(out.size());
  MPI_Alltoall(out.data(), words, MPI_UINT64_T, in.data(), words, MPI_UINT64_T, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  started_ = MPI_Wtime();
}

void gups_job::stop() {
  MPI_Barrier(MPI_COMM_WORLD);
  seconds_ = MPI_Wtime() - started_;
}

bool gups_job::table_is_right() const {
  auto const stream = updates();
  // Besides the sum of the counters, a sum in which each increment weighs a hash of its place: an
  // update that went astray changes it.
  std::uint64_t expected = 0, counted = 0, weighed = 0;
  for (std::uint64_t i = 0; i < options_.updates_per_node; ++i)
    expected += gups::mix64(stream[i] + 1);
  std::uint64_t const first = rank_ * shape_.entries_per_node();
  for (std::uint64_t place = 0; place < table_.size(); ++place) {
    counted += table_[place];
    weighed += table_[place] * gups::mix64(first + place + 1);
  }
  return sum_over_nodes(counted) == options_.updates_per_node * node_count() &&
         sum_over_nodes(weighed) == sum_over_nodes(expected);
}

bool gups_job::equals_serial_recomputation() const {
  std::vector<std::uint64_t> serial(table_.size());
  for (std::uint32_t node = 0; node < node_count(); ++node) {
    gups::update_stream const stream{shape_, options_.seed, node, options_.updates_per_node};
    for (std::uint64_t i = 0; i < options_.updates_per_node; ++i)
      if (auto const index = stream[i]; shape_.owner(index) == rank_)
        ++serial[shape_.local(index)];
  }
  bool const equal = std::memcmp(serial.data(), table_.data(), table_.size() * 8) == 0;
  return sum_over_nodes(equal ? 0 : 1) == 0;
}

int gups_job::report(char const* program, std::uint64_t messages, std::uint64_t bytes) {
  std::uint64_t const total = options_.updates_per_node * node_count();
  bool const small = total <= recomputed_updates;
  bool const right = table_is_right() && (!small || equals_serial_recomputation());
  std::uint64_t const all_messages = sum_over_nodes(messages);
  std::uint64_t const all_bytes = sum_over_nodes(bytes);
  if (rank_ == 0)
    std::printf("{\"program\": \"%s\", \"nodes\": %u, \"updates\": %llu, \"seconds\": %.6f, "
                "\"updates_per_second\": %.6g, \"messages\": %llu, \"bytes\": %llu, "
                "\"recomputed\": %s, \"correct\": %s}\n",
                program, node_count(), static_cast<unsigned long long>(total), seconds_,
                static_cast<double>(total) / seconds_,
                static_cast<unsigned long long>(all_messages),
                static_cast<unsigned long long>(all_bytes), small ? "true" : "false",
                right ? "true" : "false");
  return right ? 0 : 1;
}

} // namespace quarry::bench
