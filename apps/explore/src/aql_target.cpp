// SPDX-License-Identifier: Apache-2.0
// A user-mode queue between producers on a host and on the GPU, and a command-processor core.
#include "targets.hpp"

#include <quarry/emu.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <string>

namespace quarry::exploration {
namespace {

using namespace quarry::emu;

// Two slots and two producers who wait for them.
using small_queue = basic_user_queue<2>;
constexpr std::uint32_t producers = 2, each = 2;

struct aql_world {
  world& w;
  small_queue queue;
  buffer<std::uint32_t> payload; ///< what a packet speaks of, a word each

  aql_world(world& those, allocations& known, user_queue_orders const& orders)
      : w(those), queue(known, 2, orders),
        payload(known, std::size_t{producers} * each, "payload") {}
};

template<class A>
task<> submit_all(A& self, aql_world& shared, std::uint32_t producer) {
  for (std::uint32_t i = 0; i < each; ++i) {
    std::uint32_t const number = producer * each + i;
    self.store(shared.payload.global() + number, number + 100);
    service_packet const p{.function = static_cast<std::uint16_t>(producer),
                           .arguments = {number, 0, 0, ~std::uint64_t{number}}};
    task<> submitted = shared.queue.submit(self, p);
    co_await std::move(submitted);
  }
}

struct submit_from_wavefront {
  task<> operator()(any_wavefront auto& wf, aql_world& shared) const {
    task<> submitted = submit_all(wf, shared, 0);
    co_await std::move(submitted);
  }
};

/// Takes packets on a core of the command processor.
class packet_taker {
public:
  explicit packet_taker(aql_world& shared) : shared_(shared) {}

  template<class Core>
  task<bool> poll(Core& self) {
    if (!shared_.queue.is_ready(self))
      co_return false;
    auto const p = self.load(shared_.queue.next()).template as<service_packet>();
    std::uint64_t const number = p.arguments[0];
    bool const is_whole =
        p.arguments[3] == ~number && p.function < producers && number / each == p.function;
    shared_.w.check(is_whole, "a packet is torn, or was read before it was written");
    if (is_whole) {
      shared_.w.check(number % each == next_[p.function]++, "a packet came twice, or too early");
      shared_.w.check(self.load(shared_.payload.global() + number) == number + 100,
                      "a packet came before what it speaks of");
    }
    shared_.queue.release(self);
    ++taken_;
    co_return true;
  }
  template<class Core>
  bool has_work(Core& self) {
    return shared_.queue.is_ready(self);
  }
  static std::string name() { return "packets"; }
  [[nodiscard]] bool is_done() const { return taken_ == producers * each; }

private:
  aql_world& shared_;
  std::array<std::uint32_t, producers> next_{};
  std::uint32_t taken_ = 0;
};

void run_aql(world& w, weakening const* weak) {
  explored_agent gpu(w.scheduler(),
                     {.compute_units = 1, .wavefront_size = 32, .command_processor_cores = 1});
  aql_world shared(w, gpu.core().known(), weakened<user_queue_orders>(weak));
  packet_taker taker(shared);
  auto const served = gpu.core().processor().serve(taker);
  w.start_task("host producer", [&](world_core& self) { return submit_all(self, shared, 1); });
  static_cast<void>(gpu.run({.work_items = 32, .work_items_per_group = 32}, submit_from_wavefront{},
                            std::ref(shared)));
  w.join();
  auto const stuck = gpu.core().wait_until("all packets", [&] { return taker.is_done(); });
  w.check(!stuck, stuck ? stuck->report : "");
}

} // namespace

target aql_target() {
  return {"aql-queue",
          "a wavefront and a host thread submit two packets each through two slots, a core of the "
          "command processor takes them",
          weakenings_of<user_queue_orders>(), run_aql};
}

} // namespace quarry::exploration
