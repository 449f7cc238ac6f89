// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/operation_site.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace quarry::emu {

/// Which operations a world has, as they are written; and which of them are performed otherwise, to
/// see what that mends or breaks.
class operation_watch {
public:
  /// Those that are performed otherwise, each once, until the next call.
  void adjust(std::vector<adjustment> those) {
    adjustments_ = std::move(those);
    update();
  }
  /// Keeps which operations there are, each once; null: no more.
  void collect(std::vector<operation_site>* into) {
    collected_ = into;
    update();
  }
  /// There are adjustments, or somebody collects: only then operations need to be shown.
  [[nodiscard]] bool is_wanted() const noexcept { return is_wanted_; }

  /// An operation is about to be performed. How it is instead; null: as it is written.
  adjustment const* see(operation_site const& site, bool is_hosts) {
    if (collected_ != nullptr) {
      auto const known = std::ranges::find(*collected_, site);
      operation_site& at = known == collected_->end() ? collected_->emplace_back(site) : *known;
      at.is_hosts |= is_hosts;
      at.is_gpus |= !is_hosts && !site.is_of_network(); // of which hosts do some that need not wait
    }
    auto const at = std::ranges::find(adjustments_, site, &adjustment::at);
    return at == adjustments_.end() ? nullptr : &*at;
  }

private:
  void update() noexcept { is_wanted_ = collected_ != nullptr || !adjustments_.empty(); }

  bool is_wanted_ = false;
  std::vector<adjustment> adjustments_;
  std::vector<operation_site>* collected_ = nullptr;
};

} // namespace quarry::emu
