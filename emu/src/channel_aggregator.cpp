// SPDX-License-Identifier: Apache-2.0
#include "end_of_wait.hpp"
#include "explore/explored_memory.hpp"

#include <quarry/emu/channel_aggregator.hpp>
#include <quarry/what_was_thrown.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <string>
#include <utility>

namespace quarry::emu {
namespace {

/// What f() throws, as the graph's fault: other services of the core go on.
template<class F>
std::optional<fault> fault_of(F const& f) {
  try {
    f();
    return std::nullopt;
  } catch (...) {
    return fault{fault::kind::exception, "channel graph",
                 "channel graph: a dispatch " + what_was_thrown()};
  }
}

} // namespace

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

void channel_aggregator::add(std::unique_ptr<channel_node> n) {
  states_.push_back({n->name(), 0, 0, 0, agent_.shape().wavefront_size});
  nodes_.push_back(std::move(n));
  at_.emplace_back();
}

channel<restart_context>& channel_aggregator::restarts(channel_orders const& orders) {
  machine const& m = agent_.shape();
  // One a slot; done counts of their own: they are consumed in order.
  if (restarts_ == nullptr)
    restarts_ = std::make_unique<channel<restart_context>>(
        agent_.known(), channel_options{.width = std::bit_ceil(m.compute_units * m.wavefront_slots),
                                        .elements_per_done_count = 1,
                                        .orders = orders,
                                        .name = "restart contexts"});
  return *restarts_;
}

outcome channel_aggregator::wait() {
  auto stuck = agent_.wait_until("channel graph", [this] { return is_done(); });
  if (!stuck)
    ends_.take();
  if (explored_memory* const memory = explored_memory::of(agent_.scheduler()))
    memory->to_host();
  agent_.leave_if_abandoned();
  if (!stuck)
    return outcome(first_fault_);
  stuck->report += narrow_channels();
  return end_of_wait(agent_.scheduler(), std::move(stuck));
}

/// Those for whose room somebody waits in vain.
std::string channel_aggregator::narrow_channels() const {
  std::string text;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    channel_node const& n = *nodes_[i];
    channel_usage const u = n.usage();
    std::size_t const yielded = at_[i].blocked.size();
    std::size_t const waiting = u.waiting + yielded;
    if (waiting != 0)
      text += fmt::format("channel {}: {} of {} elements in use, {} {} for room{}\n", n.name(),
                          u.in_use, n.width(), waiting,
                          waiting == 1 ? "producer waits" : "producers wait",
                          yielded == 0 ? "" : fmt::format(" ({} yielded)", yielded));
  }
  if (!text.empty())
    text +=
        "Who waits for room keeps the place of a consumer, and a cycle of channels must hold a "
        "generation of what is under\nway: wider ones do, or any whose wavefronts yield "
        "(channel_options::full) and give back what they have\ntaken before they send (tfree()).\n";
  return text;
}

flow_counts channel_aggregator::totals() const {
  flow_counts sum = counts_;
  for (auto const& n : nodes_)
    sum.channels += n->counts();
  return sum;
}

template<class Core>
task<bool> channel_aggregator::poll(Core& self) {
  if (is_done())
    co_return false;
  begins_.take();
  bool worked = finish_dispatches();
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (look(self, i)) {
      nodes_[i]->reclaim(self);
      worked = true;
    }
  if (restarts_ != nullptr)
    worked = take_restarts(self) || worked;
  if (blocked_ != 0 && !first_fault_)
    worked = restart_blocked(self) || worked;
  bool const dispatches = !first_fault_ && dispatch();
  if (!dispatches && running_.is_empty() && (first_fault_ || is_nothing_ready())) {
    check_enqueued();
    ends_.give();
    is_done_.store(true, std::memory_order_release);
    agent_.scheduler().notify();
    co_return true;
  }
  co_return worked || dispatches;
}

/// Starts what the scheduler picks. False if it picks nothing.
bool channel_aggregator::dispatch() {
  bool dispatches = false;
  // The scheduler, the arguments' copies and who watches are the user's.
  auto thrown = fault_of([&] {
    std::optional<channel_choice> const next = pick();
    dispatches = next.has_value();
    if (next)
      start(*next);
  });
  if (thrown)
    blame(std::move(*thrown));
  return dispatches;
}

/// Who has allocated elements and has ended will not enqueue them.
void channel_aggregator::check_enqueued() {
  bool const is_explored = explored_memory::of(agent_.scheduler()) != nullptr;
  for (auto const& n : nodes_)
    if (std::uint64_t const lost = n->not_enqueued(is_explored); lost != 0 && !first_fault_)
      blame({fault::kind::misuse, "channel graph",
             fmt::format("channel graph: {} element{} of {} {} allocated and never enqueued: no "
                         "consumer gets {}, and no producer the room",
                         lost, lost == 1 ? "" : "s", n->name(), lost == 1 ? "was" : "were",
                         lost == 1 ? "it" : "them")});
}

bool channel_aggregator::is_nothing_ready() const {
  return std::all_of(states_.begin(), states_.end(),
                     [](channel_state const& s) { return s.ready == 0; });
}

template<class Core>
bool channel_aggregator::has_work(Core& self) {
  if (is_done())
    return false;
  if (running_.is_empty() || running_.any_ended() ||
      (restarts_ != nullptr && restarts_->ready(self) != 0))
    return true;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (look(self, i))
      return true;
  if (first_fault_)
    return false;
  if (can_restart(self))
    return true;
  bool is_wanted = false;
  // A scheduler that throws does so again in poll(), which says what.
  return fault_of([&] { is_wanted = pick().has_value(); }) || is_wanted;
}

template task<bool> channel_aggregator::poll(basic_core<native_memory>&);
template task<bool> channel_aggregator::poll(basic_core<interleaving_memory>&);
template bool channel_aggregator::has_work(basic_core<native_memory>&);
template bool channel_aggregator::has_work(basic_core<interleaving_memory>&);

/// Takes note of what a channel is like now. Can it be reclaimed?
template<class Core>
bool channel_aggregator::look(Core& self, std::size_t node) {
  channel_node::sight const s = nodes_[node]->look(self);
  states_[node].ready = s.ready;
  at_[node].waiting = s.waiting;
  return s.can_reclaim;
}

/// What the scheduler says of the channels as they were when it has looked.
std::optional<channel_choice> channel_aggregator::pick() {
  for (std::size_t i = 0; i < states_.size(); ++i) {
    states_[i].running = at_[i].running;
    states_[i].waiting = at_[i].waiting + static_cast<std::uint32_t>(at_[i].blocked.size());
  }
  auto const next = scheduler_(states_, running_.is_empty());
  if (next && next->channel >= states_.size())
    throw std::out_of_range(fmt::format("the graph's scheduler picks channel {}; there are {}",
                                        next->channel, states_.size()));
  return next && next->most != 0 && states_[next->channel].ready != 0 ? next : std::nullopt;
}

bool channel_aggregator::finish_dispatches() {
  std::optional<fault> found;
  bool const any = running_.finish([&](launch_state const& l, std::size_t node) {
    --at_[node].running;
    if (l.first_fault && !found)
      found = l.first_fault;
  });
  if (found)
    fail(std::move(*found));
  return any;
}

void channel_aggregator::start(channel_choice next) {
  std::size_t const node = next.channel;
  std::uint32_t const count = std::min(states_[node].ready, next.most);
  auto l = nodes_[node]->take(count, next.hint);
  std::uint64_t const wavefronts = l->group_count * l->waves_per_group;
  running_.start(std::move(l), node);
  ++counts_.dispatches;
  counts_.elements += count;
  counts_.wavefronts += wavefronts;
  ++at_[node].running;
  if (watch_)
    watch_(counts_);
}

// Wavefronts that have yielded

void channel_aggregator::blame(fault f) {
  found_where_explored(agent_.scheduler(), f);
  fail(std::move(f));
}

/// A kernel's, which is known already.
void channel_aggregator::fail(fault f) {
  if (first_fault_)
    return;
  first_fault_ = std::move(f);
  running_.stop(*first_fault_); // or they might wait for room for ever
}

/// Where orders are explored that are too weak, it may be read before it is written.
bool channel_aggregator::is_sane(restart_context const& c) const noexcept {
  return !agent_.scheduler().decides() || (c.channel < nodes_.size() && agent_.has_wave(c.wave));
}

/// Moves what has come through the channel to where it is known who waits for what.
template<class Core>
bool channel_aggregator::take_restarts(Core& self) {
  std::uint32_t const count = restarts_->ready(self);
  if (count == 0)
    return false;
  std::uint64_t const first = restarts_->take(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    restart_context const c = self.load(restarts_->deq(self, first + i));
    restarts_->tfree(self, first + i);
    if (!is_sane(c)) {
      blame(
          {fault::kind::misuse, "channel graph",
           "channel graph: a restart context names no wavefront: it was read before it was there"});
      return true;
    }
    at_[c.channel].blocked.push_back(c);
    ++blocked_;
    ++counts_.yields;
    counts_.yielded_bytes += c.bytes;
  }
  counts_.most_parked = std::max(counts_.most_parked, blocked_);
  static_cast<void>(restarts_->reclaim(self));
  return true;
}

/// Those for which there is room, channel after channel; the deepest first, so that it drains.
template<class Core>
bool channel_aggregator::restart_blocked(Core& self) {
  bool any = false;
  for (std::size_t i = nodes_.size(); i-- != 0;) {
    std::deque<restart_context>& waiting = at_[i].blocked;
    if (waiting.empty())
      continue;
    for (std::uint32_t room = nodes_[i]->room(self); !waiting.empty();) {
      restart_context const c = waiting.front();
      if (c.count > room)
        break;
      room -= c.count;
      waiting.pop_front();
      --blocked_;
      c.restart();
      any = true;
    }
  }
  return any;
}

template<class Core>
bool channel_aggregator::can_restart(Core& self) {
  if (blocked_ != 0)
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (!at_[i].blocked.empty() && at_[i].blocked.front().count <= nodes_[i]->room(self))
        return true;
  return false;
}

} // namespace quarry::emu
