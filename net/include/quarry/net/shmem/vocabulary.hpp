// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace quarry::net::shmem {

/// What an atomic operation does to a word; each gives the old value to who wants it.
enum class atomic_op : std::uint8_t {
  fetch,
  set, ///< `swap`, if the old value is wanted
  compare_swap,
  add,
  bit_and,
  bit_or,
  bit_xor,
};
inline constexpr int atomic_op_count = 7;

/// What a put with signal does to the signal.
enum class signal_op : std::uint8_t { set, add };
[[nodiscard]] constexpr bool exists(signal_op how) noexcept {
  return how <= signal_op::add;
}

/// SHMEM_CMP_EQ … of OpenSHMEM 1.5 §9.10.
enum class comparison : std::uint8_t { equal, not_equal, greater, greater_equal, less, less_equal };

/// What reduce() does with everybody's elements. The bitwise ones are for integers only.
enum class reduction : std::uint8_t { sum, product, minimum, maximum, bit_and, bit_or, bit_xor };

/// Which of the types of one size elements are of, as far as a reduction of them goes.
enum class arithmetic : std::uint8_t { unsigned_integer, signed_integer, floating_point };

/// What can be put, got, and sent around by collectives.
template<class T>
concept element = std::is_trivially_copyable_v<T> && alignof(T) <= 64;

/// What atomic operations, wait_until() and test() work on.
///
/// Source   OpenSHMEM 1.5 table 6, table 12; differs: no floating point set, swap and fetch
template<class T>
concept atomic_word = std::integral<T> && (sizeof(T) == 4 || sizeof(T) == 8);

/// What reduce() works on.
template<class T>
concept reducible = std::integral<T> || std::floating_point<T>;

/// Of so many elements; more than any heap has, where they cannot be counted.
[[nodiscard]] constexpr std::size_t bytes_of(std::size_t count, std::size_t each) noexcept {
  constexpr std::size_t most = ~std::size_t{0};
  return each != 0 && count > most / each ? most : count * each;
}

/// Of those that there are.
[[nodiscard]] constexpr std::string_view to_string(reduction how) noexcept {
  constexpr std::string_view names[] = {"sum",     "product", "minimum", "maximum",
                                        "bit_and", "bit_or",  "bit_xor"};
  return names[static_cast<int>(how)];
}

[[nodiscard]] constexpr std::string_view to_string(arithmetic a) noexcept {
  constexpr std::string_view names[] = {"unsigned", "signed", "floating point"};
  return names[static_cast<int>(a)];
}

[[nodiscard]] constexpr std::string_view to_string(comparison c) noexcept {
  constexpr std::string_view names[] = {"==", "!=", ">", ">=", "<", "<="};
  return names[static_cast<int>(c)];
}

[[nodiscard]] constexpr bool exists(comparison c) noexcept {
  return c <= comparison::less_equal;
}

/// What holds where the other one does not. Of one that does not exist, itself.
[[nodiscard]] constexpr comparison negated(comparison c) noexcept {
  constexpr comparison opposites[] = {comparison::not_equal,     comparison::equal,
                                      comparison::less_equal,    comparison::less,
                                      comparison::greater_equal, comparison::greater};
  if (!exists(c))
    return c;
  return opposites[static_cast<int>(c)];
}

template<class T>
[[nodiscard]] constexpr bool holds(T value, comparison c, T than) noexcept {
  switch (c) {
  case comparison::equal:
    return value == than;
  case comparison::not_equal:
    return value != than;
  case comparison::greater:
    return value > than;
  case comparison::greater_equal:
    return value >= than;
  case comparison::less:
    return value < than;
  case comparison::less_equal:
    return value <= than;
  }
  return false;
}

template<reducible T>
[[nodiscard]] constexpr arithmetic arithmetic_of() noexcept {
  return std::floating_point<T>    ? arithmetic::floating_point
         : std::signed_integral<T> ? arithmetic::signed_integer
                                   : arithmetic::unsigned_integer;
}

/// May elements of T be combined so?
template<reducible T>
[[nodiscard]] constexpr bool combines(reduction how) noexcept {
  return how <= (std::integral<T> ? reduction::bit_xor : reduction::maximum);
}
/// What integers are added and multiplied as: so that they wrap, as atomics do. Those that are
/// narrower than int would become one, and overflow.
template<reducible T>
struct wrapping {
  using type = T;
};
template<std::integral T>
  requires(!std::same_as<T, bool>)
struct wrapping<T> {
  using type = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
};

/// Two elements, combined; integers wrap. Shape    combines<T>(how)
template<reducible T>
[[nodiscard]] constexpr T combined(reduction how, T a, T b) noexcept {
  using wide = typename wrapping<T>::type;
  switch (how) {
  case reduction::sum:
    return static_cast<T>(static_cast<wide>(a) + static_cast<wide>(b));
  case reduction::product:
    return static_cast<T>(static_cast<wide>(a) * static_cast<wide>(b));
  case reduction::minimum:
    return std::min(a, b);
  case reduction::maximum:
    return std::max(a, b);
  default:
    break;
  }
  if constexpr (std::integral<T>) {
    if (how == reduction::bit_and)
      return static_cast<T>(a & b);
    return static_cast<T>(how == reduction::bit_or ? a | b : a ^ b);
  }
  return a;
}

/// A non-blocking operation of a context, which context::is_done() knows. Trivially copyable.
struct ticket {
  enum class kind : std::uint32_t { done, put, fetch };
  kind what = kind::done;
  std::uint32_t target = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};

} // namespace quarry::net::shmem
