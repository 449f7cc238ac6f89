// SPDX-License-Identifier: Apache-2.0
#include "stretch.hpp"

#include <utility>

namespace quarry {
namespace {

constexpr std::uint64_t base = 0x9e37'79b9'7f4a'7c15; // of a polynomial, modulo 2^64

std::uint64_t power_of_base(std::uint64_t exponent) noexcept {
  std::uint64_t result = 1;
  for (std::uint64_t square = base; exponent != 0; exponent /= 2, square *= square)
    if (exponent % 2 == 1)
      result *= square;
  return result;
}

} // namespace

void stretch::count(std::uint64_t trace_hash_of_it) noexcept {
  ++executions;
  trace_hash = trace_hash * base + trace_hash_of_it;
}

void stretch::count_inconclusive(std::string&& who) {
  ++inconclusive;
  busiest = std::move(who);
}

void stretch::fail(emu::explored_memory::finding const& found, std::uint64_t seed,
                   recorder const& chosen) {
  failure = {.kind = found.kind,
             .where = found.where,
             .report = found.report,
             .history = {},
             .seed = seed,
             .execution = executions,
             .found = chosen.record(),
             .shrunk = {}};
}

void stretch::fail_by_what_was_thrown(std::uint64_t seed, recorder const& chosen) {
  error = std::current_exception();
  count(chosen.trace_hash());
  fail({"exception", "something that is no std::exception", ""}, seed, chosen);
}

void stretch::append(stretch&& later) {
  if (later.inconclusive != 0)
    busiest = std::move(later.busiest);
  inconclusive += later.inconclusive;
  limited += later.limited;
  repeated += later.repeated;
  if (divergence.empty())
    divergence = std::move(later.divergence);
  failure = std::move(later.failure);
  if (failure)
    failure->execution += executions;
  error = std::move(later.error);
  executions += later.executions;
  trace_hash = trace_hash * power_of_base(later.executions) + later.trace_hash;
}

void stretch::tell(verdict& into) && {
  into.failure = std::move(failure);
  if (error)
    std::rethrow_exception(error);
  into.executions = executions;
  into.trace_hash = trace_hash;
  into.repeated = repeated;
  into.inconclusive = inconclusive;
  into.limited = limited;
  into.busiest = std::move(busiest);
  if (!divergence.empty())
    into.divergence += "hidden state: " + divergence;
}

} // namespace quarry
