// SPDX-License-Identifier: Apache-2.0
// Who a work-item is: in its wavefront, its group and the grid.
#include "agents.hpp"

#include <algorithm>
#include <cstdint>

using namespace quarry;
using namespace quarry::emu;
using namespace quarry_test;

namespace {

/// Counts the work-items that find themselves where they should be.
void count_if_right(auto& wi, global<std::uint32_t> count) {
  std::uint32_t const size = wi.wavefront_size();
  std::uint32_t const items = static_cast<std::uint32_t>(wi.group_size().volume());
  extent const group = wi.group_id(), groups = wi.group_count();
  bool const is_right = wi.wavefront_in_group() * size + static_cast<std::uint32_t>(wi.lane()) ==
                            wi.local_linear_id() &&
                        wi.lane() < static_cast<int>(size) &&
                        wi.wavefronts_in_group() == (items + size - 1) / size &&
                        wi.linear_group_id() == group.x + groups.x * group.y;
  if (is_right)
    wi.fetch_add(count, 1, order::relaxed, scope::agent);
}
struct right_item {
  task<> operator()(any_work_item auto& wi, global<std::uint32_t> count) const {
    count_if_right(wi, count);
    co_return;
  }
};
struct right_plain {
  void operator()(any_plain_work_item auto& wi, global<std::uint32_t> count) const {
    count_if_right(wi, count);
  }
};
struct number_item {
  task<> operator()(any_work_item auto& wi, global<std::uint32_t> out) const {
    wi.store(out + wi.global_id(), 1);
    co_return;
  }
};
struct number_plain {
  void operator()(any_plain_work_item auto& wi, global<std::uint32_t> out) const {
    wi.store(out + wi.global_id(), 1);
  }
};

} // namespace

TEST_SUITE("emu.work_item_identity") {
  TEST_CASE("a work-item knows its lane, its wavefront and its group") {
    with_every_agent([](agent& gpu) {
      auto count = gpu.allocate<std::uint32_t>(1, "count");
      launch_config const grid{.work_items = {50, 30, 1}, .work_items_per_group = {20, 8, 1}};
      succeed(gpu.run(grid, right_item{}, count.global()));
      CHECK(count.host()[0] == 1500);
      succeed(gpu.run(grid, right_plain{}, count.global()));
      CHECK(count.host()[0] == 3000);
    });
  }

  TEST_CASE("a work-item has no one number in a grid of several dimensions") {
    with_every_agent([](agent& gpu) {
      auto out = gpu.allocate<std::uint32_t>(64, "out");
      launch_config const grid{.work_items = {8, 8, 1}, .work_items_per_group = {8, 8, 1}};
      auto const check = [&](outcome const& o) {
        CHECK_SAYS(fail_with(o, fault::kind::wrong_shape),
                   "global_id() of a grid with several dimensions");
      };
      check(gpu.run(grid, number_item{}, out.global()));
      check(gpu.run(grid, number_plain{}, out.global()));
      succeed(gpu.run({.work_items = 60, .work_items_per_group = 7}, number_item{}, out.global()));
      CHECK(std::count(out.host().begin(), out.host().end(), 1U) == 60);
    });
  }
}
