// SPDX-License-Identifier: Apache-2.0
#include "works.hpp"

#include "../gups/update_stream.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace quarry::bench {
namespace {

constexpr std::size_t saxpy_size = std::size_t{1} << 26;
constexpr std::size_t block_reduce_size = std::size_t{1} << 24;
constexpr std::size_t matmul_size = 1024;
constexpr std::size_t histogram_size = std::size_t{1} << 24;
constexpr std::size_t barrier_groups = 64;
constexpr std::uint32_t barrier_rounds = 1000;
constexpr std::size_t item_count = std::size_t{1} << 20;
constexpr float saxpy_a = 0.5f;

float small(std::size_t i, std::size_t period) {
  return static_cast<float>(i % period);
}

std::int64_t items(benchmark::State const& state, std::size_t per_run) {
  return static_cast<std::int64_t>(state.iterations()) * static_cast<std::int64_t>(per_run);
}

} // namespace

saxpy_work::saxpy_work() : x_{saxpy_size}, y_{saxpy_size} {
  for (std::size_t i = 0; i < saxpy_size; ++i) {
    x_[i] = small(i, 13);
    y_[i] = small(i, 7);
  }
}
saxpy_problem saxpy_work::problem() const {
  return {saxpy_a, x_.span(), y_.span()};
}
bool saxpy_work::is_right(std::size_t runs) const {
  // Exact below 2^23 / 6 runs, which is hours.
  for (std::size_t i = 0; i < saxpy_size; ++i)
    if (y_[i] != small(i, 7) + static_cast<float>(runs) * saxpy_a * small(i, 13))
      return false;
  return true;
}
void saxpy_work::count(benchmark::State& state) const {
  state.SetBytesProcessed(items(state, saxpy_size * 3 * sizeof(float)));
}

block_reduce_work::block_reduce_work()
    : values_{block_reduce_size}, sums_{block_reduce_size / work_group_size} {
  for (std::size_t i = 0; i < block_reduce_size; ++i)
    values_[i] = small(i, 1021);
}
block_reduce_problem block_reduce_work::problem() const {
  return {values_.span(), sums_.span()};
}
bool block_reduce_work::is_right(std::size_t) const {
  for (std::size_t g = 0; g < sums_.size(); ++g) {
    float sum = 0;
    for (std::size_t l = 0; l < work_group_size; ++l)
      sum += values_[g * work_group_size + l];
    if (sums_[g] != sum)
      return false;
  }
  return true;
}
void block_reduce_work::count(benchmark::State& state) const {
  state.SetItemsProcessed(items(state, block_reduce_size));
}

matmul_work::matmul_work()
    : a_{matmul_size * matmul_size}, b_{matmul_size * matmul_size}, c_{matmul_size * matmul_size} {
  for (std::size_t i = 0; i < a_.size(); ++i) {
    a_[i] = small(i, 5) - 2;
    b_[i] = small(i, 7) - 3;
  }
}
matmul_problem matmul_work::problem() const {
  return {matmul_size, a_.span(), b_.span(), c_.span()};
}
bool matmul_work::is_right(std::size_t) const {
  std::vector<float> row(matmul_size);
  for (std::size_t i = 0; i < matmul_size; ++i) {
    std::ranges::fill(row, 0.0f);
    for (std::size_t k = 0; k < matmul_size; ++k)
      for (std::size_t j = 0; j < matmul_size; ++j)
        row[j] += a_[i * matmul_size + k] * b_[k * matmul_size + j];
    if (!std::equal(row.begin(), row.end(), c_.data() + i * matmul_size))
      return false;
  }
  return true;
}
void matmul_work::count(benchmark::State& state) const {
  state.SetItemsProcessed(items(state, 2 * matmul_size * matmul_size * matmul_size));
}

histogram_work::histogram_work() : values_{histogram_size}, bins_{histogram_problem::bin_count} {
  for (std::size_t i = 0; i < histogram_size; ++i)
    values_[i] = static_cast<std::uint32_t>(gups::mix64(i));
}
histogram_problem histogram_work::problem() const {
  return {values_.span(), bins_.span()};
}
bool histogram_work::is_right(std::size_t) const {
  std::array<std::uint32_t, histogram_problem::bin_count> serial{};
  for (std::uint32_t const value : values_.span())
    ++serial[value % serial.size()];
  return std::ranges::equal(serial, bins_.span());
}
void histogram_work::count(benchmark::State& state) const {
  state.SetItemsProcessed(items(state, histogram_size));
}

barrier_work::barrier_work() : results_{barrier_groups * work_group_size} {}
barrier_problem barrier_work::problem() const {
  return {barrier_groups, barrier_rounds, results_.span()};
}
bool barrier_work::is_right(std::size_t) const {
  return std::ranges::all_of(results_.span(), [](auto passed) { return passed == barrier_rounds; });
}
void barrier_work::count(benchmark::State& state) const {
  state.SetItemsProcessed(items(state, results_.size() * barrier_rounds));
}

bool barrier_lds_work::is_right(std::size_t) const {
  for (std::size_t i = 0; i < results_.size(); ++i) {
    std::size_t const group = i / work_group_size * work_group_size;
    std::size_t const from = group + (i + 64 * std::size_t{barrier_rounds}) % work_group_size;
    if (results_[i] != from + barrier_rounds)
      return false;
  }
  return true;
}

void launch_work::count(benchmark::State& state) const {
  state.SetItemsProcessed(items(state, group_count_ * work_group_size));
}

item_work::item_work() : results_{item_count} {}
bool item_work::is_right(std::size_t) const {
  for (std::size_t i = 0; i < item_count; ++i)
    if (results_[i] != i)
      return false;
  return true;
}
void item_work::count(benchmark::State& state) const {
  state.SetItemsProcessed(items(state, item_count));
}

} // namespace quarry::bench
