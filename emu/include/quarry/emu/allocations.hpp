// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/lifetime.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <set>
#include <shared_mutex>
#include <source_location>
#include <string>
#include <string_view>

namespace quarry::emu {

class allocations;

/// Memory that kernels may touch.
struct known_range {
  std::uintptr_t begin;
  std::uintptr_t end;
  std::string name;
  std::source_location where; ///< allocated, or registered
  std::uint64_t number;       ///< in the order in which its allocations were added
  bool is_lds = false;        ///< of one work-group alone

  /// To an address that it does not contain, in bytes.
  [[nodiscard]] std::uintptr_t distance(std::uintptr_t at) const noexcept {
    return at < begin ? begin - at : at - end;
  }
  /// "'ranks' + 4100", "'ranks' - 4": an address, from where it begins.
  [[nodiscard]] std::string offset_of(std::string_view title, std::uintptr_t at) const;
};

/// Whoever wants to know which ranges come and go.
class allocation_listener {
public:
  /// Those that it will be told of from now on, until they go away.
  virtual void listens_to(allocations const& those) = 0;
  virtual void left(allocations const& those) noexcept = 0;
  /// Memory has become known, or is known under a second name. An LDS comes with its wavefronts.
  virtual void added() = 0;
  /// Nobody has given it a value yet: it holds `uninitialised_byte`s.
  virtual void added_uninitialised(void const* begin, std::size_t bytes) = 0;
  virtual void added_coarse_grained(void const* begin, std::size_t bytes) = 0;
  /// Is about to go away.
  virtual void removed(void const* begin, std::size_t bytes) noexcept = 0;
  /// Has gone, after removed().
  virtual void has_gone(known_range&& what) noexcept = 0;

protected:
  ~allocation_listener() = default;
};

/// What device memory holds before anybody gives it a value.
enum class contents : std::uint8_t { zeroed, uninitialised };
inline constexpr unsigned char uninitialised_byte = 0xcd;

/// When device memory is visible beyond the agent whose kernel writes it: as its scopes say, or
/// when the kernel ends. What others write there is visible to kernels that begin later.
///
/// `explore` finds who relies on more; `native` makes no difference.
///
/// Source   HSA Runtime 1.2, hsa_region_global_flag_t; differs: agents take turns where kernels end
///          and begin, without hsa_memory_assign_agent
enum class coherence : std::uint8_t { fine_grained, coarse_grained };

/// What an actor is about to do with memory: for the report, if it may not.
struct attempt {
  attempt(std::source_location site, char const* name = "access", int vector_lane = -1) noexcept
      : where(site), what(name), lane(vector_lane) {}
  std::source_location where;
  char const* what; ///< a literal: "atomic store"
  int lane;         ///< whose element it is of a vector access; -1: it is none
};

/// The bounds of everything that kernels may touch: device allocations and registered host memory.
/// Asked by the checking memory models at each access. Thread-safe.
class allocations {
public:
  using range = known_range;

  allocations() = default;
  allocations(allocations const&) = delete;
  allocations& operator=(allocations const&) = delete;
  ~allocations() {
    if (listener_ != nullptr)
      listener_->left(*this);
  }

  /// Expires with these.
  [[nodiscard]] lifetime::observer lives() const noexcept { return lifetime_.observed(); }

  /// Errors   std::invalid_argument – the range overlaps a known one, and whose the two are; or it
  ///          goes beyond the last address
  void add(void const* begin, std::size_t bytes, std::string name,
           contents holds = contents::zeroed, coherence grain = coherence::fine_grained,
           std::source_location where = std::source_location::current());
  /// A work-group's, which under `explore` nobody else may touch. Errors   as add()
  void add_lds(void const* begin, std::size_t bytes, std::string name, std::source_location where);
  void remove(void const* begin) noexcept;
  /// What is known there is known here, too; null: nothing else. Borrowed.
  void include(allocations const* outer) noexcept { outer_ = outer; }
  /// Told of everything from now on; null: nobody.
  void tell(allocation_listener* listener) {
    listener_ = listener;
    if (listener != nullptr)
      listener->listens_to(*this);
  }

  /// True if [at, at + bytes) lies inside one allocation.
  [[nodiscard]] bool contain(void const* at, std::size_t bytes) const noexcept;

  /// "12 bytes after the end of 'ranks' (4096 bytes, allocated at main.cpp:9), 64 bytes before
  /// 'sums'", "4 bytes before 'ranks' (…)", "3 bytes over the end of 'ranks'", "at byte 0 of 'old'
  /// (…), which was given back": an access of so many bytes, for reports.
  [[nodiscard]] std::string describe(void const* at, std::size_t bytes = 1) const;
  /// "'ranks' + 4100" or "'ranks' - 4": the address as seen from the nearest allocation, of these;
  /// the address itself if that is far away.
  [[nodiscard]] std::string offset_of(void const* at) const;
  /// "ranks, byte 8"; empty if the address is in none of these.
  [[nodiscard]] std::string locate(void const* at) const;
  /// The one that the address is in, of these, or null; until one comes or goes. Only where nobody
  /// else can add or remove any meanwhile.
  [[nodiscard]] range const* find(std::uintptr_t at) const noexcept;
  /// The last one that begins there or before, of these, or null; the same is true of it.
  [[nodiscard]] range const* find_before(std::uintptr_t at) const noexcept;
  /// The one that the address is in, or is nearest to, unless all are a MiB away: where things lie
  /// is a matter of chance then.
  [[nodiscard]] range const* find_near(std::uintptr_t at) const noexcept;
  /// How many there are of that name; `before`: only those that were added before that one. The
  /// same is true of it.
  [[nodiscard]] std::size_t count_named(std::string_view name,
                                        range const* before = nullptr) const noexcept;

private:
  struct by_begin {
    using is_transparent = void;
    bool operator()(range const& a, range const& b) const noexcept { return a.begin < b.begin; }
    bool operator()(std::uintptr_t a, range const& b) const noexcept { return a < b.begin; }
    bool operator()(range const& a, std::uintptr_t b) const noexcept { return a.begin < b; }
  };
  using ranges = std::set<range, by_begin>; // a program may have tens of thousands

  void insert(range&& r);
  void note_gone(range&& r) noexcept;
  /// The last one that held it, unless something else does now; or null.
  [[nodiscard]] range const* find_gone(std::uintptr_t at) const noexcept;
  /// "slots", or "slots #2" where there are several of that name.
  [[nodiscard]] std::string title_of(range const& r) const;
  /// The first one that begins after the address.
  [[nodiscard]] ranges::const_iterator after(std::uintptr_t at) const noexcept;
  /// A number that no other has had: 2^32 changes are between two of these.
  [[nodiscard]] static std::uint64_t first_version() noexcept;

  lifetime lifetime_;
  allocations const* outer_ = nullptr;
  allocation_listener* listener_ = nullptr;
  mutable std::shared_mutex mutex_;
  ranges ranges_;
  std::array<range, 16> gone_{};                        ///< the last ones, for who has no listener
  std::size_t gone_count_ = 0;                          ///< so far
  std::uint64_t added_ = 0;                             ///< ranges, so far
  std::atomic<std::uint64_t> version_{first_version()}; ///< of these, here
};

/// Throws kernel_stop out_of_bounds unless [at, at + bytes) lies inside one allocation.
void check_bounds(allocations const& known, void const* at, std::size_t bytes, attempt how);
/// Throws kernel_stop misaligned: of an access of so many bytes that is to be so aligned.
[[noreturn]] void stop_misaligned(void const* at, std::size_t bytes, std::size_t alignment,
                                  attempt how, allocations const* known);
/// Throws kernel_stop misaligned unless `at`, of an access of so many bytes, is a multiple of
/// `alignment`, a power of two. `known`: where reports look for its allocation.
inline void check_alignment(void const* at, std::size_t bytes, std::size_t alignment, attempt how,
                            allocations const* known = nullptr) {
  if ((reinterpret_cast<std::uintptr_t>(at) & (alignment - 1)) != 0) [[unlikely]]
    stop_misaligned(at, bytes, alignment, how, known);
}

} // namespace quarry::emu
