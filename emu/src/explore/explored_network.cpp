// SPDX-License-Identifier: Apache-2.0
#include "explored_memory.hpp"

#include <quarry/emu/allocations.hpp>
#include <quarry/emu/explored_network.hpp>

#include <utility>

namespace quarry::emu {

explored_network::explored_network(executor const& scheduler) noexcept
    : memory_(explored_memory::of(scheduler)) {}

bool explored_network::is_running() noexcept {
  return explored_memory::running() != nullptr;
}

void explored_network::explore(allocations& known) const {
  if (memory_ != nullptr)
    known.tell(memory_);
}

void explored_network::tell_of(void const* who, std::function<std::string()> tell) const {
  if (memory_ != nullptr)
    memory_->tell_of(who, std::move(tell));
}

std::optional<order> explored_network::begins_operation(operation_kind what, bool is_hosts,
                                                        std::source_location where) const {
  return memory_ == nullptr ? std::nullopt : memory_->begins_operation(what, is_hosts, where);
}

} // namespace quarry::emu
