// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/operations.hpp>
#include <quarry/task.hpp>

#include <coroutine>

namespace quarry::emu {

/// A scalar actor's way to memory: a command-processor core, an aggregator, a network interface, a
/// host thread. The same operations as a wavefront's on single elements.
template<memory_model M>
class basic_core : public memory_operations<basic_core<M>, M> {
public:
  using memory_type = M;
  explicit basic_core(memory_context const& c) noexcept : port_(c) {}
  [[nodiscard]] M const& memory_port() const noexcept { return port_; }

private:
  [[no_unique_address]] M port_;
};

/// `actor& self = co_await this_actor();` – the actor that runs the calling coroutine.
class [[nodiscard]] this_actor {
public:
  this_actor() noexcept {} // user-declared: g++ 12 mistreats aggregates in await expressions
  bool await_ready() const noexcept { return false; }
  template<task_promise P>
  bool await_suspend(std::coroutine_handle<P> caller) noexcept {
    self_ = caller.promise().self;
    return false; // goes on at once
  }
  actor& await_resume() const noexcept { return *self_; }

private:
  actor* self_ = nullptr;
};

} // namespace quarry::emu
