// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/lanes.hpp>

#include <cmath>
#include <concepts>
#include <type_traits>

namespace quarry::emu {

/// f(a[lane], b[lane], …) of each lane, in their order: whatever has no function of its own here.
template<class F, lane_value T, int Size, lane_value... U>
  requires lane_value<std::invoke_result_t<F const&, T, U...>>
[[nodiscard]] inline auto each_lane(F const& f, lanes<T, Size> const& a,
                                    lanes<U, Size> const&... b) {
  using result = std::invoke_result_t<F const&, T, U...>;
  return lanes<result, Size>::generate([&](int lane) { return f(a[lane], b[lane]...); });
}

// The mathematical functions of <cmath>, lane by lane: results are those that a plain item kernel
// gets there. Each is a call per lane, inactive ones as well, and nothing traps; sqrt, abs, fma,
// min and max, which hardware has, are with lanes.

// clang-format off
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> exp(lanes<T, Size> const& a) { return each_lane([](T x) { return std::exp(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> exp2(lanes<T, Size> const& a) { return each_lane([](T x) { return std::exp2(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> expm1(lanes<T, Size> const& a) { return each_lane([](T x) { return std::expm1(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> log(lanes<T, Size> const& a) { return each_lane([](T x) { return std::log(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> log2(lanes<T, Size> const& a) { return each_lane([](T x) { return std::log2(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> log10(lanes<T, Size> const& a) { return each_lane([](T x) { return std::log10(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> log1p(lanes<T, Size> const& a) { return each_lane([](T x) { return std::log1p(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> cbrt(lanes<T, Size> const& a) { return each_lane([](T x) { return std::cbrt(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> sin(lanes<T, Size> const& a) { return each_lane([](T x) { return std::sin(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> cos(lanes<T, Size> const& a) { return each_lane([](T x) { return std::cos(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> tan(lanes<T, Size> const& a) { return each_lane([](T x) { return std::tan(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> asin(lanes<T, Size> const& a) { return each_lane([](T x) { return std::asin(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> acos(lanes<T, Size> const& a) { return each_lane([](T x) { return std::acos(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> atan(lanes<T, Size> const& a) { return each_lane([](T x) { return std::atan(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> sinh(lanes<T, Size> const& a) { return each_lane([](T x) { return std::sinh(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> cosh(lanes<T, Size> const& a) { return each_lane([](T x) { return std::cosh(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> tanh(lanes<T, Size> const& a) { return each_lane([](T x) { return std::tanh(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> asinh(lanes<T, Size> const& a) { return each_lane([](T x) { return std::asinh(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> acosh(lanes<T, Size> const& a) { return each_lane([](T x) { return std::acosh(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> atanh(lanes<T, Size> const& a) { return each_lane([](T x) { return std::atanh(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> erf(lanes<T, Size> const& a) { return each_lane([](T x) { return std::erf(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> erfc(lanes<T, Size> const& a) { return each_lane([](T x) { return std::erfc(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> tgamma(lanes<T, Size> const& a) { return each_lane([](T x) { return std::tgamma(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> floor(lanes<T, Size> const& a) { return each_lane([](T x) { return std::floor(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> ceil(lanes<T, Size> const& a) { return each_lane([](T x) { return std::ceil(x); }, a); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> trunc(lanes<T, Size> const& a) { return each_lane([](T x) { return std::trunc(x); }, a); }
/// Halves away from zero.
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> round(lanes<T, Size> const& a) { return each_lane([](T x) { return std::round(x); }, a); }
/// By the present rounding mode.
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> rint(lanes<T, Size> const& a) { return each_lane([](T x) { return std::rint(x); }, a); }

// One of the two may be a number, of any type.
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> pow(lanes<T, Size> const& a, std::type_identity_t<lanes<T, Size>> const& b) { return each_lane([](T x, T y) { return std::pow(x, y); }, a, b); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> fmod(lanes<T, Size> const& a, std::type_identity_t<lanes<T, Size>> const& b) { return each_lane([](T x, T y) { return std::fmod(x, y); }, a, b); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> hypot(lanes<T, Size> const& a, std::type_identity_t<lanes<T, Size>> const& b) { return each_lane([](T x, T y) { return std::hypot(x, y); }, a, b); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> atan2(lanes<T, Size> const& a, std::type_identity_t<lanes<T, Size>> const& b) { return each_lane([](T y, T x) { return std::atan2(y, x); }, a, b); }
template<std::floating_point T, int Size> [[nodiscard]] lanes<T, Size> copysign(lanes<T, Size> const& a, std::type_identity_t<lanes<T, Size>> const& b) { return each_lane([](T x, T y) { return std::copysign(x, y); }, a, b); }
template<std::floating_point T, int Size, uniform_for<T> S> [[nodiscard]] lanes<T, Size> pow(S a, lanes<T, Size> const& b) { return pow(lanes<T, Size>(a), b); }
template<std::floating_point T, int Size, uniform_for<T> S> [[nodiscard]] lanes<T, Size> fmod(S a, lanes<T, Size> const& b) { return fmod(lanes<T, Size>(a), b); }
template<std::floating_point T, int Size, uniform_for<T> S> [[nodiscard]] lanes<T, Size> hypot(S a, lanes<T, Size> const& b) { return hypot(lanes<T, Size>(a), b); }
template<std::floating_point T, int Size, uniform_for<T> S> [[nodiscard]] lanes<T, Size> atan2(S a, lanes<T, Size> const& b) { return atan2(lanes<T, Size>(a), b); }
template<std::floating_point T, int Size, uniform_for<T> S> [[nodiscard]] lanes<T, Size> copysign(S a, lanes<T, Size> const& b) { return copysign(lanes<T, Size>(a), b); }

// clang-format on

} // namespace quarry::emu
