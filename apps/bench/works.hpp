// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "huge_array.hpp"
#include "problems.hpp"

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>

namespace quarry::bench {

// The data of one problem each, what it counts, and the serial check of its answer. All values are
// small whole numbers or halves, so that every order of the additions gives the same floats.

class saxpy_work {
public:
  saxpy_work();
  [[nodiscard]] saxpy_problem problem() const;
  /// `runs`: how often y was updated in place.
  [[nodiscard]] bool is_right(std::size_t runs) const;
  void count(benchmark::State& state) const;

private:
  huge_array<float> x_;
  huge_array<float> y_;
};

class block_reduce_work {
public:
  block_reduce_work();
  [[nodiscard]] block_reduce_problem problem() const;
  [[nodiscard]] bool is_right(std::size_t runs) const;
  void count(benchmark::State& state) const;

private:
  huge_array<float> values_;
  huge_array<float> sums_;
};

class matmul_work {
public:
  matmul_work();
  [[nodiscard]] matmul_problem problem() const;
  [[nodiscard]] bool is_right(std::size_t runs) const;
  void count(benchmark::State& state) const;

private:
  huge_array<float> a_;
  huge_array<float> b_;
  huge_array<float> c_;
};

class histogram_work {
public:
  histogram_work();
  [[nodiscard]] histogram_problem problem() const;
  [[nodiscard]] bool is_right(std::size_t runs) const;
  void count(benchmark::State& state) const;

private:
  huge_array<std::uint32_t> values_;
  huge_array<std::uint32_t> bins_;
};

/// Nothing between the barriers.
class barrier_work {
public:
  barrier_work();
  [[nodiscard]] barrier_problem problem() const;
  [[nodiscard]] bool is_right(std::size_t runs) const;
  void count(benchmark::State& state) const;

protected:
  huge_array<std::uint32_t> results_;
};

/// An LDS load and store between the barriers.
class barrier_lds_work : public barrier_work {
public:
  [[nodiscard]] bool is_right(std::size_t runs) const;
};

class launch_work {
public:
  explicit launch_work(std::size_t group_count) : group_count_{group_count} {}
  [[nodiscard]] launch_problem problem() const { return {group_count_}; }
  /// An empty kernel leaves nothing to check: a peer that cannot launch throws.
  [[nodiscard]] bool is_right(std::size_t) const { return true; }
  void count(benchmark::State& state) const;

private:
  std::size_t group_count_;
};

class item_work {
public:
  item_work();
  [[nodiscard]] item_problem problem() const { return {results_.span()}; }
  [[nodiscard]] bool is_right(std::size_t runs) const;
  void count(benchmark::State& state) const;

private:
  huge_array<std::uint32_t> results_;
};

} // namespace quarry::bench
