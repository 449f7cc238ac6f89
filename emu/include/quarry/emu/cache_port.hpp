// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/lane_mask.hpp>
#include <quarry/emu/operation_site.hpp>
#include <quarry/emu/scope.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <utility>

namespace quarry {
class sequential_scheduler;
}

namespace quarry::emu {

class explored_memory;

/// One actor's way to the emulated caches, in executions that are explored.
///
/// Values of up to 8 bytes whose alignment is their size are single words; others are several, each
/// as large as T's alignment lets it be, but for an atomic access. LDS has no caches; the race
/// detector sees it all the same.
class cache_port {
public:
  // As in cache_machine, which kernels need not see.
  using actor_id = std::uint32_t;
  using predicate = bool (*)(std::uint64_t value, void* argument);

  cache_port(explored_memory& memory, actor_id id) noexcept : memory_(&memory), id_(id) {}
  [[nodiscard]] actor_id id() const noexcept { return id_; }
  [[nodiscard]] sequential_scheduler& scheduler() const noexcept;
  /// The LDS of the actor's work-group.
  void set_lds(std::byte const* first, std::size_t bytes) noexcept {
    lds_ = first;
    lds_bytes_ = bytes;
  }

  /// Bytes that are accessed as one, and how; its order and scope become those that count.
  struct word_access {
    void const* at;
    unsigned bytes;
    std::optional<emu::order> order; ///< none: plain
    emu::scope scope;
    std::source_location where;
    int lane = -1; ///< -1: the one of set_lane(), if any
    [[nodiscard]] std::uintptr_t address() const noexcept {
      return reinterpret_cast<std::uintptr_t>(at);
    }
  };

  template<class T>
  [[nodiscard]] std::remove_const_t<T> load(T const* at, std::optional<order> o, scope s,
                                            std::source_location where, int lane = -1) const {
    std::remove_const_t<T> value;
    unsigned const step = bytes_at_once<T>(o);
    for (std::size_t done = 0; done < sizeof(T); done += step) {
      std::uint64_t const word = load_word({byte_of(at, done), step, o, s, where, lane});
      std::memcpy(reinterpret_cast<std::byte*>(&value) + done, &word, step);
    }
    return value;
  }

  template<class T>
  void store(T* at, T const& value, std::optional<order> o, scope s, std::source_location where,
             int lane = -1) const {
    unsigned const step = bytes_at_once<T>(o);
    for (std::size_t done = 0; done < sizeof(T); done += step) {
      std::uint64_t word = 0;
      std::memcpy(&word, reinterpret_cast<std::byte const*>(&value) + done, step);
      store_word({byte_of(at, done), step, o, s, where, lane}, word);
    }
  }

  /// Plain accesses of consecutive lanes to consecutive elements: what load() and store() of each
  /// in turn would do, a line at a time where it can.
  struct lane_row {
    void const* at;
    unsigned element; ///< bytes: 1, 2, 4 or 8, naturally aligned
    unsigned count;
    int first_lane;
    std::source_location where;
  };
  void load_row(lane_row const& r, void* into) const;
  void store_row(lane_row const& r, void const* from) const;

  /// f(old) gives the new value, or none. Gives the old one.
  template<class T, class F>
  T update(T* at, order o, scope s, std::source_location where, F f) const {
    auto const of_word = [](std::uint64_t word) {
      T value;
      std::memcpy(&value, &word, sizeof(T));
      return value;
    };
    auto change = [&](std::uint64_t old) -> std::optional<std::uint64_t> {
      std::optional<T> const desired = f(of_word(old));
      if (!desired)
        return std::nullopt;
      std::uint64_t word = 0;
      std::memcpy(&word, &*desired, sizeof(T));
      return word;
    };
    return of_word(update_word(
        {at, sizeof(T), o, s, where},
        [](std::uint64_t old, void* c) { return (*static_cast<decltype(change)*>(c))(old); },
        &change));
  }

  void fence(order o, scope s, std::source_location where) const;
  /// The actor uses a data structure wrongly.
  void report_misuse(char const* what, std::source_location where) const;
  /// A vector instruction begins: its lanes' accesses are not ordered among each other.
  void begin_instruction() const;
  /// The lanes of an item kernel wait while the wavefront does something for some of them.
  void lanes_wait() const;
  /// They go on. Some have met: what each of these did before they waited comes before what the
  /// others of them do from now on.
  void lanes_meet(lane_mask who) const;
  /// What comes is the work of this lane alone, in an item kernel; -1: of the whole actor. Accesses
  /// of two lanes are ordered by what the lanes have met in (lanes_meet()), and, for lack of a
  /// clock for each lane, wherever one of them has acquired since another one has released.
  void set_lane(int lane) const noexcept { lane_ = lane; }
  /// Whether lanes that nothing orders come from the last to the first: a choice.
  [[nodiscard]] bool reverses_lanes() const;
  /// The lanes of an atomic vector instruction, one after the other: f(lane).
  template<class F>
  void for_each_lane(lane_mask active, F const& f) const {
    struct instruction {
      explicit instruction(cache_port const& p) : port(p) { port.begin_instruction(); }
      instruction(instruction const&) = delete;
      ~instruction() { port.set_lane(-1); }
      cache_port const& port;
    } const one(*this);
    auto const take_turn = [&](int lane) {
      set_lane(lane);
      f(lane);
    };
    if (active.count() > 1 && reverses_lanes())
      active.for_each_backwards(take_turn);
    else
      active.for_each(take_turn);
  }

  /// Of its actor, so far.
  [[nodiscard]] std::uint64_t operation_count() const noexcept;

  /// Could an atomic load satisfy the predicate now?
  template<class T, class Predicate>
  [[nodiscard]] bool could_load(T const* at, Predicate const& is_met, order o, scope s,
                                std::source_location where) const {
    return could_load_word({at, sizeof(T), o, s, where}, &meets<T, Predicate>,
                           static_cast<void*>(const_cast<Predicate*>(&is_met)));
  }
  /// A load that does, if it can; or one of the newest value, which may be another one by now.
  template<class T, class Predicate>
  [[nodiscard]] T load_if(T const* at, Predicate const& is_met, order o, scope s,
                          std::source_location where) const {
    std::uint64_t const word = load_word({at, sizeof(T), o, s, where}, &meets<T, Predicate>,
                                         static_cast<void*>(const_cast<Predicate*>(&is_met)));
    T value;
    std::memcpy(&value, &word, sizeof(T));
    return value;
  }

private:
  friend class explored_memory;
  template<class T>
  static constexpr unsigned word_bytes =
      sizeof(T) <= 8 && std::has_single_bit(sizeof(T)) && alignof(T) == sizeof(T)
          ? sizeof(T)
          : (alignof(T) < 8 ? alignof(T) : 8);
  /// An atomic access takes all: {int, int} is two words to a plain one.
  template<class T>
  static constexpr unsigned bytes_at_once(std::optional<order> o) noexcept {
    if constexpr (word_bytes<T> == sizeof(T))
      return sizeof(T);
    else
      return o ? sizeof(T) : word_bytes<T>;
  }

  template<class T>
  static void const* byte_of(T const* at, std::size_t offset) noexcept {
    return reinterpret_cast<std::byte const*>(at) + offset;
  }
  template<class T, class Predicate>
  static bool meets(std::uint64_t word, void* predicate) {
    T value;
    std::memcpy(&value, &word, sizeof(T));
    return static_cast<bool>((*static_cast<Predicate*>(predicate))(value));
  }
  [[nodiscard]] bool is_lds(void const* at) const noexcept {
    auto const* const byte = static_cast<std::byte const*>(at);
    return byte >= lds_ && byte < lds_ + lds_bytes_;
  }

  using change_function = std::optional<std::uint64_t> (*)(std::uint64_t, void* argument);
  std::uint64_t load_word(word_access&& w, predicate is_met = nullptr,
                          void* argument = nullptr) const;
  void store_word(word_access&& w, std::uint64_t word) const;
  std::uint64_t update_word(word_access&& w, change_function f, void* argument) const;
  std::uint64_t update_lds_word(word_access const& w, change_function f, void* argument) const;
  bool could_load_word(word_access&& w, predicate is_met, void* argument) const;
  void begin(operation_kind what, word_access& w) const;
  void remember(word_access const& w, char const* what, std::uint64_t value,
                std::string_view more = {}) const;
  std::uint32_t note_update(word_access const& w, std::uint32_t from, bool wrote) const;

  [[nodiscard]] static word_access lane_access(lane_row const& r, unsigned lane) noexcept;
  [[nodiscard]] bool takes_lines(operation_kind what, lane_row const& r) const;
  bool load_line(lane_row const& r, unsigned lane, std::byte* into) const;
  bool store_line(lane_row const& r, unsigned lane, std::byte const* from) const;
  [[nodiscard]] int lane_or(int lane) const noexcept { return lane == -1 ? lane_ : lane; }
  void order_lanes(order o, std::optional<std::uint32_t> from) const;
  void count_lanes(lane_row const& r, unsigned lanes) const;
  void note_line(lane_row const& r, unsigned lane, bool is_store, std::byte const* values) const;

  explored_memory* memory_;
  actor_id id_;
  mutable int lane_ = -1; ///< whose operations they are now
  std::byte const* lds_ = nullptr;
  std::size_t lds_bytes_ = 0;
};

} // namespace quarry::emu
