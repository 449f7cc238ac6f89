// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <string_view>

namespace quarry {

/// What a choice of an explored execution is about.
enum class choice_kind : std::uint8_t {
  actor,       ///< who goes on
  value,       ///< which write a load sees
  write_back,  ///< whether a write reached the next cache before another one did
  message,     ///< which of the messages that have come is acted on
  lane_order,  ///< which of a wavefront's lanes come first, of those that nothing orders
  group_order, ///< whether the first work-groups of a launch start first, or the last
};
inline constexpr int choice_kind_count = 6;

[[nodiscard]] constexpr std::string_view to_string(choice_kind kind) noexcept {
  constexpr std::string_view names[] = {"actor",   "value",      "write_back",
                                        "message", "lane_order", "group_order"};
  static_assert(std::size(names) == choice_kind_count);
  return names[static_cast<std::size_t>(kind)];
}

/// What an actor has done, as far as its order with what others do can matter.
struct effect {
  /// What it has accessed, by a name that is the same in every execution; 0: nothing.
  std::uint64_t word = 0;
  bool publishes = false; ///< a cache that others share, or memory, has changed
  bool acquires = false;  ///< its own caches have forgotten what they held
  bool is_any = false;    ///< something that may concern everybody
};

/// Where an execution's choices come from: one stream drives everything (design §8).
class chooser {
public:
  chooser() = default;
  chooser(chooser const&) = delete;
  chooser& operator=(chooser const&) = delete;
  virtual ~chooser() = default;

  /// One of 0 … n - 1, for n >= 2. 0 is the boring one: the same actor goes on, the newest value is
  /// seen, messages keep their order; so that any prefix of a stream, with zeros after it, is an
  /// execution.
  virtual unsigned pick(unsigned n, choice_kind kind) = 0;

  /// Who goes on: an index into `ready`, actors by their number in order of creation, the first of
  /// them the one that ran last if it still may.
  ///
  /// Shape    two actors or more; numbers are dense: some strategies keep a few bytes for each
  virtual unsigned pick_actor(std::span<std::uint32_t const> ready) {
    return pick(static_cast<unsigned>(ready.size()), choice_kind::actor);
  }

  /// `actor` can do nothing but wait for others: it yields, or has read the same value again. To be
  /// called before it is offered again, last.
  virtual void on_yield(std::uint32_t actor) { static_cast<void>(actor); }

  /// Whether on_effect() and on_only() are to be called.
  [[nodiscard]] virtual bool wants_effects() const noexcept { return false; }
  /// The actor that runs has done so.
  virtual void on_effect(std::uint32_t actor, effect const& e) {
    static_cast<void>(actor);
    static_cast<void>(e);
  }
  /// `actor` goes on, since nobody else can.
  virtual void on_only(std::uint32_t actor) { static_cast<void>(actor); }
  /// A decision of an actor which only that one can go on from; see
  /// sequential_scheduler::options::tells_alone_from.
  virtual void on_alone() {}
  /// Whatever may follow is known already: the execution may be given up.
  [[nodiscard]] virtual bool is_redundant() const noexcept { return false; }
};

} // namespace quarry
