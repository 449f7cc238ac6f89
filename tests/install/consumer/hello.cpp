#include <quarry/emu.hpp>
#include <quarry/quarry.hpp>

#include <cstdio>
using namespace quarry::emu;

struct squares { // one coroutine a wavefront; 64 lanes go together
  quarry::task<> operator()(any_wavefront auto& wf, global<int> out) const {
    auto const i = wf.global_id().template to_lanes<int>();
    int const sum = co_await wf.group_reduce(i * i, plus{}); // all wavefronts of the work-group
    if (auto const leader = wf.where(wf.local_id() < 1))
      wf.store(out + wf.linear_group_id(), sum);
  }
};

int main() {
  quarry::native_scheduler scheduler;
  agent gpu(scheduler);
  auto sums = gpu.allocate<int>(4, "sums");
  gpu.run({.work_groups = 4, .work_items_per_group = 256}, squares{}, sums.global()).or_throw();
  for (int const s : sums.host())
    std::printf("%d\n", s);
}
