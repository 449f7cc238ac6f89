// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/explore.hpp>
#include <quarry/emu/handover.hpp>
#include <quarry/emu/operations.hpp>
#include <quarry/result.hpp>
#include <quarry/scheduler.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <source_location>
#include <string>
#include <utility>

namespace quarry::exploration {

/// The host threads of a node whose execution is explored, as command::host_threads: the node's own
/// and, if there is one, another beside it.
class explored_threads {
public:
  explicit explored_threads(world& w) : world_(w) {}
  explored_threads(explored_threads const&) = delete;
  explored_threads& operator=(explored_threads const&) = delete;

  /// Before the node's own thread is started, whose memory it may use as long as it runs: of an
  /// execution that is given up, who was started first is let go of first.
  void start_other(std::string name) {
    count_ = 2;
    world_.start(std::move(name), [this](world_core& self) {
      cores_[1] = &self;
      while (world_.scheduler().run_until([this] { return job_ != nullptr || has_ended_; })) {
        has_begun_.take();
        if (job_ == nullptr)
          return;
        outcome_ = (*job_)(1);
        has_run_.give();
        job_ = nullptr;
        world_.scheduler().notify();
      }
    });
  }
  /// While it lives, the node's own thread is thread 0.
  class [[nodiscard]] use {
  public:
    use(explored_threads& of, world_core& self) : of_(of) { of.cores_[0] = &self; }
    use(use const&) = delete;
    use& operator=(use const&) = delete;
    ~use() {
      of_.has_ended_ = true;
      of_.world_.scheduler().notify();
    }

  private:
    explored_threads& of_;
  };

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }
  [[nodiscard]] world_core& memory(std::uint32_t thread) const { return *cores_.at(thread); }

  /// Runs f(t) for all t < count() and waits for their end. From thread 0.
  result<void> run(std::function<result<void>(std::uint32_t)> const& f) {
    if (count_ == 1)
      return f(0);
    has_begun_.give();
    job_ = &f;
    world_.scheduler().notify();
    auto const mine = f(0);
    await_other();
    has_run_.take();
    return mine ? outcome_ : mine;
  }

private:
  /// Not in run_until(), which gives up where nobody can go on: the other one still uses the job
  /// then, and is to give up first.
  void await_other() {
    auto const is_over = [](void* t) { return static_cast<explored_threads*>(t)->job_ == nullptr; };
    if (!is_over(this))
      emu::wait_on_fiber(*memory(0).memory_port().port(), is_over, this, nullptr,
                         std::source_location::current());
  }

  world& world_;
  std::uint32_t count_ = 1;
  std::array<world_core*, 2> cores_{};
  std::function<result<void>(std::uint32_t)> const* job_ = nullptr; ///< of thread 1
  result<void> outcome_;
  bool has_ended_ = false;
  emu::handover has_begun_;
  emu::handover has_run_;
};

} // namespace quarry::exploration
