// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/operations.hpp>
#include <quarry/this_actor.hpp>

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

} // namespace quarry::emu
