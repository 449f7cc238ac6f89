#include <quarry/emu.hpp>

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>

using namespace quarry;
using namespace quarry::emu;

/// How many are positive; a wave kernel: values are of all lanes at once.
struct count_by_waves {
  task<> operator()(any_wavefront auto& wf, global<float const> in, global<std::uint32_t> count,
                    int n) const {
    auto const i = wf.global_id();
    if (auto const inside = wf.where(i < n)) { // the exec mask, until the end of the block
      lane_mask const yes = wf.ballot(wf.load(in + i) > 0.0F);
      wf.fetch_add(count, static_cast<std::uint32_t>(yes.count()), order::relaxed, scope::agent);
    }
    co_return;
  }
};

/// The same, a coroutine for each work-item.
struct count_by_items {
  task<> operator()(any_work_item auto& wi, global<float const> in, global<std::uint32_t> count,
                    int n) const {
    auto const i = wi.global_id();
    bool const is_positive = i < static_cast<std::uint32_t>(n) && wi.load(in + i) > 0.0F;
    std::uint32_t const of_group = co_await wi.group_reduce(is_positive ? 1U : 0U, plus{});
    if (wi.local_linear_id() == 0)
      wi.fetch_add(count, of_group, order::relaxed, scope::agent);
  }
};

int main() {
  native_scheduler scheduler;
  agent gpu(scheduler, {.compute_units = 4, .wavefront_size = 32});
  auto in = gpu.allocate<float>(1000, "in");
  auto count = gpu.allocate<std::uint32_t>(1, "count");
  for (std::size_t i = 0; i < 1000; ++i)
    in.host()[i] = static_cast<float>(i) - 500;
  launch_config const grid{.work_items = 1000, .work_items_per_group = 256};
  gpu.run(grid, count_by_waves{}, in.global(), count.global(), 1000).or_throw();
  outcome const end = gpu.run(grid, count_by_items{}, in.global(), count.global(), 1000);
  if (auto const& fault = end.get_fault())
    fmt::print("{}\n", fault->report);
  fmt::print("{}\n", count.host()[0]);
}
