// SPDX-License-Identifier: Apache-2.0
// A reduction is over what a lane may hold, by an operation that has an identity.
#include <quarry/emu.hpp>

struct count {
  quarry::task<> operator()(quarry::emu::any_work_item auto& wi) const {
#ifdef CONTROL
    static_cast<void>(co_await wi.group_reduce(1, quarry::emu::plus{}));
#else
    static_cast<void>(co_await wi.group_reduce(true, quarry::emu::plus{}));
#endif
  }
};

void run(quarry::emu::agent& gpu) {
  static_cast<void>(gpu.run({.work_items = 64, .work_items_per_group = 64}, count{}));
}
