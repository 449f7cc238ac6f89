// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/buffer.hpp>
#include <quarry/emu/fault.hpp>
#include <quarry/emu/global.hpp>
#include <quarry/emu/handover.hpp>
#include <quarry/emu/launch_state.hpp>
#include <quarry/net/comp_net/command.hpp>
#include <quarry/net/comp_net/heap_wait.hpp>
#include <quarry/net/comp_net/ring.hpp>
#include <quarry/net/comp_net/ring_orders.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/net/shmem/node.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace quarry::net::comp_net {

/// What stays of a ring's context while no work-group has one: in device memory.
struct alignas(64) ring_state {
  std::uint32_t is_open = 0;    ///< a work-group holds the context
  std::uint32_t write = 0;      ///< where the next one goes on writing
  std::uint64_t barriers = 0;   ///< that its contexts have been in
  std::uint64_t reductions = 0; ///< chunks that they have reduced
};

/// Where a ring's barriers and reductions meet: a part of the symmetric heap.
///
/// Shape    for each ring 16 barrier words; for each of two banks and each pe a chunk and a signal
class meeting_place {
public:
  meeting_place() = default;
  meeting_place(std::byte* first, std::uint32_t pe_count, std::size_t chunk_bytes) noexcept
      : first_(first), pe_count_(pe_count), chunk_bytes_(chunk_bytes) {}

  static constexpr std::uint32_t most_rounds = 16;
  [[nodiscard]] static std::size_t bytes(std::uint32_t ring_count, std::uint32_t pe_count,
                                         std::size_t chunk_bytes) noexcept {
    return ring_count * meeting_place(nullptr, pe_count, chunk_bytes).ring_bytes();
  }
  [[nodiscard]] std::size_t chunk_bytes() const noexcept { return chunk_bytes_; }
  [[nodiscard]] std::uint64_t* barrier_word(std::uint32_t ring,
                                            std::uint32_t round) const noexcept {
    return reinterpret_cast<std::uint64_t*>(first_ + ring * ring_bytes()) + round;
  }
  /// Where pe `from` puts its part.
  [[nodiscard]] std::byte* chunk(std::uint32_t ring, std::uint64_t bank,
                                 std::uint32_t from) const noexcept {
    return first_ + ring * ring_bytes() + most_rounds * sizeof(std::uint64_t) +
           (bank * pe_count_ + from) * (chunk_bytes_ + signal_bytes);
  }
  [[nodiscard]] std::uint64_t* signal(std::uint32_t ring, std::uint64_t bank,
                                      std::uint32_t from) const noexcept {
    return reinterpret_cast<std::uint64_t*>(chunk(ring, bank, from) + chunk_bytes_);
  }

private:
  static constexpr std::size_t signal_bytes = 64;
  [[nodiscard]] std::size_t ring_bytes() const noexcept {
    return most_rounds * sizeof(std::uint64_t) + (chunk_bytes_ + signal_bytes) * 2 * pe_count_;
  }
  std::byte* first_ = nullptr;
  std::uint32_t pe_count_ = 0;
  std::size_t chunk_bytes_ = 0;
};

/// What a ring's work-group waits for in its own heap, for who looks after it natively: the wait
/// itself cannot see that a peer has stopped.
struct wait_record {
  static constexpr std::uint32_t no_pe = ~0U;
  std::atomic<std::uint64_t> number{0}; ///< odd: it waits
  std::atomic<char const*> what{nullptr};
  std::atomic<char const*> file{nullptr};
  std::atomic<std::uint32_t> line{0};
  std::atomic<std::uint32_t> from{no_pe}; ///< who is to put there, if that is known
  std::atomic<std::uint64_t> absent{0};   ///< groups of its launch that were not resident

  void begin(char const* name, std::optional<pe> who, std::uint64_t absent_groups,
             std::source_location where) noexcept {
    what.store(name, std::memory_order_relaxed);
    absent.store(absent_groups, std::memory_order_relaxed);
    from.store(who ? who->id : no_pe, std::memory_order_relaxed);
    file.store(where.file_name(), std::memory_order_relaxed);
    line.store(where.line(), std::memory_order_relaxed);
    // Release: pairs with who reads the number and then the rest. One work-group writes.
    number.store((number.load(std::memory_order_relaxed) + 1) | 1, std::memory_order_release);
  }
  void end() noexcept {
    number.store(number.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  /// Whoever has begun is gone.
  void end_if_begun() noexcept {
    if (number.load(std::memory_order_relaxed) % 2 != 0)
      end();
  }
};

/// Which launch has which ring's context. Who serves the rings need not look at them while there is
/// none, and closes the contexts that a launch has left open when it ended.
class open_contexts final : public emu::launch_state::heir {
public:
  /// A context whose launch has ended.
  struct orphan {
    std::uint32_t ring;
    std::shared_ptr<std::atomic<std::uint32_t>> left; ///< counted down when it is closed
  };
  /// How often contexts of a ring have met those of other pes, as far as is known.
  struct meetings {
    std::uint64_t barriers = 0;
    std::uint64_t reductions = 0;
  };

  /// `wake` wakes the service.
  open_contexts(std::uint32_t ring_count, std::function<void()> wake)
      : holders_(ring_count), wake_(std::move(wake)) {}

  [[nodiscard]] std::uint32_t count() const noexcept {
    return count_.load(std::memory_order_seq_cst);
  }
  [[nodiscard]] std::string rings_in_use() const; ///< "0, 3"
  /// No more are opened.
  void end() noexcept { is_over_.store(true, std::memory_order_seq_cst); }
  [[nodiscard]] bool is_over() const noexcept { return is_over_.load(std::memory_order_seq_cst); }
  /// False: no more are opened.
  [[nodiscard]] bool try_open(std::uint32_t ring, emu::launch_state& by) {
    count_.fetch_add(1, std::memory_order_seq_cst);
    if (is_over()) { // who has said so looks at the count then
      count_.fetch_sub(1, std::memory_order_relaxed);
      return false;
    }
    holders_[ring].launch.store(&by, std::memory_order_relaxed);
    by.leaves_to(*this);
    wake_(); // orders the count before the service's next look
    return true;
  }
  /// Before anybody else can open it.
  void closed(std::uint32_t ring) noexcept {
    holders_[ring].launch.store(nullptr, std::memory_order_relaxed);
    count_.fetch_sub(1, std::memory_order_relaxed);
  }
  void has_met(std::uint32_t ring, meetings const& m) noexcept {
    holders_[ring].barriers.store(m.barriers, std::memory_order_relaxed);
    holders_[ring].reductions.store(m.reductions, std::memory_order_relaxed);
  }
  [[nodiscard]] meetings met(std::uint32_t ring) const noexcept {
    return {holders_[ring].barriers.load(std::memory_order_relaxed),
            holders_[ring].reductions.load(std::memory_order_relaxed)};
  }

  /// For the service of rings [first, last).
  [[nodiscard]] std::vector<orphan> take_orphans(std::uint32_t first, std::uint32_t last);
  [[nodiscard]] bool has_orphans(std::uint32_t first, std::uint32_t last);

private:
  struct holder {
    std::atomic<emu::launch_state const*> launch{nullptr};
    std::atomic<std::uint64_t> barriers{0};
    std::atomic<std::uint64_t> reductions{0};
  };
  void inherit(emu::launch_state const& from,
               std::shared_ptr<std::atomic<std::uint32_t>> const& left) override;

  std::atomic<std::uint32_t> count_{0};
  std::vector<holder> holders_; ///< one a ring
  std::function<void()> wake_;
  std::mutex mutex_; ///< guards orphans_
  std::vector<orphan> orphans_;
  emu::handover inherited_; ///< what has_orphans_ orders, for `explore`
  std::atomic<bool> has_orphans_{false};
  std::atomic<bool> is_over_{false};
};

template<class T>
[[nodiscard]] emu::global<T> member(emu::global<ring_state> s, T ring_state::* m) {
  return emu::global<T>(&(s.get()->*m));
}

/// Takes a ring that nobody has. Gives what was left; nothing: somebody has it.
template<class A>
[[nodiscard]] std::optional<ring_state>
try_take_ring(A& self, emu::global<ring_state> states, std::uint32_t ring,
              ring_orders const& orders,
              std::source_location where = std::source_location::current()) {
  auto const saved = states + ring;
  if (self.exchange(member(saved, &ring_state::is_open), 1U, orders.open_context, where) != 0)
    return {};
  ring_state left{.is_open = 1};
  left.write = self.load(member(saved, &ring_state::write), where);
  left.barriers = self.load(member(saved, &ring_state::barriers), where);
  left.reductions = self.load(member(saved, &ring_state::reductions), where);
  return left;
}
/// Another context may have it, which goes on where this one has come to.
template<class A>
void give_ring_back(A& self, emu::global<ring_state> states, std::uint32_t ring,
                    ring_state const& left, ring_orders const& orders,
                    std::source_location where = std::source_location::current()) {
  auto const saved = states + ring;
  self.store(member(saved, &ring_state::write), left.write, where);
  self.store(member(saved, &ring_state::barriers), left.barriers, where);
  self.store(member(saved, &ring_state::reductions), left.reductions, where);
  self.store(member(saved, &ring_state::is_open), 0U, orders.close_context, where);
}

/// ComP-Net's global handle: what every work-group of a node's kernels shares. Pass
/// std::ref(node.device()) to kernels; a work-group makes a context of it (context::init).
class device {
public:
  struct parts {
    rings* queues;
    emu::global<ring_state> states;    ///< one a ring
    emu::global<std::uint32_t> failed; ///< not 0 once the job has failed
    meeting_place meetings;
    shmem::node* network;
    open_contexts* contexts;
    std::span<wait_record> waits; ///< one a ring
  };
  explicit device(parts const& p)
      : parts_(p), self_(p.network->self()), count_(p.network->pe_count()) {}

  [[nodiscard]] pe self() const noexcept { return self_; }
  [[nodiscard]] std::uint32_t pe_count() const noexcept { return count_; }

  // For Quarry's own parts
  [[nodiscard]] rings& queues() const noexcept { return *parts_.queues; }
  [[nodiscard]] emu::global<ring_state> states() const noexcept { return parts_.states; }
  [[nodiscard]] meeting_place const& meetings() const noexcept { return parts_.meetings; }
  [[nodiscard]] open_contexts& contexts() const noexcept { return *parts_.contexts; }
  [[nodiscard]] wait_record& wait_of(std::uint32_t ring) const noexcept {
    return parts_.waits[ring];
  }
  [[nodiscard]] shmem::node const& network() const noexcept { return *parts_.network; }
  [[nodiscard]] failure_word failure() const noexcept {
    return {parts_.failed, parts_.queues->orders().see_failure};
  }

  /// The place of a symmetric object on every pe. Throws kernel_stop out_of_bounds outside of the
  /// heap; `what` is the operation's name.
  [[nodiscard]] std::uint64_t offset_of(void const* at, std::size_t bytes, char const* what,
                                        std::source_location where) const;
  /// For command::site; 0 where nothing is explored.
  [[nodiscard]] std::uint16_t site_number(std::source_location where) const;
  /// Throws kernel_stop out_of_bounds.
  void check_pe(pe target, char const* what, std::source_location where) const;
  /// Work-groups of one number that are in different collectives.
  struct difference {
    std::uint32_t ring;
    char const* what; ///< this pe's
    pe other;
    char const* others; ///< what
  };
  /// The job fails. Throws kernel_stop wrong_shape.
  [[noreturn]] void stop_differing(difference const& d, std::source_location where) const;
  /// The job has failed: throws kernel_stop that says why.
  [[noreturn]] void stop(char const* what, std::source_location where) const;

private:
  parts parts_;
  pe self_;
  std::uint32_t count_;
};

} // namespace quarry::net::comp_net
