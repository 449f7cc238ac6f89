// SPDX-License-Identifier: Apache-2.0
// GUPS on MPI with asynchronous aggregation: one buffer per destination fills while full ones are
// under way, and what arrives is applied between two full buffers.
#include "gups_job.hpp"

#include <mpi.h>

#include <vector>

namespace {

using quarry::bench::gups_job;

constexpr int updates_tag = 1;

template<class Update>
class aggregator {
public:
  explicit aggregator(gups_job& job)
      : job_{job}, capacity_{job.options().buffer_bytes / sizeof(Update)},
        me_{static_cast<int>(job.rank())}, peer_count_{static_cast<int>(job.node_count()) - 1},
        receive_count_{peer_count_ * static_cast<int>(job.options().receives_per_node)},
        // Each destination fills one buffer, and may have two more under way.
        send_count_{2 * peer_count_}, send_requests_(send_count_, MPI_REQUEST_NULL),
        receive_requests_(receive_count_, MPI_REQUEST_NULL), open_(job.node_count()),
        sent_(job.node_count()), announced_(job.node_count()) {
    buffers_.resize(capacity_ * static_cast<std::size_t>(send_count_ + peer_count_));
    inbox_.resize(capacity_ * static_cast<std::size_t>(receive_count_));
    completed_.resize(static_cast<std::size_t>(std::max(receive_count_, send_count_)) + 1);
    statuses_.resize(completed_.size());
    std::size_t next = 0;
    for (int node = 0; node <= peer_count_; ++node)
      if (node != me_)
        open_[node] = {buffer(next), 0, next}, ++next;
    for (; next < static_cast<std::size_t>(send_count_ + peer_count_); ++next)
      free_.push_back(next);
    slots_.resize(send_count_);
    for (int i = 0; i < send_count_; ++i)
      free_slots_.push_back(i);
    for (int i = 0; i < receive_count_; ++i)
      post_receive(i);
  }
  ~aggregator() {
    for (auto& request : receive_requests_) {
      MPI_Cancel(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
  }
  aggregator(aggregator const&) = delete;
  aggregator& operator=(aggregator const&) = delete;

  void run() {
    auto const stream = job_.updates();
    auto const shape = job_.shape();
    std::uint64_t const count = job_.options().updates_per_node;
    for (std::uint64_t i = 0; i < count; ++i) {
      std::uint64_t const index = stream[i];
      auto const node = static_cast<int>(shape.owner(index));
      if (node == me_) {
        job_.apply(shape.local(index));
        continue;
      }
      open_buffer& open = open_[node];
      open.data[open.size] = static_cast<Update>(shape.local(index));
      if (++open.size == capacity_)
        send(node);
    }
    finish();
  }

  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
  struct open_buffer {
    Update* data = nullptr;
    std::size_t size = 0;
    std::size_t id = 0;
  };

  [[nodiscard]] Update* buffer(std::size_t id) { return buffers_.data() + id * capacity_; }

  void post_receive(int i) {
    MPI_Irecv(inbox_.data() + static_cast<std::size_t>(i) * capacity_,
              static_cast<int>(capacity_ * sizeof(Update)), MPI_BYTE, MPI_ANY_SOURCE, updates_tag,
              MPI_COMM_WORLD, &receive_requests_[i]);
  }

  /// Hands the open buffer of `node` to MPI and opens a free one; receives while there is none.
  void send(int node) {
    progress();
    while (free_.empty())
      progress();
    open_buffer& open = open_[node];
    int const slot = free_slots_.back();
    free_slots_.pop_back();
    slots_[slot] = open.id;
    std::size_t const size = open.size * sizeof(Update);
    MPI_Isend(open.data, static_cast<int>(size), MPI_BYTE, node, updates_tag, MPI_COMM_WORLD,
              &send_requests_[slot]);
    ++messages_;
    ++sent_[node];
    bytes_ += size;
    open = {buffer(free_.back()), 0, free_.back()};
    free_.pop_back();
  }

  void progress() {
    int done = 0;
    MPI_Testsome(receive_count_, receive_requests_.data(), &done, completed_.data(),
                 statuses_.data());
    for (int i = 0; i < done; ++i) { // MPI_UNDEFINED, without any request, is negative
      int size = 0;
      MPI_Get_count(&statuses_[i], MPI_BYTE, &size);
      Update const* const from =
          inbox_.data() + static_cast<std::size_t>(completed_[i]) * capacity_;
      job_.apply(std::span{from, static_cast<std::size_t>(size) / sizeof(Update)});
      ++received_;
      post_receive(completed_[i]);
    }
    MPI_Testsome(send_count_, send_requests_.data(), &done, completed_.data(), MPI_STATUSES_IGNORE);
    for (int i = 0; i < done; ++i) {
      free_.push_back(slots_[completed_[i]]);
      free_slots_.push_back(completed_[i]);
    }
  }

  /// Sends what is left, tells each node how many messages it gets, and receives as many.
  void finish() {
    for (int node = 0; node <= peer_count_; ++node)
      if (node != me_ && open_[node].size != 0)
        send(node);
    MPI_Request counts = MPI_REQUEST_NULL;
    MPI_Ialltoall(sent_.data(), 1, MPI_UINT64_T, announced_.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD,
                  &counts);
    for (int known = 0; known == 0;) {
      progress();
      MPI_Test(&counts, &known, MPI_STATUS_IGNORE);
    }
    std::uint64_t expected = 0;
    for (std::uint64_t const count : announced_)
      expected += count;
    while (received_ != expected || free_slots_.size() != static_cast<std::size_t>(send_count_))
      progress();
  }

  gups_job& job_;
  std::size_t capacity_; // updates in a buffer
  int me_;
  int peer_count_;
  int receive_count_;
  int send_count_;
  std::vector<MPI_Request> send_requests_;
  std::vector<MPI_Request> receive_requests_;
  std::vector<open_buffer> open_; // one per node; this node's own is never used
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> announced_;
  std::vector<Update> buffers_;
  std::vector<Update> inbox_;
  std::vector<std::size_t> free_;  // buffers that are neither open nor under way
  std::vector<std::size_t> slots_; // the buffer that each send request carries
  std::vector<int> free_slots_;
  std::vector<int> completed_;
  std::vector<MPI_Status> statuses_;
  std::uint64_t received_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

template<class Update>
int run(gups_job& job) {
  aggregator<Update> aggregation{job};
  job.start();
  aggregation.run();
  job.stop();
  return job.report("mpi_aggregator", aggregation.messages(), aggregation.bytes());
}

} // namespace

int main(int argc, char** argv) {
  gups_job job{argc, argv};
  return job.options().update_bytes == 8 ? run<std::uint64_t>(job) : run<std::uint32_t>(job);
}
