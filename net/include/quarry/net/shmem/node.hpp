// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/agent_core.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/net/shmem/context.hpp>
#include <quarry/net/shmem/orders.hpp>
#include <quarry/net/shmem/team.hpp>
#include <quarry/net/shmem/vocabulary.hpp>
#include <quarry/net/transport_port.hpp>
#include <quarry/result.hpp>
#include <quarry/scheduler.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <span>
#include <string_view>
#include <vector>

namespace quarry::net::shmem {

/// One pe of an OpenSHMEM job: its symmetric heap, its default context, and who moves what goes in
/// and out.
///
/// In process, natively, operations go straight into the target's heap. Otherwise they are
/// messages, moved by whoever blocks in a call and, while nobody does, by a thread that sleeps in
/// the transport; under a deterministic scheduler by actors, and then they arrive in an order that
/// the schedule decides, but for fences.
///
/// A blocking call polls, then yields, then blocks; it runs the scheduler's actors meanwhile. Under
/// a deterministic scheduler all calls come from actors.
///
/// `where`, which is the caller's line, names a call in reports of an explored job.
///
/// Source   OpenSHMEM 1.5; differs: errors are values and name the operation and the pe; every wait
///          ends by the timeout; no realloc and malloc_with_hints (§9.3), no waits and tests for
///          a vector of values (§9.10), no locks (§9.12), no global_exit
class node {
public:
  struct options {
    std::size_t heap_bytes = 16 * 1024 * 1024; ///< for malloc(); the same everywhere
    /// For every wait for another pe. Where all answer, three times as long after the last
    /// operation that any of them has begun: they may be slow. None: the job's, as the transport
    /// says.
    std::optional<std::chrono::milliseconds> timeout{};
    std::uint32_t most_teams = 8; ///< the world is one
    /// A team's memory for messages of its collectives. Long reductions go round in quarters of it:
    /// the less there is, the more often members wait for each other.
    std::size_t team_bytes = 1024 * 1024;
    bool shares_memory = true; ///< false: messages also in process
    std::uint64_t mark = 0;    ///< what else all pes must be alike in: a hash of it
    shmem_orders orders{};
  };

  /// Meets the other pes of the job; kernels of `agent` may touch the heap, which in reports is
  /// "symmetric heap of pe 0", allocated at `where`. The agent outlives the node.
  ///
  /// Errors   net_errc::mismatched_job – pes have other options; timeout, peer_lost, …
  ///          throws std::invalid_argument – options outside their limits
  [[nodiscard]] static result<node>
  start(emu::agent_core& agent, std::unique_ptr<transport_port> transport, options const& o,
        std::source_location where = std::source_location::current());
  /// Without kernels. The scheduler outlives the node.
  [[nodiscard]] static result<node>
  start(executor& scheduler, std::unique_ptr<transport_port> transport, options const& o,
        std::source_location where = std::source_location::current());
  node(node&&) noexcept;
  node& operator=(node&&) = delete;
  /// Without finish() before, the others see this pe as lost.
  ~node();

  [[nodiscard]] pe self() const noexcept;
  [[nodiscard]] std::uint32_t pe_count() const noexcept;
  /// For who accesses the heap by itself: kernels that wait for a word, say.
  [[nodiscard]] shmem_orders const& orders() const noexcept;

  // The symmetric heap. All pes call these in the same order with the same sizes.

  /// `count` elements, 64-byte aligned, of any value (zero, if the memory was never used before).
  ///
  /// Errors   heap_exhausted; mismatched_collective – another pe asks for something else
  template<element T>
  [[nodiscard]] result<std::span<T>>
  malloc(std::size_t count, std::source_location where = std::source_location::current()) {
    return spanning<T>(malloc_bytes(count, sizeof(T), where), count);
  }
  /// The same, but all zero: no pe returns before it is so on all of them.
  template<element T>
  [[nodiscard]] result<std::span<T>>
  calloc(std::size_t count, std::source_location where = std::source_location::current()) {
    return spanning<T>(calloc_bytes(count, sizeof(T), where), count);
  }
  /// The same as malloc(), at a multiple of `alignment` on every pe.
  ///
  /// Shape    alignment: a power of two up to most_alignment; 64 at least is what all have
  /// Errors   as malloc(); std::errc::invalid_argument – another alignment
  template<element T>
  [[nodiscard]] result<std::span<T>>
  align(std::size_t alignment, std::size_t count,
        std::source_location where = std::source_location::current()) {
    return spanning<T>(align_bytes(alignment, count, sizeof(T), where), count);
  }
  static constexpr std::size_t most_alignment = symmetric_heap::alignment;
  /// Gives memory of these back, when all pes have come, and what they have put through their
  /// default contexts has. Null: nothing.
  ///
  /// Errors   outside_heap – none of them gave it, or it was given back already
  [[nodiscard]] result<void> free(void* block,
                                  std::source_location where = std::source_location::current());
  /// Another pe's copy of a symmetric object, if it can be reached by loads and stores; or null.
  template<element T>
  [[nodiscard]] T* ptr(T* local, pe target) const noexcept {
    return static_cast<T*>(const_cast<void*>(pointer_to(local, target))); // NOLINT(*-void)
  }
  /// Where a local pointer into the heap is on every pe; so many bytes from there on are in the
  /// heap. Errors   outside_heap
  [[nodiscard]] result<symmetric_address> address_of(void const* local,
                                                     std::size_t bytes = 0) const;
  /// The local copy of a place in the heap; null outside of it.
  [[nodiscard]] std::byte* local(symmetric_address at) const noexcept;

  // One-sided operations

  [[nodiscard]] context& default_context() noexcept { return default_; }
  /// Errors   as failure()
  [[nodiscard]] result<context> make_context();

  // Waiting for what others put here. The words are in the symmetric heap.

  /// Waits until the word compares so. Errors   outside_heap – private memory; timeout; … ;
  /// invalid_argument – no comparison, here and below
  template<atomic_word T>
  [[nodiscard]] result<void>
  wait_until(T const* at, comparison c, std::type_identity_t<T> value,
             std::source_location where = std::source_location::current()) {
    condition<T> const is{c, value};
    return wait_word(at, sizeof(T), is.erased(), {"wait_until", where});
  }
  /// Waits for all words whose `skip` is not set (an empty `skip`: for all).
  template<atomic_word T>
  [[nodiscard]] result<void>
  wait_until_all(std::span<T const> words, comparison c, std::type_identity_t<T> value,
                 std::span<bool const> skip = {},
                 std::source_location where = std::source_location::current()) {
    executor::wait_site const call{"wait_until_all", where};
    if (auto const ok = check_words(words.data(), words.size(), sizeof(T), skip, c, call.what); !ok)
      return ok;
    condition<T> const is{c, value};
    for (std::size_t i = 0; i < words.size(); ++i)
      if (skip.empty() || !skip[i])
        if (auto const met = wait_word(&words[i], sizeof(T), is.erased(), call); !met)
          return met;
    return {};
  }
  /// Waits for any of the words; gives its index: of several one or another, so that calls again
  /// and again give each. None if there is nothing to wait for.
  template<atomic_word T>
  [[nodiscard]] result<std::optional<std::size_t>>
  wait_until_any(std::span<T const> words, comparison c, std::type_identity_t<T> value,
                 std::span<bool const> skip = {},
                 std::source_location where = std::source_location::current()) {
    condition<T> const is{c, value};
    auto const some = wait_words(words.data(), words.size(), sizeof(T), skip, is.erased(),
                                 {"wait_until_any", where});
    if (!some)
      return some.error();
    return any_of(*some);
  }
  /// Waits for any of the words; gives the indices of all that are met then.
  template<atomic_word T>
  [[nodiscard]] result<std::vector<std::size_t>>
  wait_until_some(std::span<T const> words, comparison c, std::type_identity_t<T> value,
                  std::span<bool const> skip = {},
                  std::source_location where = std::source_location::current()) {
    condition<T> const is{c, value};
    return wait_words(words.data(), words.size(), sizeof(T), skip, is.erased(),
                      {"wait_until_some", where});
  }
  /// Does the word compare so now?
  template<atomic_word T>
  [[nodiscard]] result<bool> test(T const* at, comparison c, std::type_identity_t<T> value,
                                  std::source_location where = std::source_location::current()) {
    if (auto const known = check_exists(c, "test"); !known)
      return known.error();
    auto const word = read_word(at, sizeof(T), {"test", where});
    if (!word)
      return word.error();
    return holds(static_cast<T>(*word), c, value);
  }
  /// Do all words whose `skip` is not set compare so now? Yes, if there are none.
  template<atomic_word T>
  [[nodiscard]] result<bool>
  test_all(std::span<T const> words, comparison c, std::type_identity_t<T> value,
           std::span<bool const> skip = {},
           std::source_location where = std::source_location::current()) {
    condition<T> const is_not{negated(c), value}; // which holds for none of them
    auto const others = test_words(words.data(), words.size(), sizeof(T), skip, is_not.erased(),
                                   {"test_all", where});
    if (!others)
      return others.error();
    return others->empty();
  }
  /// The index of a word that compares so now, if any does: as wait_until_any().
  template<atomic_word T>
  [[nodiscard]] result<std::optional<std::size_t>>
  test_any(std::span<T const> words, comparison c, std::type_identity_t<T> value,
           std::span<bool const> skip = {},
           std::source_location where = std::source_location::current()) {
    condition<T> const is{c, value};
    auto const some =
        test_words(words.data(), words.size(), sizeof(T), skip, is.erased(), {"test_any", where});
    if (!some)
      return some.error();
    return any_of(*some);
  }
  /// The indices of all words that compare so now.
  template<atomic_word T>
  [[nodiscard]] result<std::vector<std::size_t>>
  test_some(std::span<T const> words, comparison c, std::type_identity_t<T> value,
            std::span<bool const> skip = {},
            std::source_location where = std::source_location::current()) {
    condition<T> const is{c, value};
    return test_words(words.data(), words.size(), sizeof(T), skip, is.erased(),
                      {"test_some", where});
  }
  /// The signal's value, once it compares so.
  [[nodiscard]] result<std::uint64_t>
  signal_wait_until(std::uint64_t const* signal, comparison c, std::uint64_t value,
                    std::source_location where = std::source_location::current()) {
    executor::wait_site const call{"signal_wait_until", where};
    condition<std::uint64_t> const is{c, value};
    for (;;) { // the signal that has met it may be another by the time it is read
      if (auto const met = wait_word(signal, sizeof *signal, is.erased(), call); !met)
        return met.error();
      auto const seen = read_word(signal, sizeof *signal, call);
      if (!seen || holds(*seen, c, value))
        return seen;
    }
  }
  [[nodiscard]] result<std::uint64_t>
  signal_fetch(std::uint64_t const* signal,
               std::source_location where = std::source_location::current()) {
    return read_word(signal, sizeof *signal, {"signal_fetch", where});
  }

  // All together

  /// All pes of the job.
  [[nodiscard]] team& world() noexcept { return world_; }
  /// Returns when all pes have come, and the default contexts' operations have been applied.
  [[nodiscard]] result<void>
  barrier_all(std::source_location where = std::source_location::current());
  [[nodiscard]] result<void> sync_all(std::source_location where = std::source_location::current());

  /// Moves what goes out and comes in, unless somebody else does so just now; true if anything
  /// moved. For who polls for something of its own, natively; elsewhere does nothing.
  bool progress();
  /// Sleeps so long at most, or until something comes for this node: for a scheduler whose actors
  /// wait for that; true if something may have come. Natively.
  bool idle(std::chrono::nanoseconds at_most);
  /// Do all pes' heaps lie in this process, so that nothing comes by messages?
  [[nodiscard]] bool is_all_direct() const noexcept;
  /// Of a wait that the node does not see, a kernel's say, which has lasted so long: from half of
  /// the timeout on asks the other pes now and then whether they are there, and past the timeout
  /// the job fails as it does for a host's wait, and says `what` it was. `on`: whose kernel is
  /// waited for, if that is known; it does nothing more once it has called finish(). Gives how
  /// often all were asked: as long as that grows, the node answers for the wait. Natively;
  /// elsewhere does nothing.
  std::uint64_t watch(std::string_view what, std::optional<pe> on, std::chrono::nanoseconds waited);
  /// Ends the job, on all pes: every operation says why from now on. For who notices what the node
  /// does not see.
  void fail(error why);
  /// Why the job has failed, if it has. From any thread.
  [[nodiscard]] std::optional<error> failure() const;
  /// Leaves the job in order, together with all pes. Whatever is called after that, another
  /// finish() too, is refused: net_errc::already_finished.
  [[nodiscard]] result<void> finish(std::source_location where = std::source_location::current());

private:
  explicit node(std::unique_ptr<engine> e) noexcept;

  /// A comparison without its type.
  struct erased_condition {
    comparison how;
    bool (*is_met)(std::uint64_t word, void const* condition);
    void const* condition;
  };
  template<class T>
  struct condition {
    comparison how;
    T than;
    [[nodiscard]] erased_condition erased() const noexcept {
      return {how,
              [](std::uint64_t word, void const* c) {
                auto const* const self = static_cast<condition const*>(c);
                return holds(static_cast<T>(word), self->how, self->than);
              },
              this};
    }
  };

  template<class T>
  static result<std::span<T>> spanning(result<std::byte*> const& bytes, std::size_t count) {
    if (!bytes)
      return bytes.error();
    return std::span<T>(reinterpret_cast<T*>(*bytes), count);
  }

  result<std::byte*> malloc_bytes(std::size_t count, std::size_t each, std::source_location where);
  result<std::byte*> calloc_bytes(std::size_t count, std::size_t each, std::source_location where);
  result<std::byte*> align_bytes(std::size_t alignment, std::size_t count, std::size_t each,
                                 std::source_location where);
  result<std::byte*> take(std::size_t alignment, std::size_t count, std::size_t each,
                          char const* operation);
  void const* pointer_to(void const* local, pe target) const noexcept;
  result<void> wait_word(void const* at, unsigned bytes, erased_condition is,
                         executor::wait_site const& call);
  result<std::vector<std::size_t>> wait_words(void const* first, std::size_t count, unsigned bytes,
                                              std::span<bool const> skip, erased_condition is,
                                              executor::wait_site const& call);
  result<std::vector<std::size_t>> test_words(void const* first, std::size_t count, unsigned bytes,
                                              std::span<bool const> skip, erased_condition is,
                                              executor::wait_site const& call);
  result<void> check_words(void const* first, std::size_t count, unsigned bytes,
                           std::span<bool const> skip, comparison how, char const* operation);
  std::optional<std::size_t> any_of(std::vector<std::size_t> const& met);
  result<std::uint64_t> read_word(void const* at, unsigned bytes, executor::wait_site const& call);
  result<void> check_place(void const* at, std::size_t bytes, unsigned each, char const* operation);
  static result<void> check_exists(comparison c, char const* operation);
  static result<void> check_skip(std::size_t count, std::span<bool const> skip,
                                 char const* operation);

  std::unique_ptr<engine> engine_;
  std::unique_ptr<std::atomic<std::uint64_t>> choices_; ///< that any_of() has made
  context default_;
  team world_;
};

} // namespace quarry::net::shmem
