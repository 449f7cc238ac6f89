// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/random_bits.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>

namespace quarry::sgd {

inline constexpr std::uint32_t hidden_count = 16;
/// Weights and biases: of the hidden layer from both inputs, then of the output.
inline constexpr std::uint32_t parameter_count = hidden_count * 3 + hidden_count + 1;

using parameters = std::array<float, parameter_count>;

/// A point of the plane, and which of two classes it belongs to.
struct sample {
  float x;
  float y;
  float label; ///< 0 or 1
};

/// Uniform in [0, 1), one to one with `i` but for rounding.
[[nodiscard]] inline float uniform(std::uint64_t seed, std::uint64_t i) {
  return static_cast<float>(random_bits::mixed((seed << 40) + i) >> 40) * 0x1p-24F;
}

/// Two half moons that reach into each other, with noise: no straight line divides them.
[[nodiscard]] inline sample make_sample(std::uint64_t seed, std::uint64_t i) {
  bool const is_lower = i % 2 == 1;
  float const angle = std::numbers::pi_v<float> * uniform(seed, 3 * i);
  float const x = 0.2F * (uniform(seed, 3 * i + 1) - 0.5F);
  float const y = 0.2F * (uniform(seed, 3 * i + 2) - 0.5F);
  return is_lower ? sample{1 - std::cos(angle) + x, 0.5F - std::sin(angle) + y, 1}
                  : sample{std::cos(angle) + x, std::sin(angle) + y, 0};
}

[[nodiscard]] inline parameters first_parameters(std::uint64_t seed) {
  parameters p{};
  for (std::uint32_t i = 0; i < parameter_count; ++i)
    p[i] = 2 * uniform(~seed, i) - 1;
  return p;
}

/// A function of a number, or of each of a wavefront's.
template<class Number, class F>
[[nodiscard]] Number each(Number const& x, F const& f) {
  if constexpr (std::floating_point<Number>)
    return f(x);
  else
    return Number::generate([&](int lane) { return f(x[lane]); });
}

/// Points of the plane and their classes. `Number` is float, or lanes of it: a sample a lane.
template<class Number>
struct samples {
  Number x;
  Number y;
  Number label;
};

/// A network of one hidden layer: tanh, then the logistic function. The same for one sample and
/// for a wavefront of them.
class network {
public:
  explicit network(parameters const& p) : p_(p) {}

  /// How likely the sample is of class 1.
  [[nodiscard]] float operator()(sample const& s) const {
    std::array<float, hidden_count> hidden;
    return forward(samples<float>{s.x, s.y, s.label}, hidden);
  }
  /// Adds the gradient of the cross entropy at a sample.
  void add_gradient(sample const& s, std::span<float> gradient) const {
    backward(samples<float>{s.x, s.y, s.label},
             [&](std::uint32_t i, float part) { gradient[i] += part; });
  }
  /// Calls add(i, …) with the samples' part of derivative `i` of the cross entropy, for all
  /// parameters.
  template<class Number, class F>
  void backward(samples<Number> const& s, F const& add) const {
    std::array<Number, hidden_count> hidden;
    Number const error = forward(s, hidden) - s.label;
    add(4 * hidden_count, error);
    for (std::uint32_t h = 0; h < hidden_count; ++h) {
      Number const back = error * p_[3 * hidden_count + h] * (1.0F - hidden[h] * hidden[h]);
      add(3 * hidden_count + h, error * hidden[h]);
      add(3 * h, back * s.x);
      add(3 * h + 1, back * s.y);
      add(3 * h + 2, back);
    }
  }

private:
  template<class Number>
  Number forward(samples<Number> const& s, std::array<Number, hidden_count>& hidden) const {
    Number sum(p_.back());
    for (std::uint32_t h = 0; h < hidden_count; ++h) {
      std::size_t const first = std::size_t{3} * h;
      Number const in = s.x * p_[first] + s.y * p_[first + 1] + p_[first + 2];
      hidden[h] = each(in, [](float v) { return std::tanh(v); });
      sum = sum + hidden[h] * p_[3 * hidden_count + h];
    }
    return each(sum, [](float v) { return 1 / (1 + std::exp(-v)); });
  }

  parameters const& p_;
};

/// How training goes: each step takes the next samples, and goes round.
struct training {
  std::uint64_t seed;
  std::uint32_t steps;
  std::uint32_t batch; ///< samples of a step
  std::uint32_t sample_count;
  float rate;

  /// Sample `i` of a step.
  [[nodiscard]] sample at(std::uint32_t step, std::uint32_t i) const {
    return make_sample(seed, (std::uint64_t{step} * batch + i) % sample_count);
  }
  /// One step down the gradient that was summed over the batch.
  void descend(parameters& p, std::span<float const> gradient) const {
    for (std::uint32_t i = 0; i < parameter_count; ++i)
      p[i] -= rate / static_cast<float>(batch) * gradient[i];
  }
  /// The samples that a network gets right, of all.
  [[nodiscard]] double accuracy(parameters const& p) const {
    network const n(p);
    std::uint32_t right = 0;
    for (std::uint32_t i = 0; i < sample_count; ++i) {
      sample const s = make_sample(seed, i);
      right += (n(s) > 0.5F) == (s.label > 0.5F) ? 1 : 0;
    }
    return static_cast<double>(right) / sample_count;
  }
};

} // namespace quarry::sgd
