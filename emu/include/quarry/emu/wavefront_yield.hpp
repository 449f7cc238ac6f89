// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/compute_unit.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/work_group.hpp>
#include <quarry/task.hpp>

#include <cstdint>
#include <source_location>

namespace quarry::emu {

/// What a wavefront that gives up its slot leaves to the aggregator: where its state lies and what
/// it waits for. It goes through a channel; there is always room soon, because the aggregator takes
/// out whatever comes.
///
/// Source   thesis §4.4, Figure 4-11
struct restart_context {
  std::uint64_t wave;   ///< where its state is kept: a wave_slot
  std::uint32_t ticket; ///< of this yield
  std::uint32_t bytes;  ///< that a hardware context has to save
  std::uint32_t channel;
  std::uint32_t count; ///< elements for which there is to be room in that channel

  [[nodiscard]] wave_slot& slot() const noexcept { return *reinterpret_cast<wave_slot*>(wave); }
  /// From any thread.
  void restart() const { static_cast<compute_unit*>(slot().home)->restart(slot(), ticket); }
};

/// `co_await wavefront_yield(slot);` – the wavefront gives up its slot on the compute unit, until
/// somebody restarts it there. Its coroutine frames are its saved state, its group keeps its LDS.
///
/// Suspends until a restart() with the ticket that compute_unit::begin_yield() has given; not at
/// all if that has come already
class [[nodiscard]] wavefront_yield {
public:
  explicit wavefront_yield(wave_slot& w, void const* on = nullptr,
                           std::source_location where = std::source_location::current()) noexcept
      : wave_(w), on_(on), where_(where) {}

  bool await_ready() const noexcept { return false; }
  template<task_promise P>
  bool await_suspend(std::coroutine_handle<P> h) {
    if (h.promise().self != &wave_) [[unlikely]]
      awaited_by_child("wavefront yield", where_);
    return static_cast<compute_unit*>(wave_.home)->give_up_slot(wave_, where_, on_);
  }
  void await_resume() const noexcept {}

private:
  wave_slot& wave_;
  void const* on_;
  std::source_location where_;
};

} // namespace quarry::emu
