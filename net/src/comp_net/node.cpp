// SPDX-License-Identifier: Apache-2.0
#include "service.hpp"

#include <quarry/emu/command_processor.hpp>
#include <quarry/emu/service.hpp>
#include <quarry/event.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/net/comp_net/node.hpp>
#include <quarry/net/error.hpp>
#include <quarry/strand.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/yield.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <thread>
#include <vector>

namespace quarry::net::comp_net {
namespace {

void check(node::options const& o) {
  auto const refuse = [](std::string const& text) {
    throw std::invalid_argument("comp_net: " + text);
  };
  static_cast<void>(find_configuration(o.configuration));
  if (o.rings == 0 || o.rings > 65536)
    refuse(fmt::format("{} rings; allowed are 1 to 65536", o.rings));
  if (!std::has_single_bit(o.ring_entries) || o.ring_entries > 65536)
    refuse(
        fmt::format("rings of {} entries; allowed are powers of two up to 65536", o.ring_entries));
  if (o.service_threads == 0 || o.service_threads > o.rings)
    refuse(fmt::format("{} service threads; allowed are 1 to {}, one a ring", o.service_threads,
                       o.rings));
  if (o.polling_rounds == 0)
    refuse("0 polling rounds; at least 1 is allowed");
  if (o.reduce_bytes < 64 || o.reduce_bytes % 64 != 0 || o.reduce_bytes > 65536)
    refuse(fmt::format("reductions of {} bytes; allowed are multiples of 64 up to 65536",
                       o.reduce_bytes));
}

static_assert(emu::service<network_service>);

/// Drives a service from an actor on a strand of its own: a host thread that polls.
class host_service {
public:
  host_service(executor& scheduler, network_service& service)
      : scheduler_(scheduler), service_(service), strand_(scheduler, service.name()) {
    running_.store(true, std::memory_order_relaxed);
    if (scheduler.decides())
      strand_.spawn(serve<emu::interleaving_memory>(), service.name());
    else
      strand_.spawn(serve<emu::native_memory>(), service.name());
  }
  host_service(host_service const&) = delete;
  host_service& operator=(host_service const&) = delete;
  ~host_service() {
    stop_.store(true, std::memory_order_release);
    wake();
    while (!scheduler_.run_until([this] { return !running_.load(std::memory_order_acquire); }))
      if (scheduler_.decides())
        return; // nobody can go on: the strand takes its actor with it
  }

  /// Where a scheduler decides, it asks: nobody waits for the bell.
  void wake() {
    if (!scheduler_.decides())
      bell_.set();
  }

private:
  template<emu::memory_model M>
  task<> serve() {
    actor& me = co_await this_actor();
    emu::basic_core<M> self({&me, &scheduler_, nullptr});
    auto const is_wanted = [this, &self] {
      return stop_.load(std::memory_order_acquire) || service_.has_work(self) ||
             (!scheduler_.decides() && service_.may_sleep());
    };
    for (;;) {
      if (scheduler_.decides())
        scheduler_.tell_all(me); // what turns up elsewhere is no word of memory
      else
        bell_.reset(); // before the look: what turns up after it rings again
      if (stop_.load(std::memory_order_acquire))
        break;
      task<bool> round = service_.poll(self);
      if (co_await std::move(round)) {
        co_await yield();
      } else if (!scheduler_.decides() && service_.may_sleep()) {
        co_await bell_.wait();
      } else {
        poll_until wait(is_wanted);
        co_await wait;
      }
    }
    running_.store(false, std::memory_order_release);
    scheduler_.notify();
  }

  executor& scheduler_;
  network_service& service_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> running_{false};
  event bell_;
  strand strand_; ///< last, so first to go: its actor uses the others
};

/// While it lives, threads of the scheduler that have nothing to do sleep in the network.
class idle_in_network {
public:
  idle_in_network(executor& scheduler, shmem::node& network)
      : scheduler_(network.is_all_direct() ? nullptr
                                           : dynamic_cast<native_scheduler*>(&scheduler)) {
    if (scheduler_ != nullptr)
      scheduler_->set_idle_wait(
          [&network](std::chrono::nanoseconds at_most) { return network.idle(at_most); },
          network.pe_count() > std::thread::hardware_concurrency()
              ? native_scheduler::idle_polling::brief
              : native_scheduler::idle_polling::usual);
  }
  idle_in_network(idle_in_network const&) = delete;
  idle_in_network& operator=(idle_in_network const&) = delete;
  ~idle_in_network() {
    if (scheduler_ != nullptr)
      scheduler_->set_idle_wait(nullptr);
  }

private:
  native_scheduler* scheduler_;
};

} // namespace

struct node::parts {
  parts(emu::agent_core& a, shmem::node n, comp_net::configuration const& c, std::uint32_t rings)
      : agent(a), network(std::move(n)), choice(c), waits(rings),
        contexts(rings, [this] { wake(); }) {}

  /// Rings, and who serves them.
  result<void> add_device(options const& o);
  result<void> end_contexts();
  /// Whoever serves them.
  void wake() {
    if (!on_processor.empty())
      agent.processor().wake();
    for (auto const& h : hosts)
      h->wake();
  }

  emu::agent_core& agent;
  shmem::node network;
  comp_net::configuration const& choice;
  std::optional<rings> queues;
  std::optional<emu::buffer<ring_state>> states;
  std::optional<emu::buffer<std::uint32_t>> failed;
  std::vector<wait_record> waits;
  std::optional<comp_net::device> handle;
  open_contexts contexts;
  std::vector<std::unique_ptr<network_service>> services;
  // Last, so first to go.
  std::vector<std::unique_ptr<host_service>> hosts;
  std::vector<emu::command_processor::serving> on_processor;
  std::optional<idle_in_network> idling;
};

result<void> node::parts::add_device(options const& o) {
  queues.emplace(agent.known(), o.rings, o.ring_entries,
                 o.ring.value_or(ring_orders::at(choice.ring_scope)));
  auto const here = std::source_location::current(); // and not within the library's emplace()
  states.emplace(agent.known(), o.rings, "comp_net contexts", here);
  failed.emplace(agent.known(), 1, "comp_net failure", here);
  std::size_t const bytes = meeting_place::bytes(o.rings, network.pe_count(), o.reduce_bytes);
  auto const meetings = network.malloc<std::byte>(bytes);
  if (!meetings)
    return meetings.error();
  handle.emplace(comp_net::device::parts{
      .queues = &*queues,
      .states = states->global(),
      .failed = failed->global(),
      .meetings = meeting_place(meetings->data(), network.pe_count(), o.reduce_bytes),
      .network = &network,
      .contexts = &contexts,
      .waits = waits});
  auto const share_before = [&o](std::uint64_t thread) {
    return static_cast<std::uint32_t>(o.rings * thread / o.service_threads);
  };
  for (std::uint32_t i = 0; i < o.service_threads; ++i) {
    network_service::place const p{.queues = *queues,
                                   .first = share_before(i),
                                   .last = share_before(i + 1),
                                   .states = states->global(),
                                   .failed = failed->global(),
                                   .polling_rounds = o.polling_rounds,
                                   .contexts = &contexts,
                                   .waits = waits,
                                   .known = &agent.known()};
    auto service = network_service::make(
        p, network, fmt::format("network service {} of {}", i, to_string(network.self())));
    if (!service)
      return service.error();
    services.push_back(std::move(*service));
    if (choice.place == service_place::command_processor)
      on_processor.push_back(agent.processor().serve(*services.back()));
    else
      hosts.push_back(std::make_unique<host_service>(agent.scheduler(), *services.back()));
  }
  idling.emplace(agent.scheduler(), network);
  return {};
}

node::node(std::unique_ptr<parts> p) noexcept : parts_(std::move(p)) {}
node::node(node&&) noexcept = default;
node::~node() = default;

result<node> node::start(emu::agent_core& agent, std::unique_ptr<transport_port> transport,
                         options const& o, std::source_location where) {
  check(o);
  if (transport == nullptr)
    throw std::invalid_argument("comp_net: no transport; has it been moved from?");
  comp_net::configuration const& choice = find_configuration(o.configuration);
  shmem::node::options with_meetings = o.shmem;
  if (choice.has_device_calls()) {
    std::size_t const more =
        meeting_place::bytes(o.rings, transport->pe_count(), o.reduce_bytes) + 64;
    // A heap that is too large to be counted is refused as it is.
    with_meetings.heap_bytes = std::max(o.shmem.heap_bytes, o.shmem.heap_bytes + more);
    with_meetings.mark = std::uint64_t{o.rings} << 32 | o.reduce_bytes;
  }
  auto network = shmem::node::start(agent, std::move(transport), with_meetings, where);
  if (!network)
    return network.error();
  auto made = std::make_unique<parts>(agent, std::move(*network), choice, o.rings);
  if (choice.has_device_calls())
    if (auto const added = made->add_device(o); !added)
      return added.error();
  return node(std::move(made));
}

configuration const& node::configuration() const noexcept {
  return parts_->choice;
}
shmem::node& node::shmem() noexcept {
  return parts_->network;
}
shmem::node const& node::shmem() const noexcept {
  return parts_->network;
}

comp_net::device& node::device() {
  if (!parts_->handle)
    throw std::logic_error(fmt::format("comp_net: kernels have no operations in configuration {}",
                                       parts_->choice.name));
  return *parts_->handle;
}

/// Kernels that still communicate come to their end. Fails if they do not.
result<void> node::parts::end_contexts() {
  contexts.end();
  auto const are_closed = [this] { return contexts.count() == 0; };
  if (are_closed() || agent.scheduler().run_until(are_closed))
    return {};
  error late =
      make_error(net_errc::timeout,
                 fmt::format("comp_net: finish: work-groups {} of a kernel still have their "
                             "contexts, and nothing progresses\n{}",
                             contexts.rings_in_use(), agent.scheduler().report_now().to_string()));
  network.fail(late); // so that they end
  static_cast<void>(agent.scheduler().run_until(are_closed));
  return late;
}

result<void> node::finish() {
  if (auto const ended = parts_->end_contexts(); !ended)
    return ended;
  parts_->idling.reset();
  parts_->hosts.clear();
  parts_->on_processor.clear();
  return parts_->network.finish();
}

} // namespace quarry::net::comp_net
