// SPDX-License-Identifier: Apache-2.0
#include <quarry/net/shmem/vocabulary.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

using namespace quarry::net::shmem;

namespace {

constexpr comparison comparisons[] = {comparison::equal,   comparison::not_equal,
                                      comparison::greater, comparison::greater_equal,
                                      comparison::less,    comparison::less_equal};
constexpr reduction reductions[] = {reduction::sum,     reduction::product, reduction::minimum,
                                    reduction::maximum, reduction::bit_and, reduction::bit_or,
                                    reduction::bit_xor};

struct alignas(128) wide {
  char c;
};

/// "==", "<", …: as C++ has it.
template<class T>
bool as_written(T a, std::string_view how, T b) {
  return how == "=="   ? a == b
         : how == "!=" ? a != b
         : how == ">"  ? a > b
         : how == ">=" ? a >= b
         : how == "<"  ? a < b
                       : a <= b;
}

template<class T>
void compare_all() {
  using limits = std::numeric_limits<T>;
  T const values[] = {limits::min(), T{0}, T{1}, T{2}, limits::max()};
  for (comparison const c : comparisons)
    for (T const a : values)
      for (T const b : values) {
        CAPTURE(to_string(c));
        CAPTURE(a);
        CAPTURE(b);
        CHECK(holds(a, c, b) == as_written(a, to_string(c), b));
        CHECK(holds(a, negated(c), b) == !holds(a, c, b));
      }
}

/// All reductions of the two, in the order of the enumeration.
template<class T, std::size_t N>
std::array<T, N> all_combined(T a, T b) {
  std::array<T, N> all;
  for (std::size_t i = 0; i < N; ++i)
    all[i] = combined(static_cast<reduction>(i), a, b);
  return all;
}

} // namespace

TEST_SUITE("net.shmem_vocabulary") {
  TEST_CASE(
      "elements are copied bytewise and no stricter than the heap; atomics have 4 or 8 bytes") {
    CHECK(element<std::uint8_t>);
    CHECK(element<std::array<double, 100>>);
    CHECK_FALSE(element<std::string>);
    CHECK_FALSE(element<wide>);
    CHECK(atomic_word<std::int32_t>);
    CHECK(atomic_word<std::uint64_t>);
    CHECK_FALSE(atomic_word<std::int16_t>);
    CHECK_FALSE(atomic_word<double>);
    CHECK(reducible<std::uint8_t>);
    CHECK(reducible<float>);
    CHECK_FALSE(reducible<void*>);
  }

  TEST_CASE("a comparison holds as it is written, and its negation where it does not") {
    compare_all<std::int32_t>();
    compare_all<std::uint32_t>();
    compare_all<std::int64_t>();
    compare_all<std::uint64_t>();
    constexpr std::string_view written[] = {"==", "!=", ">", ">=", "<", "<="};
    for (std::size_t i = 0; i < std::size(comparisons); ++i) {
      CHECK(to_string(comparisons[i]) == written[i]);
      CHECK(negated(negated(comparisons[i])) == comparisons[i]);
    }
  }

  TEST_CASE("integers are combined in seven ways, floating-point numbers in the first four") {
    for (reduction const how : reductions) {
      CHECK(combines<std::int8_t>(how));
      CHECK(combines<std::uint64_t>(how));
      CHECK(combines<double>(how) == (how <= reduction::maximum));
    }
    auto const none = static_cast<reduction>(static_cast<int>(reduction::bit_xor) + 1);
    CHECK_FALSE(combines<std::uint64_t>(none));
    CHECK_FALSE(combines<float>(none));
  }

  TEST_CASE("integers wrap, also where C++'s would overflow") {
    static_assert(combined<std::uint16_t>(reduction::product, 65'535, 65'535) == 1);
    static_assert(combined<std::int32_t>(reduction::sum, 0x7fff'ffff, 1) == -0x7fff'ffff - 1);
    static_assert(combined<std::int64_t>(reduction::product, std::int64_t{1} << 62, 4) == 0);
    static_assert(combined<std::int8_t>(reduction::sum, -100, -100) == 56);
  }

  TEST_CASE("two elements are combined as each reduction says") {
    CHECK(all_combined<std::uint32_t, 7>(12, 10) ==
          std::array<std::uint32_t, 7>{22, 120, 10, 12, 8, 14, 6});
    CHECK(all_combined<std::int64_t, 7>(-3, 2) ==
          std::array<std::int64_t, 7>{-1, -6, -3, 2, 0, -1, -1});
    CHECK(all_combined<double, 4>(-0.5, 4) == std::array<double, 4>{3.5, -2, -0.5, 4});
  }
  TEST_CASE("unsigned elements wrap around in their own width") {
    CHECK(combined<std::uint8_t>(reduction::sum, 200, 100) == 44);
    CHECK(combined<std::uint8_t>(reduction::product, 16, 17) == 16);
    CHECK(combined<std::uint16_t>(reduction::sum, 65'535, 2) == 1);
    CHECK(combined<std::uint32_t>(reduction::product, ~0U, ~0U) == 1);
    CHECK(combined<std::uint64_t>(reduction::sum, ~std::uint64_t{0}, 3) == 2);
    CHECK(combined<std::int8_t>(reduction::sum, 100, 100) == -56);
  }

  TEST_CASE("elements that cannot be counted are more than any heap has") {
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max();
    CHECK(bytes_of(3, 8) == 24);
    CHECK(bytes_of(0, 8) == 0);
    CHECK(bytes_of(most, 0) == 0);
    CHECK(bytes_of(most, 1) == most);
    CHECK(bytes_of(most / 8, 8) == most - 7);
    CHECK(bytes_of(most / 8 + 1, 8) == most); // would be 0
    CHECK(bytes_of(most, most) == most);
  }

  TEST_CASE("a signal is set or added to, and nothing else") {
    CHECK(exists(signal_op::set));
    CHECK(exists(signal_op::add));
    CHECK_FALSE(exists(static_cast<signal_op>(2)));
    CHECK_FALSE(exists(static_cast<signal_op>(255)));
  }

  TEST_CASE("there are six comparisons, and the opposite of none other") {
    CHECK(exists(comparison::equal));
    CHECK(exists(comparison::less_equal));
    for (int const n : {6, 255}) {
      auto const none = static_cast<comparison>(n);
      CHECK_FALSE(exists(none));
      CHECK(negated(none) == none);
      CHECK_FALSE(holds(1, none, 1));
    }
  }

  TEST_CASE("a ticket that nobody has given is done; it is copied like a number") {
    CHECK(ticket{}.what == ticket::kind::done);
    CHECK(std::is_trivially_copyable_v<ticket>);
    CHECK(static_cast<int>(atomic_op::bit_xor) + 1 == atomic_op_count);
  }
}
