// SPDX-License-Identifier: Apache-2.0
// GUPS on MPI in bulk-synchronous rounds: generate, sort by destination, exchange, apply.
#include "gups_job.hpp"

#include <mpi.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace {

using quarry::bench::gups_job;

template<class Update>
class exchanger {
public:
  explicit exchanger(gups_job& job)
      : job_{job}, round_{std::min(job.options().round_updates, job.options().updates_per_node)},
        nodes_{job.node_count()}, outbox_(round_ * nodes_),
        inbox_(2 * round_ + std::uint64_t{1024} * nodes_), send_counts_(nodes_),
        send_places_(nodes_), receive_counts_(nodes_), receive_places_(nodes_) {
    // Every destination has room for a whole round, so that one pass over the updates sorts them.
    for (std::uint32_t node = 0; node < nodes_; ++node)
      send_places_[node] = static_cast<int>(node * round_ * sizeof(Update));
  }

  void run() {
    std::uint64_t const count = job_.options().updates_per_node;
    for (std::uint64_t first = 0; first < count; first += round_) {
      generate(first, std::min(first + round_, count));
      exchange();
    }
  }

  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
  void generate(std::uint64_t first, std::uint64_t last) {
    std::uint32_t const me = job_.rank();
    std::vector<Update*>& ends = ends_;
    ends.resize(nodes_);
    for (std::uint32_t node = 0; node < nodes_; ++node)
      ends[node] = outbox_.data() + node * round_;
    job_.generate(first, last, [&ends](std::uint32_t node, std::uint64_t place) {
      *ends[node]++ = static_cast<Update>(place);
    });
    for (std::uint32_t node = 0; node < nodes_; ++node) {
      auto const size = ends[node] - (outbox_.data() + node * round_);
      send_counts_[node] = static_cast<int>(static_cast<std::size_t>(size) * sizeof(Update));
    }
    // This node's own updates do not travel.
    job_.apply(std::span<Update const>{outbox_.data() + me * round_, ends[me]});
    send_counts_[me] = 0;
  }

  void exchange() {
    MPI_Alltoall(send_counts_.data(), 1, MPI_INT, receive_counts_.data(), 1, MPI_INT,
                 MPI_COMM_WORLD);
    std::exclusive_scan(receive_counts_.begin(), receive_counts_.end(), receive_places_.begin(), 0);
    auto const size =
        static_cast<std::size_t>(receive_places_.back() + receive_counts_.back()) / sizeof(Update);
    if (size > inbox_.size())
      inbox_.resize(size);
    MPI_Alltoallv(outbox_.data(), send_counts_.data(), send_places_.data(), MPI_BYTE, inbox_.data(),
                  receive_counts_.data(), receive_places_.data(), MPI_BYTE, MPI_COMM_WORLD);
    for (int const count : send_counts_) {
      messages_ += count != 0 ? 1 : 0;
      bytes_ += static_cast<std::uint64_t>(count);
    }
    job_.apply(std::span<Update const>{inbox_.data(), size});
  }

  gups_job& job_;
  std::uint64_t round_; // updates that a node generates between two exchanges
  std::uint32_t nodes_;
  std::vector<Update> outbox_;
  std::vector<Update> inbox_;
  std::vector<Update*> ends_;
  std::vector<int> send_counts_; // in bytes, as the places
  std::vector<int> send_places_;
  std::vector<int> receive_counts_;
  std::vector<int> receive_places_;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

template<class Update>
int run(gups_job& job) {
  exchanger<Update> exchange{job};
  job.start();
  exchange.run();
  job.stop();
  return job.report("mpi_alltoallv", exchange.messages(), exchange.bytes());
}

} // namespace

int main(int argc, char** argv) {
  gups_job job{argc, argv};
  return job.options().update_bytes == 8 ? run<std::uint64_t>(job) : run<std::uint32_t>(job);
}
