// SPDX-License-Identifier: Apache-2.0
#include "idle_job.hpp"

#include <quarry/emu.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/net.hpp>
#include <quarry/net/comp_net.hpp>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <functional>
#include <thread>
#include <utility>

namespace quarry::bench {
namespace {

namespace comp_net = net::comp_net;
using net::shmem::comparison;

double processor_seconds() {
  timespec t{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct waiting_kernel {
  task<> operator()(emu::any_wavefront auto& wf, emu::global<std::uint64_t> flag,
                    comp_net::device& net) const {
    auto made = comp_net::context::init(wf, net);
    comp_net::context context = co_await std::move(made);
    auto wait = context.wait_until(wf, flag, comparison::equal, 1);
    static_cast<void>(co_await std::move(wait));
    auto end = context.destroy(wf);
    co_await std::move(end);
  }
};

void wait_as(idling how, emu::agent& gpu, comp_net::node& n, std::uint64_t* flag) {
  if (how == idling::hosts)
    n.shmem().wait_until(flag, comparison::equal, 1).value();
  if (how == idling::kernels)
    gpu.run({.work_groups = 1,
             .work_items_per_group = 64,
             .lds_bytes = comp_net::context::lds_bytes},
            waiting_kernel{}, emu::global(flag), std::ref(n.device()))
        .or_throw();
}

} // namespace

double idle(std::unique_ptr<net::transport_port> transport, idling how, int seconds) {
  native_scheduler scheduler({.threads = 1});
  emu::agent gpu(scheduler, {.compute_units = 2});
  auto n = comp_net::node::start(gpu.core(), std::move(transport),
                                 {.rings = 4, .shmem = {.heap_bytes = 64 * 1024}});
  net::shmem::node& shmem = n.value().shmem();
  std::uint64_t* const flag = shmem.malloc<std::uint64_t>(1).value().data();
  shmem.barrier_all().value();
  double used = 0;
  {
    std::jthread watch([&] {
      std::this_thread::sleep_for(std::chrono::seconds{1}); // until all have gone to sleep
      double const before = processor_seconds();
      std::this_thread::sleep_for(std::chrono::seconds{seconds});
      used = processor_seconds() - before;
    });
    if (n->self().id != 0)
      wait_as(how, gpu, *n, flag);
    watch.join();
    for (std::uint32_t id = 1; n->self().id == 0 && id < n->pe_count(); ++id)
      shmem.default_context().p(flag, 1, net::pe{id}).value();
  }
  n->finish().value();
  return used;
}

} // namespace quarry::bench
