// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace quarry::emu {

/// What a faulty kernel did: a value in the launch's outcome, never thrown at the host.
struct fault {
  enum class kind : std::uint8_t {
    barrier_divergence, ///< some wavefronts of a group wait where others never arrive
    out_of_bounds,      ///< a global access outside every allocation, or across the end of one
    lds_out_of_bounds,  ///< more LDS asked for than the launch reserved
    misaligned,         ///< an access that is not aligned for its type; an atomic one, for its size
    deadlock,           ///< nobody can go on, and all groups are resident or done
    not_resident,       ///< nobody can go on while groups wait for a place on a compute unit
    stall,              ///< no progress for the stall timeout, or no end after so many decisions
    wrong_shape,        ///< a kernel asked for a view that its launch does not have
    exception,          ///< the kernel threw
    misuse,             ///< of a channel: what belongs to another one, say
    bad_packet,         ///< the command processor cannot do what a packet says
  };
  kind what;
  std::string kernel;
  std::string report; ///< several lines: who, where, who is absent, the launch
};

[[nodiscard]] std::string_view to_string(fault::kind k) noexcept;

/// Thrown by outcome::or_throw().
class kernel_fault : public std::runtime_error {
public:
  explicit kernel_fault(fault f) : std::runtime_error(f.report), fault_(std::move(f)) {}
  [[nodiscard]] fault const& what_happened() const noexcept { return fault_; }

private:
  fault fault_;
};

/// How a launch ended.
class [[nodiscard]] outcome {
public:
  outcome() = default;
  explicit outcome(std::optional<fault> f) : fault_(std::move(f)) {}
  /// True if the kernel ran to its end without a fault.
  explicit operator bool() const noexcept { return !fault_; }
  [[nodiscard]] std::optional<fault> const& get_fault() const noexcept { return fault_; }
  /// Errors   kernel_fault – the launch had one
  void or_throw() const {
    if (fault_)
      throw kernel_fault(*fault_);
  }

private:
  std::optional<fault> fault_;
};

/// How a kernel's operation stops its own wavefront: thrown inside the kernel, caught by the
/// compute unit, delivered as the launch's fault. Never seen by the host; a kernel must not catch
/// it. Where it is made the kernel is still in the middle of what it did: in an explored execution
/// a debugger is told there.
struct kernel_stop {
  kernel_stop(fault::kind kind, std::string message, std::source_location where, int lane = -1);

  fault::kind what;
  std::string message;
  std::source_location where;
  int lane; ///< of a vector access: whose element is to blame; -1: none
};

/// A child of a wavefront or of a work-item (when_all, a nursery) awaits what only those wait in.
///
/// Throws kernel_stop misuse
[[noreturn]] void awaited_by_child(char const* what, std::source_location where);

} // namespace quarry::emu
