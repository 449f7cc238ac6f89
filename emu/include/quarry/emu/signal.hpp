// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/scope.hpp>

#include <cstdint>
#include <source_location>
#include <string>
#include <utility>

namespace quarry::emu {

/// A 64-bit value for which the command processor counts down when a packet has completed, and for
/// which kernels, hosts and barrier packets wait. Negative: a packet that was to count it down
/// failed.
///
/// Source   HSA PRM 1.2 §2.8; differs: its word is ordinary memory, and any operation may be used
class signal {
public:
  explicit signal(allocations& known, std::int64_t value = 1, std::string name = "signal",
                  std::source_location where = std::source_location::current())
      : word_(known, 1, std::move(name), where) {
    word_.host()[0] = value;
  }

  [[nodiscard]] emu::global<std::int64_t> word() noexcept { return word_.global(); }
  /// What packets call it.
  [[nodiscard]] std::uint64_t handle() noexcept {
    return reinterpret_cast<std::uintptr_t>(word().get());
  }

  /// Lets packets and kernels of another agent name it, too, while the result lives. `other` is
  /// that agent's core().known().
  [[nodiscard]] registration share_with(allocations& other) {
    return registration(other, word().get(), sizeof(std::int64_t), "a shared signal");
  }

  /// Awaits that the value is 0, or negative; gives it. What was released before the signal was
  /// counted down is visible then.
  template<class A>
  auto wait(A& self, std::source_location where = std::source_location::current()) {
    auto const is_over = [](std::int64_t v) { return v <= 0; };
    return self.wait_until(word(), is_over, order::acquire, scope::system, where);
  }

private:
  buffer<std::int64_t> word_;
};

} // namespace quarry::emu
