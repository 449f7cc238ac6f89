// SPDX-License-Identifier: Apache-2.0
// GUPS on MPI with asynchronous aggregation: one buffer per destination fills while full ones are
// under way, and what arrives is applied between two full buffers.
#include "gups_job.hpp"

#include <mpi.h>

#include <algorithm>
#include <vector>

namespace {

using quarry::bench::gups_job;

constexpr int updates_tag = 1;

template<class Update>
class aggregator {
public:
  explicit aggregator(gups_job& job);
  ~aggregator();
  aggregator(aggregator const&) = delete;
  aggregator& operator=(aggregator const&) = delete;

  void run();

  [[nodiscard]] std::uint64_t messages() const noexcept { return messages_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

private:
  /// The buffer that updates for one node are written to.
  struct open_buffer {
    Update* data;
    std::size_t size;
  };

  void flush(std::uint32_t node);
  void send(std::uint32_t node);
  void post_receive(int i);
  void progress();
  void receive_all();

  gups_job& job_;
  std::size_t capacity_; // updates in a buffer
  std::vector<MPI_Request> sends_;
  std::vector<MPI_Request> receives_;
  std::vector<Update> outbox_;     // a buffer per node, and one per send
  std::vector<Update> inbox_;      // a buffer per receive
  std::vector<open_buffer> open_;  // per node
  std::vector<Update*> free_;      // buffers that are neither open nor under way
  std::vector<int> idle_;          // sends that carry nothing
  std::vector<Update*> under_way_; // the buffer of each send
  std::vector<int> completed_;     // what MPI_Testsome found
  std::vector<MPI_Status> statuses_;
  std::vector<std::uint64_t> sent_; // messages to each node
  std::uint64_t received_ = 0;
  std::uint64_t messages_ = 0;
  std::uint64_t bytes_ = 0;
};

template<class Update>
aggregator<Update>::aggregator(gups_job& job)
    : job_{job}, capacity_{job.options().buffer_bytes / sizeof(Update)},
      // Each destination may have two buffers under way while it fills a third.
      sends_(2 * std::size_t{job.node_count() - 1}, MPI_REQUEST_NULL),
      receives_(std::size_t{job.options().receives_per_node} * (job.node_count() - 1),
                MPI_REQUEST_NULL),
      outbox_(capacity_ * (job.node_count() + sends_.size())), inbox_(capacity_ * receives_.size()),
      under_way_(sends_.size()), completed_(std::max(sends_.size(), receives_.size())),
      statuses_(completed_.size()), sent_(job.node_count()) {
  for (std::size_t i = 0; i < outbox_.size(); i += capacity_)
    free_.push_back(&outbox_[i]);
  for (std::uint32_t node = 0; node < job.node_count(); ++node) {
    open_.push_back({free_.back(), 0});
    free_.pop_back();
  }
  for (std::size_t i = 0; i < sends_.size(); ++i)
    idle_.push_back(static_cast<int>(i));
  for (std::size_t i = 0; i < receives_.size(); ++i)
    post_receive(static_cast<int>(i));
}

template<class Update>
aggregator<Update>::~aggregator() {
  for (auto& request : receives_) {
    MPI_Cancel(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
}

template<class Update>
void aggregator<Update>::run() {
  job_.generate(0, job_.options().updates_per_node,
                [this](std::uint32_t node, std::uint64_t place) {
                  open_buffer& open = open_[node];
                  open.data[open.size] = static_cast<Update>(place);
                  if (++open.size == capacity_)
                    flush(node);
                });
  for (std::uint32_t node = 0; node < job_.node_count(); ++node)
    if (open_[node].size != 0)
      flush(node);
  receive_all();
}

/// Empties the open buffer of `node`: to MPI, or for this node itself to the table.
template<class Update>
void aggregator<Update>::flush(std::uint32_t node) {
  if (node != job_.rank())
    return send(node);
  job_.apply(std::span<Update const>{open_[node].data, open_[node].size});
  open_[node].size = 0;
}

/// Hands the open buffer of `node` to MPI and opens a free one; receives while there is none.
template<class Update>
void aggregator<Update>::send(std::uint32_t node) {
  do
    progress();
  while (idle_.empty());
  open_buffer& open = open_[node];
  int const i = idle_.back();
  idle_.pop_back();
  under_way_[i] = open.data;
  std::size_t const size = open.size * sizeof(Update);
  MPI_Isend(open.data, static_cast<int>(size), MPI_BYTE, static_cast<int>(node), updates_tag,
            MPI_COMM_WORLD, &sends_[i]);
  ++messages_;
  ++sent_[node];
  bytes_ += size;
  // There is one: every idle send owns a free buffer.
  open = {free_.back(), 0};
  free_.pop_back();
}

template<class Update>
void aggregator<Update>::post_receive(int i) {
  MPI_Irecv(inbox_.data() + static_cast<std::size_t>(i) * capacity_,
            static_cast<int>(capacity_ * sizeof(Update)), MPI_BYTE, MPI_ANY_SOURCE, updates_tag,
            MPI_COMM_WORLD, &receives_[i]);
}

/// Applies what has arrived, and takes back the buffers that have left.
template<class Update>
void aggregator<Update>::progress() {
  int done = 0;
  MPI_Testsome(static_cast<int>(receives_.size()), receives_.data(), &done, completed_.data(),
               statuses_.data());
  for (int k = 0; k < done; ++k) { // with no request at all `done` is MPI_UNDEFINED, negative
    int const i = completed_[k];
    int size = 0;
    MPI_Get_count(&statuses_[k], MPI_BYTE, &size);
    Update const* const from = inbox_.data() + static_cast<std::size_t>(i) * capacity_;
    job_.apply(std::span<Update const>{from, static_cast<std::size_t>(size) / sizeof(Update)});
    ++received_;
    post_receive(i);
  }
  MPI_Testsome(static_cast<int>(sends_.size()), sends_.data(), &done, completed_.data(),
               MPI_STATUSES_IGNORE);
  for (int k = 0; k < done; ++k) {
    free_.push_back(under_way_[completed_[k]]);
    idle_.push_back(completed_[k]);
  }
}

/// Tells each node how many messages were sent to it, and receives as many as were sent here.
template<class Update>
void aggregator<Update>::receive_all() {
  std::vector<std::uint64_t> announced(job_.node_count());
  MPI_Request counts = MPI_REQUEST_NULL;
  MPI_Ialltoall(sent_.data(), 1, MPI_UINT64_T, announced.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD,
                &counts);
  for (int known = 0; known == 0;) {
    progress();
    MPI_Test(&counts, &known, MPI_STATUS_IGNORE);
  }
  std::uint64_t expected = 0;
  for (std::uint64_t const count : announced)
    expected += count;
  while (received_ != expected || idle_.size() != sends_.size())
    progress();
}

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
