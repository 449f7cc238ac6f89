// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "heap_allocator.hpp"
#include "message.hpp"
#include "region.hpp"
#include "team_state.hpp"

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/buffer.hpp>
#include <quarry/emu/explored_network.hpp>
#include <quarry/emu/handover.hpp>
#include <quarry/native_scheduler.hpp>
#include <quarry/net/shmem/node.hpp>
#include <quarry/net/transport_port.hpp>
#include <quarry/result.hpp>
#include <quarry/scheduler.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace quarry::net::shmem {

/// What a context has sent to each pe, and what has come back. Guarded by the engine's mutex.
struct context_state {
  struct toward {
    std::uint64_t issued = 0;
    std::uint64_t asked = 0; ///< up to where an answer was asked for
    std::uint64_t acked = 0; ///< up to where all is applied
  };
  std::uint32_t id = 0;
  std::uint64_t epoch = 0;
  std::uint64_t open_fetches = 0;
  std::vector<toward> to;
};

/// What a caller waits in: its name is in every error, its line in reports.
struct operation {
  char const* name;
  std::source_location where;
  std::optional<pe> target{};
};

/// One node: what is on its way out, who waits for what, why it failed. Everything but the accesses
/// to memory, which engine_of adds.
class engine {
public:
  /// `known`: what kernels may touch; null: there are none.
  engine(executor& scheduler, emu::allocations* known, std::unique_ptr<transport_port> transport,
         node::options const& o, std::source_location where);
  engine(engine const&) = delete;
  engine& operator=(engine const&) = delete;
  virtual ~engine();

  /// Meets the others. Once, before anything else.
  result<void> meet(std::source_location where);
  /// Kernels begin nothing more.
  void begin_to_leave() noexcept { region_->is_leaving.store(true, std::memory_order_release); }
  result<void> finish(std::source_location where);
  /// As node::progress().
  bool progress();
  /// As node::idle().
  bool idle(std::chrono::nanoseconds at_most);
  /// As node::watch().
  std::uint64_t watch(std::string_view what, std::optional<pe> on, std::chrono::nanoseconds waited);

  /// Errors   misaligned – the elements of `each` bytes there
  static result<void> check_aligned(std::uint64_t offset, std::size_t each, char const* operation);

  [[nodiscard]] pe self() const noexcept { return self_; }
  [[nodiscard]] std::uint32_t pe_count() const noexcept { return count_; }
  [[nodiscard]] region& memory() noexcept { return *region_; }
  [[nodiscard]] node::options const& options() const noexcept { return options_; }
  /// The pe's memory, if it can be touched directly.
  [[nodiscard]] region* direct(pe target) const noexcept { return peers_[target.id].memory.get(); }
  [[nodiscard]] bool is_all_direct() const noexcept { return is_all_direct_; }
  [[nodiscard]] bool decides() const noexcept { return decides_; }

  // Checks of what callers say

  [[nodiscard]] result<void> check(pe target, std::uint64_t offset, std::size_t bytes,
                                   char const* name);
  [[nodiscard]] result<std::uint64_t> offset_of(void const* local, std::size_t bytes,
                                                char const* name) const;

  // Operations, whose places are known to be in the heap

  /// `waits_in`: the call that waits while there is no room, by its name; null: none does. `where`:
  /// for reports.
  result<ticket> put(context_state& c, std::uint64_t offset, std::span<std::byte const> source,
                     pe target, char const* waits_in, std::source_location where);
  result<ticket> put_signal(context_state& c, std::uint64_t offset,
                            std::span<std::byte const> source, std::uint64_t signal,
                            std::uint64_t value, signal_op how, pe target, char const* waits_in,
                            std::source_location where);
  result<ticket> get(context_state& c, std::span<std::byte> dest, std::uint64_t offset, pe target,
                     std::source_location where);
  struct atomic_request {
    atomic_op op;
    unsigned width;
    std::uint64_t offset;
    std::uint64_t operand;
    std::uint64_t comparand;
  };
  /// `waits_in`: as of a put, for one that fetches nothing.
  result<ticket> atomic(context_state& c, atomic_request const& r, std::uint64_t* fetched,
                        pe target, char const* waits_in, std::source_location where);
  void fence(context_state& c);
  /// On a host, before what others may hear of: its plain stores to its heap come before.
  void take_from_host() const {
    if (decides_)
      emu::take_from_host();
  }
  /// The same before an operation, and a quiet() of every context, if it is asked whether that
  /// would mend a failure.
  void begin_on_host(emu::operation_kind what, std::source_location where) {
    take_from_host();
    complete_before(what, where);
  }
  /// Only the latter.
  void complete_before(emu::operation_kind what, std::source_location where);
  bool is_done(context_state& c, ticket const& t);
  bool is_quiet(context_state& c);
  void see_answers() const { answers_.take(); }
  result<void> quiet(context_state& c, operation const& what);
  result<void> quiet_all(operation const& what); ///< of every context
  result<void> wait_for(context_state& c, ticket const& t, operation const& what);
  std::shared_ptr<context_state> make_context();

  // Memory, on behalf of the caller

  virtual void store_here(std::byte* at, std::byte const* from, std::size_t bytes,
                          std::source_location where) = 0;
  virtual void load_here(std::byte* to, std::byte const* at, std::size_t bytes,
                         std::source_location where) = 0;
  virtual std::uint64_t read_word(void const* at, unsigned width, std::source_location where) = 0;
  using word_predicate = bool (*)(std::uint64_t word, void const* condition);
  /// Waits until the predicate holds for the word, which is in the heap.
  virtual result<void> wait_word(void const* at, unsigned width, word_predicate is_met,
                                 void const* condition, operation const& what) = 0;
  /// Waits until the predicate holds for a word whose `skip` is not set; gives all such.
  virtual result<std::vector<std::size_t>> wait_words(std::byte const* first, std::size_t count,
                                                      unsigned width, std::span<bool const> skip,
                                                      word_predicate is_met, void const* condition,
                                                      operation const& what) = 0;

  // Waiting and failing

  /// Waits until is_over() says yes: natively it is not asked again then, so that it may act, too.
  template<class F>
  result<void> wait(operation const& what, F&& is_over) {
    if (!decides_) {
      touch();
      for (int i = 0; i < spins_; ++i) {
        if (is_over())
          return {};
        if (!is_all_direct_)
          static_cast<void>(drive());
        __builtin_ia32_pause();
      }
    }
    auto const ask = [](void* f) -> bool {
      return (*static_cast<std::remove_reference_t<F>*>(f))();
    };
    return wait_long(what, ask, const_cast<void*>(static_cast<void const*>(&is_over)));
  }
  enum class told : std::uint8_t { nobody, everybody };
  void fail(error const& e, told whom);
  [[nodiscard]] std::optional<error> failure() const;
  [[nodiscard]] bool has_failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  /// What a call says when the job has failed.
  [[nodiscard]] error failed(char const* name, std::optional<pe> target = {}) const;
  [[nodiscard]] error failed(operation const& what) const { return failed(what.name, what.target); }

  heap_allocator user_heap; ///< of host calls that all pes make together: one at a time
  std::shared_ptr<team_state> world;
  std::uint64_t free_teams = 0; ///< a bit each
  std::shared_ptr<context_state> user_context, internal_context;

protected:
  // Of the calling actor, directly
  virtual void near_put(region& r, std::uint64_t offset, std::span<std::byte const> source) = 0;
  virtual void near_get(region& r, std::span<std::byte> dest, std::uint64_t offset) = 0;
  virtual void near_signal(region& r, std::uint64_t offset, signal_op how, std::uint64_t v) = 0;
  virtual std::uint64_t near_atomic(region& r, atomic_request const& a, bool needs_old) = 0;
  virtual void near_fence(emu::order o) = 0;
  /// Starts whoever moves messages.
  virtual void begin() = 0;
  /// Acts on a message that is harmless.
  virtual void apply(pe from, message const& m, std::span<std::byte const> body) = 0;

  struct peer;
  /// An operation of `c`, if that is not null, is numbered. `inside`: the caller has entered the
  /// transport.
  enum class entered : std::uint8_t { no, yes };
  void post(pe target, message m, std::span<std::byte const> body, context_state* c = nullptr,
            entered inside = entered::no);
  /// Without a copy, unless somebody else is in the transport; false: there is no room now. Native
  /// only.
  bool try_post(pe target, message m, std::span<std::byte const> body, context_state& c);
  /// Lets it wait for whoever is in the transport, or for room. The mutex is held.
  void keep(peer& p, message const& m, std::span<std::byte const> body);
  void kick_for_new();
  static bool drop_probe(peer& p, message const& m) noexcept;
  /// What is waiting goes out, what has come is applied. Native; false if nothing moved.
  bool drive();
  bool flush(); ///< entered
  /// Nothing leaves any more. The mutex is held.
  void drop_outboxes();
  bool receive(); ///< entered
  void take(pe from, std::span<std::byte const> bytes);
  void take_answer(pe from, message const& m, std::span<std::byte const> body);
  bool take_ack(pe from, message const& m);
  bool take_value(pe from, message const& m, std::span<std::byte const> body);
  void take_hello(pe from, message const& m);
  void malformed(pe from, char const* what);
  void take_failure(pe from, message const& m, std::string_view text);
  bool keep_failure(error const& e);
  void announce(pe origin, int code, std::string_view text);
  void wake_all();
  void stop();
  [[nodiscard]] bool is_over() const noexcept {
    return stop_.load(std::memory_order_acquire) || has_failed();
  }

  struct outgoing {
    message head;
    std::vector<std::byte> body;
    emu::handover order{}; ///< what the sender did comes before
  };
  struct peer {
    std::shared_ptr<region> memory; ///< null: messages
    bool has_met = false;
    // What it has answered, when all were asked whether they are there
    std::atomic<bool> is_heard{true};         ///< since the last question
    std::atomic<bool> was_silent{false};      ///< from the question before until the last one
    std::atomic<std::uint64_t> operations{0}; ///< that it has begun, about
    std::atomic<bool> is_leaving{false};      ///< it has called finish()
    std::atomic<bool> was_leaving{false};     ///< when it was asked last
    void begin_question() noexcept {
      was_leaving.store(is_leaving.load(std::memory_order_relaxed), std::memory_order_relaxed);
      was_silent.store(!is_heard.load(std::memory_order_relaxed), std::memory_order_relaxed);
      // Release: pairs with is_silent(), which must not see this and an older was_silent.
      is_heard.store(false, std::memory_order_release);
    }
    /// It has had its time for an answer, and not used it since either.
    [[nodiscard]] bool is_silent() const noexcept {
      return !is_heard.load(std::memory_order_acquire) &&
             was_silent.load(std::memory_order_relaxed);
    }
    /// Its kernels have sent their last, and it has been here for long.
    [[nodiscard]] bool has_left() const noexcept {
      return was_leaving.load(std::memory_order_relaxed);
    }
    std::deque<outgoing> outbox;
    std::size_t outbox_bytes = 0;
    std::size_t asked_bytes = 0;                            ///< of gets, that have not come yet
    std::deque<std::pair<context_state*, message>> unasked; ///< gets, until some of those have
  };
  /// What somebody waits for: who keeps the destination alive until it has come.
  struct fetch {
    context_state* context;
    std::uint32_t target;
    std::byte* dest; ///< of an atomic, a 64-bit word
    std::size_t bytes;
    bool is_atomic;
    std::source_location where; ///< for reports
  };

  executor& scheduler_;
  emu::explored_network const explored_;
  emu::allocations own_known_;
  emu::allocations& known_;
  std::unique_ptr<transport_port> transport_;
  node::options options_;
  std::chrono::milliseconds timeout_;
  pe self_;
  std::uint32_t count_;
  bool const decides_;
  bool const knows_sites_;         ///< an explored job, whose pes are all in this process
  int const spins_;                ///< rounds of a wait that only pause: few, if pes share cores
  native_scheduler* const native_; ///< null under a deterministic one
  bool const runs_kernels_alone_;  ///< the thread that waits must look after them
  bool const shares_memory_;
  bool is_all_direct_ = false;
  std::shared_ptr<region> region_;
  std::optional<emu::registration> exposed_;

  mutable std::mutex mutex_; ///< guards what follows
  std::deque<peer> peers_;
  std::deque<std::shared_ptr<context_state>> contexts_;
  std::map<std::uint64_t, fetch> fetches_;
  std::uint64_t last_fetch_ = 0;

  mutable std::mutex error_mutex_;
  std::optional<error> first_error_;

  std::atomic<std::uint64_t> queued_{0}; ///< messages in outboxes
  std::atomic<bool> failed_{false};
  std::atomic<bool> stop_{false};
  std::atomic<std::uint32_t> running_{0}; ///< actors
  std::atomic<bool> is_broken_{false};    ///< the transport; no more sending
  emu::handover answers_;                 ///< what came back was there before

private:
  static constexpr std::size_t most_waiting_bytes = 1024 * 1024;
  /// In timeouts: how long a wait lasts while all pes answer, and none begins an operation. They
  /// may compute.
  static constexpr int patience = 3;
  result<void> wait_long(operation const& what, bool (*is_over)(void*), void* argument);
  result<void> wait_natively(operation const& what, bool (*is_over)(void*), void* argument);
  [[nodiscard]] std::chrono::microseconds longest_sleep(std::chrono::nanoseconds waited) const;
  void ask_for_dropped();
  /// True if is_over() has said yes.
  bool block(std::chrono::nanoseconds at_most, bool (*is_over)(void*), void* argument);
  void kick();
  /// Entered: until something comes, or there is room, if there is something to send.
  void wait_inside(std::chrono::nanoseconds at_most);
  void progress_while_idle();
  void ask_everybody();
  /// Fails.
  error timed_out(operation const& what, std::string_view why);
  [[nodiscard]] message begun(context_state& c, message_kind what, std::source_location where);
  /// Why a wait that lasts so long is in vain, if it is: somebody is silent, or nobody has begun an
  /// operation for long. Asks all pes now and then. From any thread.
  [[nodiscard]] std::optional<std::string> ask_about(std::chrono::nanoseconds waited);
  [[nodiscard]] std::optional<std::string> overdue(std::chrono::nanoseconds waited,
                                                   std::chrono::nanoseconds since_question) const;
  /// Their names; this pe is not among them.
  template<class Predicate>
  [[nodiscard]] std::string pes_that(Predicate const& are_meant) const;
  void count_operation() noexcept;
  void take_news(peer& p, std::uint64_t operations, bool is_leaving) noexcept;
  /// Under `explore`, behind caches: in the heap, in what collectives need behind it, or in other
  /// device memory.
  [[nodiscard]] bool is_emulated(void const* local, std::size_t bytes) const noexcept;
  /// The source as it is for the caller: through its caches, if it has such.
  [[nodiscard]] std::vector<std::byte> seen_here(std::span<std::byte const> source,
                                                 std::source_location where);
  result<void> send(context_state& c, message const& m, std::span<std::byte const> body, pe target,
                    char const* waits_in, std::source_location where);
  void ask(context_state& c, pe target, message const& m);
  void ask_next(pe target, std::size_t came); ///< entered
  result<void> put_messages(context_state& c, message m, std::span<std::byte const> source,
                            pe target, char const* waits_in, std::source_location where);
  [[nodiscard]] bool is_full(pe target);
  std::uint64_t expect(context_state& c, pe target, std::span<std::byte> dest, bool is_atomic,
                       std::source_location where);
  void touch();
  class driving;
  // As times since the clock's epoch
  std::atomic<std::chrono::steady_clock::duration::rep> asked_at_{0}; ///< all pes, last
  std::atomic<std::chrono::steady_clock::duration::rep> moved_at_{0}; ///< some pe, as is known
  std::atomic<bool> has_moved_{false}; ///< some pe's operation has come since anybody looked
  std::atomic<std::uint64_t> questions_{0};

  // Between who drives and the thread that does so while nobody else does
  std::atomic<std::uint32_t> drivers_{0};
  std::atomic<std::uint64_t> calls_{0};
  std::atomic<std::uint64_t> drives_{0};       ///< counted by who has entered
  std::atomic<bool> is_waiting_inside_{false}; ///< somebody blocks in the transport
  std::atomic<bool> idler_is_off_{false};      ///< and wants to be told when nobody drives
  std::mutex idle_mutex_;
  std::condition_variable idle_changed_;
  std::thread idler_;
};

/// Makes the engine for the scheduler's kind of memory.
[[nodiscard]] std::unique_ptr<engine> make_engine(executor& scheduler, emu::allocations* known,
                                                  std::unique_ptr<transport_port> transport,
                                                  node::options const& o,
                                                  std::source_location where);

} // namespace quarry::net::shmem
