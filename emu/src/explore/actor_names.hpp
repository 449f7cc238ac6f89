// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cache_machine.hpp"

#include <quarry/emu/grid.hpp>

#include <cstddef>
#include <cstdint>
#include <source_location>
#include <string>
#include <vector>

namespace quarry::emu {

struct launch_state;

/// What reports call the actors of an execution, and the launches whose wavefronts they are: by the
/// order in which they were made, never by an address. Ranks of agents are a debugger's, from 1 on.
class actor_names {
public:
  using actor_id = cache_machine::actor_id;

  /// A new execution: there is nobody.
  void clear() noexcept;

  /// A launch; it may be over by the time that it is told of. Gives its place, for name_wave().
  std::uint32_t add_launch(launch_state const& l, std::uint32_t agent);

  void name_host(actor_id who, std::string name);
  void name_core(actor_id who, std::string name, std::uint32_t agent);
  /// `index` in its group, `number` in its launch, from 1 on.
  void name_wave(actor_id who, std::uint32_t launch, extent const& group, std::uint32_t index,
                 std::uint64_t number);

  [[nodiscard]] bool is_wave(actor_id who) const noexcept { return actors_[who].is_wave; }
  [[nodiscard]] bool is_host(actor_id who) const noexcept {
    return !actors_[who].is_wave && actors_[who].agent == 0;
  }
  /// "wave 1:1:2:5 (1,0,0)/0", "producer", "core 0 of agent 2"; of the only agent: "core 0".
  [[nodiscard]] std::string name_of(actor_id who, std::size_t agents) const;
  /// "in dispatch 2 of agent 1: produce, 4 groups of 64, launched at main.cpp:12"; empty for who is
  /// no wavefront.
  [[nodiscard]] std::string dispatch_of(actor_id who) const;
  /// Of a wavefront.
  [[nodiscard]] std::string const& kernel_of(actor_id who) const {
    return launches_[actors_[who].launch].kernel;
  }

private:
  /// A wavefront's is put together where somebody reads it.
  struct known_actor {
    std::string name{}; ///< of who is none
    bool is_wave = false;
    std::uint32_t agent = 0;  ///< a core's
    std::uint32_t launch = 0; ///< its place in launches_
    std::uint32_t index = 0;
    std::uint64_t number = 0;
    extent group{};
  };
  struct known_launch {
    std::string kernel;
    std::uint32_t agent = 0;
    std::uint32_t number = 0; ///< on it
    std::uint64_t groups = 0;
    std::uint64_t group_size = 0; ///< work-items
    std::source_location where;
  };
  known_actor& place_of(actor_id who);

  std::vector<known_actor> actors_;
  std::vector<known_launch> launches_;
  std::size_t launch_count_ = 0; ///< in use: they keep their memory
};

} // namespace quarry::emu
