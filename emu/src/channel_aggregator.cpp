// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/channel_aggregator.hpp>

#include <algorithm>
#include <utility>

namespace quarry::emu {

std::optional<std::size_t> drain_in_bulk(std::span<channel_state const> channels, bool is_idle) {
  if (is_idle)
    return drain_last(channels, is_idle);
  for (std::size_t i = channels.size(); i-- != 0;)
    if (channels[i].ready != 0 && channels[i].waiting != 0)
      return i;
  return std::nullopt;
}

std::optional<std::size_t> drain_last(std::span<channel_state const> channels, bool is_idle) {
  for (std::size_t i = channels.size(); i-- != 0;)
    if (channels[i].ready >= channels[i].wavefront_size)
      return i;
  for (std::size_t i = channels.size(); i-- != 0;)
    if (channels[i].ready != 0 && (is_idle || channels[i].waiting != 0))
      return i;
  return std::nullopt;
}

channel_aggregator::~channel_aggregator() {
  for (dispatch const& d : running_)
    static_cast<void>(agent_.wait(*d.launch));
}

template<class Core>
task<bool> channel_aggregator::poll(Core& self) {
  if (is_done())
    co_return false;
  begins_.take();
  bool const finished = finish_dispatches();
  bool reclaimed = false;
  for (auto const& n : nodes_)
    if (n->can_reclaim(self)) {
      n->reclaim(self);
      reclaimed = true;
    }
  std::optional<std::size_t> const next = first_fault_ ? std::nullopt : pick(self);
  if (next)
    start(*next);
  else if (running_.empty() &&
           (first_fault_ || std::all_of(states_.begin(), states_.end(),
                                        [](channel_state const& s) { return s.ready == 0; }))) {
    is_done_.store(true, std::memory_order_release);
    agent_.scheduler().notify();
    co_return true;
  }
  co_return finished || reclaimed || next;
}

template<class Core>
bool channel_aggregator::has_work(Core& self) {
  if (is_done())
    return false;
  auto const has_ended = [](dispatch const& d) { return d.launch->is_done(); };
  return running_.empty() || std::any_of(running_.begin(), running_.end(), has_ended) ||
         std::any_of(nodes_.begin(), nodes_.end(),
                     [&](auto const& n) { return n->can_reclaim(self); }) ||
         (!first_fault_ && pick(self));
}

template task<bool> channel_aggregator::poll(basic_core<native_memory>&);
template task<bool> channel_aggregator::poll(basic_core<interleaving_memory>&);
template bool channel_aggregator::has_work(basic_core<native_memory>&);
template bool channel_aggregator::has_work(basic_core<interleaving_memory>&);

/// What the scheduler says of the channels as they are now.
template<class Core>
std::optional<std::size_t> channel_aggregator::pick(Core& self) {
  states_.clear();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    auto const runs = std::count_if(running_.begin(), running_.end(),
                                    [i](dispatch const& d) { return d.node == i; });
    states_.push_back({nodes_[i]->name(), nodes_[i]->ready(self), static_cast<std::uint32_t>(runs),
                       nodes_[i]->waiting(self), agent_.shape().wavefront_size});
  }
  auto const next = scheduler_(states_, running_.empty());
  return next && states_[*next].ready != 0 ? next : std::nullopt;
}

bool channel_aggregator::finish_dispatches() {
  auto const ended = std::partition(running_.begin(), running_.end(),
                                    [](dispatch const& d) { return !d.launch->is_done(); });
  bool const any = ended != running_.end();
  for (auto d = ended; d != running_.end(); ++d) {
    agent_.retire(*d->launch, true);
    if (d->launch->first_fault && !first_fault_)
      first_fault_ = d->launch->first_fault;
  }
  running_.erase(ended, running_.end());
  return any;
}

void channel_aggregator::start(std::size_t node) {
  std::uint32_t const count = states_[node].ready;
  running_.push_back({nodes_[node]->take(count), node});
  launch_state& l = *running_.back().launch;
  ++counts_.dispatches;
  counts_.elements += count;
  counts_.wavefronts += l.group_count * l.waves_per_group;
  agent_.start(l, native_scheduler::wake_workers::yes);
}

} // namespace quarry::emu
