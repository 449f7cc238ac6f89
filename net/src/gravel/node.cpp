// SPDX-License-Identifier: Apache-2.0
#include "aggregator.hpp"
#include "collective.hpp"
#include "direct_aggregator.hpp"
#include "frame.hpp"
#include "network_interface.hpp"
#include "node_options.hpp"
#include "running_handler.hpp"
#include "shared_state.hpp"

#include <quarry/native_scheduler.hpp>
#include <quarry/net/error.hpp>
#include <quarry/net/gravel.hpp>
#include <quarry/strand.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <deque>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

namespace quarry::net::gravel {
namespace {

using handler = message_handler;

constexpr std::size_t most_gathered_bytes = 4096;

} // namespace

/// A node's queues and actors, whatever memory model and style they are made for.
class gravel_node::pipeline {
public:
  enum class direct : std::uint8_t { yes, no };

  pipeline(emu::agent_core& agent, std::unique_ptr<transport_port> transport,
           std::span<std::uint64_t> heap, options const& o, direct writes)
      : transport_(std::move(transport)), heap_(heap),
        known_heap_(agent.known(), heap.data(), heap.size_bytes(),
                    "symmetric heap of " + to_string(transport_->self())),
        packages_(agent.known(), writes == direct::yes ? 1 : o.queue_slots, o.package_columns),
        shared_(agent, o, queue_slots(o), {transport_->self(), transport_->pe_count(), heap.size()},
                o.timeout.value_or(transport_->timeout())),
        interface_(agent.scheduler(),
                   fmt::format("network interface of {}", to_string(transport_->self()))) {
    std::size_t const words = o.buffer_bytes / sizeof(std::uint32_t);
    for (std::uint32_t i = 0; i < o.aggregators; ++i)
      shared_.buffers.push_back(
          std::make_unique<buffer_set>(agent.known(), buffer_count(o), words));
    if (writes == direct::yes) {
      buffer_set& set = *shared_.buffers.front();
      // What the network takes is the host's: of explored memory it is a copy (copy_out()).
      if (agent.scheduler().decides())
        direct_storage_.emplace(agent.known(), set.storage.size(), "per-node direct buffers");
      direct_.emplace(agent.known(), (direct_storage_ ? *direct_storage_ : set.storage).global(),
                      buffer_count(o), words, transport_->pe_count(), o.direct);
    }
    device_.emplace(packages_, heap, transport_->pe_count(), shared_,
                    direct_ ? &*direct_ : nullptr);
  }
  virtual ~pipeline() = default;
  pipeline(pipeline const&) = delete;
  pipeline& operator=(pipeline const&) = delete;

  [[nodiscard]] virtual statistics counts() const = 0;
  [[nodiscard]] virtual std::uint64_t operations() const noexcept = 0;

  /// Nobody sends anything any more, and what others wait for has left; the actors stay, for
  /// kernels that are about to learn of it.
  void leave() {
    drop_idle_wait();
    shared_.leaves.store(true, std::memory_order_release);
    if (!shared_.fail(make_error(net_errc::already_finished, "gravel: this node has finished"))) {
      shared_.leaves.store(false, std::memory_order_release);
      return stop(); // it fails just now, which others are to hear
    }
    run_actors_until([this] { return shared_.has_left.load(std::memory_order_acquire); });
  }
  /// Lets the actors end, and waits until they have.
  void stop() {
    drop_idle_wait();
    shared_.stops.store(true, std::memory_order_release);
    run_actors_until([this] { return shared_.running.load(std::memory_order_acquire) == 0; });
  }

  /// Who calls it is `what`, for its error.
  result<void> quiet(char const* what) {
    running_handler::refuse(what);
    std::uint64_t const number = shared_.quiet_requested.load(std::memory_order_relaxed) + 1;
    shared_.quiet_begins.give();
    shared_.quiet_requested.store(number, std::memory_order_release);
    return wait(shared_.quiet_done, number, shared_.quiet_ends, what);
  }

  result<std::vector<std::vector<std::byte>>> gather(std::span<std::byte const> mine,
                                                     collective what) {
    char const* const name = to_string(what);
    running_handler::refuse(name);
    if (mine.size() > most_gathered_bytes)
      throw std::invalid_argument(fmt::format("gravel: {} of {} bytes; at most {}", name,
                                              mine.size(), most_gathered_bytes));
    if (shared_.has_failed())
      return shared_.failed(name);
    shared_.gather_mine.assign(1, static_cast<std::byte>(what));
    shared_.gather_mine.insert(shared_.gather_mine.end(), mine.begin(), mine.end());
    std::uint64_t const number = shared_.gather_requested.load(std::memory_order_relaxed) + 1;
    shared_.gather_begins.give();
    shared_.gather_requested.store(number, std::memory_order_release);
    if (auto const w = wait(shared_.gather_done, number, shared_.gather_ends, name); !w)
      return w.error();
    auto all = std::move(shared_.gather_all);
    for (std::uint32_t n = 0; n < all.size(); ++n) {
      auto const theirs = static_cast<collective>(all[n].front());
      if (theirs != what) {
        shared_.fail(
            make_error(net_errc::mismatched_collective,
                       fmt::format("gravel: {} is in {} while {} is in {}", to_string(pe{n}),
                                   to_string(theirs), to_string(transport_->self()), name)));
        return shared_.failed(name);
      }
      all[n].erase(all[n].begin());
    }
    return all;
  }

  /// As many bytes from each.
  result<std::vector<std::vector<std::byte>>> gather_alike(std::span<std::byte const> mine,
                                                           collective what) {
    auto all = gather(mine, what);
    if (!all)
      return all;
    for (std::uint32_t n = 0; n < all->size(); ++n)
      if ((*all)[n].size() != mine.size())
        return make_error(net_errc::mismatched_collective,
                          fmt::format("gravel: {}: {} bytes from {}, {} from {}", to_string(what),
                                      (*all)[n].size(), to_string(pe{n}), mine.size(),
                                      to_string(transport_->self())));
    return all;
  }

  result<void> barrier(collective what) {
    if (auto const q = quiet(to_string(what)); !q)
      return q;
    std::uint64_t const own = handlers_.size();
    auto const all = gather_alike(std::as_bytes(std::span(&own, 1)), what);
    if (!all)
      return all.error();
    for (std::uint32_t n = 0; n < all->size(); ++n) {
      std::uint64_t theirs = 0;
      std::memcpy(&theirs, (*all)[n].data(), sizeof theirs);
      if (theirs != own) {
        shared_.fail(make_error(
            net_errc::mismatched_job,
            fmt::format(
                "gravel: {} has added {} handlers, and {} has added {}; all nodes add the same "
                "ones, before the first barrier",
                to_string(pe{n}), theirs, to_string(transport_->self()), own)));
        return shared_.failed(to_string(what));
      }
    }
    return {};
  }

  /// Who is in the transport is waited for, unless one thread does all.
  std::uint64_t wire_bytes() const {
    running_handler::refuse("counts"); // it would wait for the transport that it is in
    bool const enters = !shared_.scheduler.decides();
    if (enters)
      for (transport_->interrupt(); !transport_->try_enter();)
        std::this_thread::yield();
    std::uint64_t const bytes = transport_->wire_bytes();
    if (enters)
      transport_->leave();
    return bytes;
  }

  /// Runs actors until `done` follows `requested`, or the job has failed.
  result<void> wait(std::atomic<std::uint64_t> const& done, std::uint64_t requested,
                    emu::handover const& ends, char const* what) {
    auto const is_over = [&] {
      return done.load(std::memory_order_acquire) == requested || shared_.has_failed();
    };
    auto const begun = std::chrono::steady_clock::now();
    bool over = false;
    do // other nodes may compute for longer than a native scheduler sees nothing progress here
      over = shared_.scheduler.run_until(is_over);
    while (!over && !shared_.scheduler.decides() &&
           std::chrono::steady_clock::now() - begun < shared_.timeout);
    if (!over)
      shared_.fail(make_error(net_errc::timeout,
                              fmt::format("gravel: it does not end; nothing progresses\n{}",
                                          shared_.scheduler.report_now().to_string())));
    if (shared_.has_failed())
      return shared_.failed(what);
    ends.take();
    emu::bring_to_host(); // what has arrived in its heap
    return {};
  }

protected:
  friend class gravel_node;

  std::unique_ptr<transport_port> transport_;
  std::span<std::uint64_t> heap_;
  emu::registration known_heap_;
  package_queue packages_;
  std::vector<handler> handlers_;
  shared_state shared_;
  std::optional<emu::buffer<std::uint32_t>> direct_storage_;
  std::optional<direct_buffers> direct_; ///< SIMT-direct's
  std::optional<endpoint> device_;
  strand interface_;

  std::uint32_t buffer_count(options const& o) const {
    return static_cast<std::uint32_t>(o.buffers_per_node) * transport_->pe_count();
  }
  std::uint32_t queue_slots(options const& o) const {
    // Every buffer may be in it, and the quiet markers.
    return std::bit_ceil(o.aggregators * buffer_count(o) + 8);
  }
  /// Or until nobody can go on: then the strands take their actors with them.
  template<class Predicate>
  void run_actors_until(Predicate const& is_over) {
    while (!shared_.scheduler.run_until(is_over))
      if (shared_.scheduler.decides())
        return;
  }
  void drop_idle_wait() {
    if (auto* const native = dynamic_cast<native_scheduler*>(&shared_.scheduler))
      native->set_idle_wait(nullptr);
  }
  void use_idle_wait() {
    auto* const native = dynamic_cast<native_scheduler*>(&shared_.scheduler);
    if (native == nullptr)
      return;
    native->set_idle_wait([this](std::chrono::nanoseconds at_most) {
      if (!transport_->try_enter())
        return false;
      auto const begun = std::chrono::steady_clock::now();
      transport_->wait(at_most);
      transport_->leave();
      return std::chrono::steady_clock::now() - begun < at_most;
    });
  }
};

template<emu::memory_model M, style S>
class gravel_node::pipeline_of final : public pipeline {
public:
  pipeline_of(emu::agent_core& agent, std::unique_ptr<transport_port> transport,
              std::span<std::uint64_t> heap, options const& o)
      : pipeline(agent, std::move(transport), heap, o,
                 S::writes_directly ? direct::yes : direct::no),
        network_(shared_, *transport_, heap_, handlers_) {
    shared_.running.store(o.aggregators + 1, std::memory_order_relaxed);
    use_idle_wait();
    interface_.spawn(network_.run(),
                     fmt::format("network interface of {}", to_string(transport_->self())));
    for (std::uint32_t i = 0; i < o.aggregators; ++i)
      aggregations_.emplace_back(
          *this, i, o.aggregators == 1 ? "aggregator" : fmt::format("aggregator {}", i));
  }

  std::uint64_t operations() const noexcept override { return network_.counts().operations; }
  statistics counts() const override {
    statistics s = network_.counts();
    s.wire_bytes = wire_bytes();
    s.reservations =
        direct_ ? direct_->reservations() : shared_.packages.load(std::memory_order_relaxed);
    return s;
  }

private:
  using aggregator_type =
      std::conditional_t<S::writes_directly, direct_aggregator<M>, aggregator<M, S>>;

  aggregator_type make_aggregator(std::uint32_t number) {
    if constexpr (S::writes_directly)
      return aggregator_type(shared_, *direct_, number);
    else
      return aggregator_type(shared_, packages_, number, transport_->pe_count());
  }

  /// An aggregator and where it runs.
  struct aggregation {
    aggregation(pipeline_of& all, std::uint32_t number, std::string const& name)
        : runs(all.make_aggregator(number)), place(all.shared_.scheduler, name) {
      place.spawn(runs.run(), name);
    }
    aggregator_type runs;
    strand place;
  };

  network_interface<M> network_;
  std::deque<aggregation> aggregations_; ///< where they stay
};

gravel_node::gravel_node(emu::agent_core& agent, std::unique_ptr<transport_port> transport,
                         std::span<std::uint64_t> heap, options const& o) {
  if (transport == nullptr)
    throw std::invalid_argument("gravel: no transport; has it been moved from?");
  check(o, heap, transport->pe_count());
  auto const make = [&]<style S>(S) -> std::unique_ptr<pipeline> {
    if (agent.scheduler().decides())
      return std::make_unique<pipeline_of<emu::interleaving_memory, S>>(agent, std::move(transport),
                                                                        heap, o);
    return std::make_unique<pipeline_of<emu::native_memory, S>>(agent, std::move(transport), heap,
                                                                o);
  };
  if (o.style == aggregated::name)
    pipeline_ = make(aggregated{});
  else if (o.style == not_aggregated::name)
    pipeline_ = make(not_aggregated{});
  else if (o.style == simt_direct::name)
    pipeline_ = make(simt_direct{});
  else
    throw std::invalid_argument(fmt::format("gravel: style '{}'; allowed are {}, {} and {}",
                                            o.style, aggregated::name, not_aggregated::name,
                                            simt_direct::name));
}

gravel_node::~gravel_node() {
  pipeline_->stop();
}

pe gravel_node::self() const noexcept {
  return pipeline_->transport_->self();
}
std::uint32_t gravel_node::pe_count() const noexcept {
  return pipeline_->transport_->pe_count();
}
endpoint& gravel_node::device() noexcept {
  return *pipeline_->device_;
}

std::uint32_t gravel_node::add_handler(handler h) {
  pipeline_->handlers_.push_back(std::move(h));
  return static_cast<std::uint32_t>(pipeline_->handlers_.size() - 1);
}

result<void> gravel_node::quiet() {
  return pipeline_->quiet("quiet");
}

result<void> gravel_node::barrier() {
  return pipeline_->barrier(collective::barrier);
}

result<std::vector<std::vector<std::byte>>>
gravel_node::all_gather(std::span<std::byte const> mine) {
  return pipeline_->gather(mine, collective::all_gather);
}

result<std::vector<std::vector<std::byte>>>
gravel_node::gather_alike(std::span<std::byte const> mine) {
  return pipeline_->gather_alike(mine, collective::all_sum);
}

result<void> gravel_node::finish() {
  if (auto const b = pipeline_->barrier(collective::finish); !b)
    return b;
  pipeline_->leave();
  return pipeline_->transport_->finish();
}

statistics gravel_node::counts() const {
  return pipeline_->counts();
}

std::uint64_t gravel_node::operations() const noexcept {
  return pipeline_->operations();
}

std::size_t gravel_node::memory_bytes() const noexcept {
  std::size_t bytes = pipeline_->packages_.bytes();
  for (auto const& set : pipeline_->shared_.buffers)
    bytes += set->storage.size() * sizeof(std::uint32_t);
  if (pipeline_->direct_)
    bytes += pipeline_->direct_->bytes();
  return bytes;
}

} // namespace quarry::net::gravel
