// SPDX-License-Identifier: Apache-2.0
// where() takes one truth for each lane: what is so for all of them is an if.
#include <quarry/emu.hpp>

struct half {
  void operator()(quarry::emu::any_wavefront auto& wf, quarry::emu::global<int> out) const {
#ifdef CONTROL
    if (auto const active = wf.where(wf.local_id(0) < 16))
#else
    if (auto const active = wf.where(wf.index_in_group() < 16))
#endif
      wf.store(out + wf.global_id(), wf.local_id(0));
  }
};

void run(quarry::emu::agent& gpu, quarry::emu::global<int> out) {
  static_cast<void>(gpu.run({.work_groups = 1, .work_items_per_group = 64}, half{}, out));
}
