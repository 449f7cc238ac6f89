// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/agent_core.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/emu/kernel.hpp>
#include <quarry/emu/lifetime.hpp>
#include <quarry/emu/loaded_kernel.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <source_location>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

namespace quarry::emu {

/// A launch that is running. Waits for it at the latest when it is destroyed.
class [[nodiscard]] completion {
public:
  /// `bound`: the kernel and its arguments, which go when the launch has ended.
  completion(agent_core& agent, std::shared_ptr<launch_state> launch,
             std::shared_ptr<void const> bound) noexcept
      : agent_(&agent), agent_lives_(agent.known().lives()), bound_(std::move(bound)),
        launch_(std::move(launch)) {}
  completion(completion&&) noexcept = default;
  completion& operator=(completion&&) = delete;
  ~completion() {
    if (launch_ != nullptr && !is_agent_gone())
      agent_->join_quietly(*launch_);
  }

  /// Runs compute units on this thread until the launch has ended.
  ///
  /// Errors   std::logic_error – somebody has waited before; the agent has gone
  outcome wait() {
    if (launch_ == nullptr)
      throw std::logic_error("completion: wait() has been called before");
    if (is_agent_gone())
      throw std::logic_error("completion: wait() after its agent was destroyed");
    auto const bound = std::move(bound_); // goes after the launch, also if join() throws
    auto const launch = std::move(launch_);
    return agent_->join(*launch);
  }
  /// True when wait() would return at once.
  [[nodiscard]] bool is_done() const {
    return launch_ == nullptr || is_agent_gone() || agent_->has_ended(*launch_);
  }

private:
  /// Of an agent that has gone nothing runs any more.
  [[nodiscard]] bool is_agent_gone() const noexcept { return agent_lives_.expired(); }

  agent_core* agent_;
  lifetime::observer agent_lives_;
  std::shared_ptr<void const> bound_;
  std::shared_ptr<launch_state> launch_;
};

/// An emulated GPU. `Targets` says which memory models and wavefront sizes its kernels are
/// instantiated for: what the program can be asked to run under.
///
/// A kernel is any callable; its first parameter says which kind it is (kernel.hpp). Arguments are
/// copied; std::ref makes a reference. A type's name is the kernel's name in reports.
///
/// Errors   std::invalid_argument before anything runs – an impossible grid, LDS beyond the unit, a
///          group over 1024 work-items, a cooperative launch that cannot be resident; what the
///          kernel does wrong is in the outcome
template<class Targets = all_targets>
class basic_agent {
public:
  struct options {
    /// Check bounds and alignment of every access; always done by deterministic schedulers.
    bool checks_bounds = false;
    launch_path launches = launch_path::automatic;
  };

  explicit basic_agent(executor& scheduler, machine const& m = Targets::usual_machine())
      : basic_agent(scheduler, m, {}) {}
  basic_agent(executor& scheduler, machine const& m, options o)
      : core_(scheduler, m, o.checks_bounds, o.launches) {}

  /// Memory that kernels may touch, zeroed unless it is asked for uninitialised, until the buffer
  /// is destroyed. Coarse-grained memory is for data that only kernels touch while they run.
  ///
  /// Shape    count elements, 64-byte aligned; `name` and `where` appear in reports
  template<class T>
  [[nodiscard]] buffer<T> allocate(std::size_t count, std::string name = "buffer",
                                   contents holds = contents::zeroed,
                                   coherence grain = coherence::fine_grained,
                                   std::source_location where = std::source_location::current()) {
    return buffer<T>(core_.known(), count, std::move(name), holds, grain, where);
  }
  /// Lets kernels touch `count` elements that somebody else owns, while the result lives.
  ///
  /// Errors   std::invalid_argument – they overlap a buffer or what is exposed already, or are more
  ///          than there are addresses
  template<class T>
  [[nodiscard]] registration expose(T* first, std::size_t count, std::string name,
                                    coherence grain = coherence::fine_grained,
                                    std::source_location where = std::source_location::current()) {
    if (count > static_cast<std::size_t>(-1) / sizeof(T))
      throw std::invalid_argument("expose: '" + name + "' has more bytes than there are addresses");
    if (first == nullptr && count != 0)
      throw std::invalid_argument("expose: '" + name + "' begins at a null pointer");
    return registration(core_.known(), first, count * sizeof(T), std::move(name), contents::zeroed,
                        grain, where);
  }

  /// Starts a kernel and comes back.
  template<class Kernel, class... Args>
  completion launch(launch_config const& config, Kernel kernel, Args... args) {
    auto bound =
        std::make_shared<bound_kernel<Kernel, Args...>>(std::move(kernel), std::move(args)...);
    auto l = prepared<Kernel, Args...>(config);
    l->bound = bound.get();
    core_.launch(l, native_scheduler::wake_workers::yes);
    return completion(core_, std::move(l), std::move(bound));
  }

  /// Runs a kernel to its end; the calling thread takes part.
  template<class Kernel, class... Args>
  outcome run(launch_config const& config, Kernel kernel, Args... args) {
    bound_kernel<Kernel, Args...> const bound(std::move(kernel), std::move(args)...);
    auto const l = prepared<Kernel, Args...>(config);
    l->bound = &bound;
    // Waking a worker costs 40 us: a single group is left to this thread.
    core_.launch(l, l->group_count == 1 ? native_scheduler::wake_workers::no
                                        : native_scheduler::wake_workers::yes);
    return core_.join(*l);
  }

  /// A kernel with its arguments, for packets in user-mode queues to name.
  template<class Kernel, class... Args>
  [[nodiscard]] loaded_kernel load(Kernel kernel, Args... args) {
    return {
        core_,
        {Targets::template pick<Kernel, Args...>(core_), kernel_name<Kernel>(),
         std::make_shared<bound_kernel<Kernel, Args...>>(std::move(kernel), std::move(args)...)}};
  }

  [[nodiscard]] agent_core& core() noexcept { return core_; }

private:
  template<class Kernel, class... Args>
  std::shared_ptr<launch_state> prepared(launch_config const& config) {
    auto l = std::make_shared<launch_state>();
    l->config = config;
    l->kernel = kernel_name<Kernel>();
    core_.prepare(*l);
    l->entry = Targets::template pick<Kernel, Args...>(core_);
    return l;
  }

  agent_core core_;
};

/// An agent whose kernels run under every scheduler and with both wavefront sizes.
using agent = basic_agent<>;
/// An agent for explored worlds, with wavefronts of 32.
using explored_agent = basic_agent<explored_targets>;

} // namespace quarry::emu
