// SPDX-License-Identifier: Apache-2.0
// What goes through the channels of tests, and a kernel that takes it.
#pragma once

#include <quarry/emu.hpp>

#include <cstdint>

namespace quarry_test {

struct number {
  std::uint64_t value;
};
struct add_up {
  template<quarry::emu::any_wavefront W>
  quarry::task<> operator()(W& wf, auto& src, quarry::emu::global<std::uint64_t> sum) const {
    wf.fetch_add(sum, wf.reduce(src.load(&number::value), quarry::emu::plus{}),
                 quarry::emu::order::relaxed, quarry::emu::scope::agent);
    co_return;
  }
};

} // namespace quarry_test
