// SPDX-License-Identifier: Apache-2.0
#include <quarry/litmus/test.hpp>

#include <fmt/format.h>

namespace quarry::litmus {

value apply(arithmetic operation, value left, value right) {
  // Registers wrap around.
  auto const a = static_cast<std::uint64_t>(left);
  auto const b = static_cast<std::uint64_t>(right);
  switch (operation) {
  case arithmetic::add:
    return static_cast<value>(a + b);
  case arithmetic::subtract:
    return static_cast<value>(a - b);
  case arithmetic::multiply:
    return static_cast<value>(a * b);
  case arithmetic::divide:
    if (right == 0)
      return 0;
    return right == -1 ? static_cast<value>(0 - a) : left / right; // no overflow
  case arithmetic::bit_and:
    return left & right;
  case arithmetic::bit_or:
    return left | right;
  case arithmetic::bit_xor:
    return left ^ right;
  }
  return 0;
}

std::string name_of(test const& t, variable const& v) {
  if (v.what == variable::kind::memory)
    return t.locations[v.at].name;
  auto const& of = t.threads[v.thread];
  return fmt::format("{}:{}", of.name, of.registers[v.at]);
}

} // namespace quarry::litmus
