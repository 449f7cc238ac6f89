// SPDX-License-Identifier: Apache-2.0
#include "peer_divide.hpp"

#include <tbb/task_group.h>

#include <algorithm>
#include <array>
#include <queens/reference.hpp>
#include <sort/reference.hpp>
#include <strassen/reference.hpp>
#include <vector>

namespace quarry::bench {
namespace {

/// Two sorted runs as one; a long one is divided at the middle of the longer run.
void merge_by_tasks(std::span<std::uint32_t const> a, std::span<std::uint32_t const> b,
                    std::span<std::uint32_t> to) {
  if (a.size() + b.size() <= sort::merge_base)
    return sort::merge(a, b, to);
  if (a.size() < b.size())
    std::swap(a, b);
  std::size_t const middle = a.size() / 2;
  auto const split = static_cast<std::size_t>(std::ranges::lower_bound(b, a[middle]) - b.begin());
  tbb::task_group group;
  group.run([=] { merge_by_tasks(a.first(middle), b.first(split), to.first(middle + split)); });
  merge_by_tasks(a.subspan(middle), b.subspan(split), to.subspan(middle + split));
  group.wait();
}

} // namespace

std::uint64_t fibonacci_by_tasks(std::uint32_t n) {
  if (n <= 2)
    return 1;
  std::uint64_t one = 0;
  tbb::task_group group;
  group.run([&] { one = fibonacci_by_tasks(n - 1); });
  std::uint64_t const other = fibonacci_by_tasks(n - 2);
  group.wait();
  return one + other;
}

std::uint64_t queens_by_tasks(queens::board const& b, std::uint32_t rows, std::uint32_t row) {
  if (rows <= queens::base_rows)
    return queens::completions(b, rows, row);
  std::array<std::uint64_t, queens::most_rows> counts{};
  std::size_t next = 0;
  tbb::task_group group;
  for (std::uint32_t free = b.free(row); free != 0; free &= free - 1)
    group.run([child = b.with(queens::lowest(free)), rows, row, &count = counts[next++]] {
      count = queens_by_tasks(child, rows - 1, row);
    });
  group.wait();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < next; ++i)
    sum += counts[i];
  return sum;
}

void sort_by_tasks(std::span<std::uint32_t> values, std::span<std::uint32_t> spare) {
  if (values.size() <= sort::base_size)
    return std::sort(values.begin(), values.end());
  sort::quarters const q(values.size());
  std::array<std::size_t, 5> const at{0, q.first, q.half, q.third, values.size()};
  tbb::task_group group;
  for (std::size_t i = 0; i < 4; ++i)
    group.run([part = values.subspan(at[i], at[i + 1] - at[i]),
               room = spare.subspan(at[i], at[i + 1] - at[i])] { sort_by_tasks(part, room); });
  group.wait();
  group.run([&] {
    merge_by_tasks(values.first(q.first), values.subspan(q.first, q.first), spare.first(q.half));
  });
  merge_by_tasks(values.subspan(q.half, q.first), values.subspan(q.third), spare.subspan(q.half));
  group.wait();
  merge_by_tasks(spare.first(q.half), spare.subspan(q.half), values);
}

void strassen_by_tasks(strassen::part<float const> a, strassen::part<float const> b,
                       strassen::part<float> c) {
  if (c.size == strassen::base_size)
    return strassen::add_base_product(a, b, c);
  std::uint32_t const half = c.size / 2;
  std::size_t const cells = std::size_t{half} * half;
  std::array<std::vector<float>, std::size(strassen::products)> spare;
  tbb::task_group group;
  for (std::size_t i = 0; i < spare.size(); ++i)
    group.run([&, i] {
      auto const& w = strassen::products[i];
      spare[i].resize(3 * cells);
      float* const x = spare[i].data();
      float* const y = x + cells;
      strassen::combine(a, w.a, x);
      strassen::combine(b, w.b, y);
      strassen_by_tasks({x, half, half}, {y, half, half}, {y + cells, half, half});
    });
  group.wait();
  for (std::size_t i = 0; i < spare.size(); ++i)
    strassen::distribute(&spare[i][2 * cells], strassen::products[i].c, c);
}

void quadrants_by_tasks(strassen::part<float const> a, strassen::part<float const> b,
                        strassen::part<float> c) {
  if (c.size == strassen::base_size)
    return strassen::add_base_product(a, b, c);
  for (std::uint32_t k = 0; k < 2; ++k) {
    tbb::task_group group;
    for (std::uint32_t i = 0; i < 2; ++i)
      for (std::uint32_t j = 0; j < 2; ++j)
        group.run(
            [=] { quadrants_by_tasks(a.quadrant(i, k), b.quadrant(k, j), c.quadrant(i, j)); });
    group.wait();
  }
}

} // namespace quarry::bench
