// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <queens/board.hpp>
#include <span>
#include <strassen/matrix.hpp>

namespace quarry::bench {

// The thesis's divide-and-conquer programs on tbb::task_group, as a programmer without a GPU writes
// them, with the base cases that the others have too. On all threads.

[[nodiscard]] std::uint64_t fibonacci_by_tasks(std::uint32_t n);
[[nodiscard]] std::uint64_t queens_by_tasks(queens::board const& b, std::uint32_t rows,
                                            std::uint32_t row);
/// `spare` is as long as `values`.
void sort_by_tasks(std::span<std::uint32_t> values, std::span<std::uint32_t> spare);
/// c += a b.
void strassen_by_tasks(strassen::part<float const> a, strassen::part<float const> b,
                       strassen::part<float> c);

/// The same in eight products of quadrants, as on channels.
void quadrants_by_tasks(strassen::part<float const> a, strassen::part<float const> b,
                        strassen::part<float> c);

} // namespace quarry::bench
