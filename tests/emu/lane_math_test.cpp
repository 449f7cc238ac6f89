// SPDX-License-Identifier: Apache-2.0
#include "agents.hpp"

#include <quarry/emu/lane_math.hpp>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

template<class T>
auto bits_of(T x) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<std::uint32_t>(x);
  else
    return std::bit_cast<std::uint64_t>(x);
}

template<class T, int Size, class F>
void check_each(lanes<T, Size> const& got, F expected) {
  for (int i = 0; i < Size; ++i) {
    CAPTURE(i);
    REQUIRE(bits_of(got[i]) == bits_of(expected(i)));
  }
}

/// Numbers of all sizes and both signs, and what is not one.
template<class T, int Size>
lanes<T, Size> operands() {
  return lanes<T, Size>::generate([](int i) -> T {
    switch (i) {
    case 0:
      return T{0};
    case 1:
      return -T{0};
    case 2:
      return std::numeric_limits<T>::infinity();
    case 3:
      return -std::numeric_limits<T>::infinity();
    case 4:
      return std::numeric_limits<T>::denorm_min();
    case 5:
      return T{2.5};
    case 6:
      return T{-2.5};
    default:
      return static_cast<T>(i - Size / 2) / T{8};
    }
  });
}

template<class T, int N>
struct shape {
  using value = T;
  static constexpr int size = N;
};

/// The value of a European call option, by Black and Scholes.
struct option_value {
  template<class T>
  static auto of(T const& price) {
    using std::erfc, std::exp, std::log, std::sqrt;
    float const strike = 100, rate = 0.05F, volatility = 0.2F, years = 2;
    T const d1 = (log(price / strike) + (rate + volatility * volatility / 2) * years) /
                 (volatility * std::sqrt(years));
    T const d2 = d1 - volatility * std::sqrt(years);
    auto const normal = [](T const& x) { return T(0.5F) * erfc(-x / std::sqrt(2.0F)); };
    return T(price * normal(d1) - exp(T(-rate * years)) * strike * normal(d2));
  }
  task<> operator()(any_wavefront auto& wf, global<float const> prices,
                    global<float> values) const {
    wf.store(values + wf.global_id(), of(wf.load(prices + wf.global_id())));
    co_return;
  }
};

struct option_value_of_item {
  void operator()(any_plain_work_item auto& it, global<float const> prices,
                  global<float> values) const {
    it.store(values + it.global_id(), option_value::of(it.load(prices + it.global_id())));
  }
};

} // namespace

TEST_SUITE("emu.lane_math") {
  TEST_CASE_TEMPLATE("functions of one value are <cmath>'s, lane by lane", S, shape<float, 64>,
                     shape<double, 64>, shape<float, 32>, shape<double, 32>) {
    using T = typename S::value;
    auto const a = operands<T, S::size>();
    check_each(exp(a), [&](int i) { return std::exp(a[i]); });
    check_each(exp2(a), [&](int i) { return std::exp2(a[i]); });
    check_each(expm1(a), [&](int i) { return std::expm1(a[i]); });
    check_each(log(abs(a)), [&](int i) { return std::log(std::abs(a[i])); });
    check_each(log2(abs(a)), [&](int i) { return std::log2(std::abs(a[i])); });
    check_each(log10(abs(a)), [&](int i) { return std::log10(std::abs(a[i])); });
    check_each(log1p(abs(a)), [&](int i) { return std::log1p(std::abs(a[i])); });
    check_each(cbrt(a), [&](int i) { return std::cbrt(a[i]); });
    auto const finite = min(max(a, lanes<T, S::size>(-1)), lanes<T, S::size>(1));
    check_each(sin(finite), [&](int i) { return std::sin(finite[i]); });
    check_each(cos(finite), [&](int i) { return std::cos(finite[i]); });
    check_each(tan(finite), [&](int i) { return std::tan(finite[i]); });
    check_each(asin(finite), [&](int i) { return std::asin(finite[i]); });
    check_each(acos(finite), [&](int i) { return std::acos(finite[i]); });
    check_each(atan(a), [&](int i) { return std::atan(a[i]); });
    check_each(sinh(a), [&](int i) { return std::sinh(a[i]); });
    check_each(cosh(a), [&](int i) { return std::cosh(a[i]); });
    check_each(tanh(a), [&](int i) { return std::tanh(a[i]); });
    check_each(asinh(a), [&](int i) { return std::asinh(a[i]); });
    check_each(acosh(abs(a) + T{1}), [&](int i) { return std::acosh(std::abs(a[i]) + T{1}); });
    check_each(atanh(finite), [&](int i) { return std::atanh(finite[i]); });
    check_each(tgamma(abs(a)), [&](int i) { return std::tgamma(std::abs(a[i])); });
    check_each(erf(a), [&](int i) { return std::erf(a[i]); });
    check_each(erfc(a), [&](int i) { return std::erfc(a[i]); });
    check_each(floor(a), [&](int i) { return std::floor(a[i]); });
    check_each(ceil(a), [&](int i) { return std::ceil(a[i]); });
    check_each(trunc(a), [&](int i) { return std::trunc(a[i]); });
    check_each(rint(a), [&](int i) { return std::rint(a[i]); });
    check_each(round(a), [&](int i) { return std::round(a[i]); });
  }

  TEST_CASE_TEMPLATE("functions of two values, of which one may be a number", S, shape<float, 64>,
                     shape<double, 32>) {
    using T = typename S::value;
    auto const a = operands<T, S::size>();
    auto const b = lanes<T, S::size>::iota(T{0.5}, T{0.25});
    check_each(pow(abs(a), b), [&](int i) { return std::pow(std::abs(a[i]), b[i]); });
    check_each(pow(b, 2), [&](int i) { return std::pow(b[i], T{2}); });
    check_each(pow(2, a), [&](int i) { return std::pow(T{2}, a[i]); });
    check_each(fmod(b, 3), [&](int i) { return std::fmod(b[i], T{3}); });
    check_each(fmod(3, b), [&](int i) { return std::fmod(T{3}, b[i]); });
    check_each(hypot(a, b), [&](int i) { return std::hypot(a[i], b[i]); });
    check_each(hypot(3, b), [&](int i) { return std::hypot(T{3}, b[i]); });
    check_each(atan2(a, b), [&](int i) { return std::atan2(a[i], b[i]); });
    check_each(atan2(1, b), [&](int i) { return std::atan2(T{1}, b[i]); });
    check_each(copysign(b, a), [&](int i) { return std::copysign(b[i], a[i]); });
    check_each(copysign(1, a), [&](int i) { return std::copysign(T{1}, a[i]); });
  }

  TEST_CASE("any function of a lane's values") {
    auto const a = lanes<std::uint32_t, 64>::iota();
    auto const b = lanes<std::uint32_t, 64>::iota(64, -1U);
    check_each(
        each_lane([](std::uint32_t x, std::uint32_t y) { return float(x) / float(y); }, a, b),
        [](int i) { return float(i) / float(64 - i); });
  }

  TEST_CASE("one formula in a wave kernel and in an item kernel: the same bits") {
    with_every_agent([](agent& gpu) {
      constexpr std::size_t count = 1000; // the last wavefront has lanes without a work-item
      auto prices = gpu.allocate<float>(count, "prices");
      auto by_waves = gpu.allocate<float>(count, "by waves");
      auto by_items = gpu.allocate<float>(count, "by items");
      for (std::size_t i = 0; i < count; ++i)
        prices.host()[i] = 1 + static_cast<float>(i) / 4;
      launch_config const grid{.work_items = {count}};
      global<float const> const from = prices.global();
      succeed(gpu.run(grid, option_value{}, from, by_waves.global()));
      succeed(gpu.run(grid, option_value_of_item{}, from, by_items.global()));
      for (std::size_t i = 0; i < count; ++i) {
        CAPTURE(i);
        REQUIRE(bits_of(by_waves.host()[i]) == bits_of(by_items.host()[i]));
      }
      CHECK(by_waves.host()[396] == doctest::Approx(16.126).epsilon(1e-3)); // at the money
    });
  }
}
