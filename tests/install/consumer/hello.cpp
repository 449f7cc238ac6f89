#include <quarry/emu.hpp>
#include <quarry/quarry.hpp>

#include <cstdio>

int main() {
  quarry::native_scheduler scheduler;
  quarry::emu::agent gpu(scheduler);
  auto sums = gpu.allocate<int>(1024, "sums");
  auto const add_up = [](quarry::emu::any_wavefront auto& wf, auto out) -> quarry::task<> {
    wf.store(out + wf.global_id(), co_await wf.group_reduce(wf.global_id(0), quarry::emu::plus{}));
  };
  gpu.run({.work_items = 1024}, add_up, sums.global()).or_throw();
  std::printf("%d %d\n", sums.host()[0], sums.host()[1023]);
}
