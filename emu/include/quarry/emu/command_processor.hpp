// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/service.hpp>
#include <quarry/scheduler.hpp>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace quarry::emu {

class agent_core;

/// An agent's command processor: a few scalar cores, each an actor on a strand of its own with its
/// own L1, that poll services in turn.
///
/// A service belongs to one core. A core whose services all have nothing to do waits: for a
/// doorbell where they may sleep, otherwise it looks again and again, less and less often
/// (`native`), or when the scheduler asks it.
///
/// Source   design §6; ComP-Net §2 and §4.1
class command_processor {
public:
  struct options {
    std::uint32_t cores = 2;
    /// Rounds that a service with work gets before the next one has its turn.
    std::uint32_t rounds = 4;
  };

  /// Errors   std::invalid_argument – no core or more than 64, no round or more than 65536
  command_processor(agent_core& agent, options o);
  command_processor(command_processor const&) = delete;
  command_processor& operator=(command_processor const&) = delete;
  /// No service may be left.
  ~command_processor();

  /// Ends the serving when it goes: on return no core is in the service, or will be.
  class [[nodiscard]] serving;

  /// Serves `s` from now on, while the result lives, on this core or the one with the fewest
  /// services. Borrowed.
  ///
  /// Errors   std::invalid_argument – no such core
  template<service S>
  serving serve(S& s, std::uint32_t on_core);
  template<service S>
  serving serve(S& s);
  /// From 0 on.
  [[nodiscard]] std::uint32_t least_busy_core() const noexcept;

  /// Something turned up for a service that sleeps, on any core or on this one. From any thread and
  /// any actor.
  void wake() noexcept;
  void wake(std::uint32_t core) noexcept;

  /// True if the caller runs on this core, in one of its services.
  [[nodiscard]] bool is_here(std::uint32_t core) const noexcept;

  [[nodiscard]] std::uint32_t core_count() const noexcept;
  /// Services now.
  [[nodiscard]] std::size_t service_count() const noexcept;

private:
  class core;
  struct entry;
  entry* add(std::unique_ptr<any_service> s, std::uint32_t core);
  void remove(entry* e) noexcept;

  std::vector<std::unique_ptr<core>> cores_;
};

class [[nodiscard]] command_processor::serving {
public:
  serving(serving&& other) noexcept
      : by_(other.by_), entry_(std::exchange(other.entry_, nullptr)) {}
  serving& operator=(serving&&) = delete;
  ~serving() {
    if (entry_ != nullptr)
      by_->remove(entry_);
  }

private:
  friend class command_processor;
  serving(command_processor& by, entry* e) noexcept : by_(&by), entry_(e) {}
  command_processor* by_;
  entry* entry_;
};

template<service S>
command_processor::serving command_processor::serve(S& s) {
  return serve(s, least_busy_core());
}

template<service S>
command_processor::serving command_processor::serve(S& s, std::uint32_t on_core) {
  return {*this, add(std::make_unique<service_model<S>>(s), on_core)};
}

} // namespace quarry::emu
