// SPDX-License-Identifier: Apache-2.0
#include "../call_sites.hpp"

#include <quarry/emu/explored_network.hpp>
#include <quarry/net/comp_net/configuration.hpp>
#include <quarry/net/comp_net/device.hpp>
#include <quarry/net/error.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <stdexcept>

namespace quarry::net::comp_net {

configuration const& find_configuration(std::string_view name) {
  std::string names;
  for (configuration const* const c : configurations) {
    if (c->name == name)
      return *c;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", c->name);
  }
  throw std::invalid_argument(
      fmt::format("comp_net: no configuration '{}'; there are: {}", name, names));
}

std::uint16_t device::site_number(std::source_location where) const {
  return emu::explored_network::is_running() ? call_site_number(where) : std::uint16_t{0};
}

std::uint64_t device::offset_of(void const* at, std::size_t bytes, char const* what,
                                std::source_location where) const {
  if (auto const whole = parts_.network->address_of(at, bytes)) [[likely]]
    return whole->offset;
  auto const begin = parts_.network->address_of(at);
  throw emu::kernel_stop{
      emu::fault::kind::out_of_bounds,
      begin ? fmt::format("{} of {} bytes at offset {} of the symmetric heap goes beyond its end",
                          what, bytes, begin->offset)
            : fmt::format("{} of {} bytes outside the symmetric heap, in private memory", what,
                          bytes),
      where};
}

std::string open_contexts::rings_in_use() const {
  std::string text;
  for (std::size_t ring = 0; ring < holders_.size(); ++ring)
    if (holders_[ring].launch.load(std::memory_order_relaxed) != nullptr)
      text += fmt::format("{}{}", text.empty() ? "" : ", ", ring);
  return text;
}

void open_contexts::inherit(emu::launch_state const& from,
                            std::shared_ptr<std::atomic<std::uint32_t>> const& left) {
  // As if one more were in use: the service that is woken below stays until then.
  count_.fetch_add(1, std::memory_order_seq_cst);
  bool any = false;
  inherited_.give(); // of the launch, which has ended
  {
    std::lock_guard const lock(mutex_);
    for (std::uint32_t ring = 0; ring < holders_.size(); ++ring)
      if (holders_[ring].launch.load(std::memory_order_relaxed) == &from) {
        left->fetch_add(1, std::memory_order_relaxed);
        orphans_.push_back({ring, left});
        any = true;
      }
    has_orphans_.store(!orphans_.empty(), std::memory_order_release);
  }
  if (any)
    wake_();
  count_.fetch_sub(1, std::memory_order_release);
}

bool open_contexts::has_orphans(std::uint32_t first, std::uint32_t last) {
  if (!has_orphans_.load(std::memory_order_acquire))
    return false;
  std::lock_guard const lock(mutex_);
  return std::any_of(orphans_.begin(), orphans_.end(),
                     [&](orphan const& o) { return first <= o.ring && o.ring < last; });
}

std::vector<open_contexts::orphan> open_contexts::take_orphans(std::uint32_t first,
                                                               std::uint32_t last) {
  inherited_.take();
  std::lock_guard const lock(mutex_);
  std::vector<orphan> mine;
  std::erase_if(orphans_, [&](orphan const& o) {
    bool const is_mine = first <= o.ring && o.ring < last;
    if (is_mine)
      mine.push_back(o);
    return is_mine;
  });
  has_orphans_.store(!orphans_.empty(), std::memory_order_release);
  return mine;
}

void device::check_pe(pe target, char const* what, std::source_location where) const {
  if (target.id >= count_) [[unlikely]]
    throw emu::kernel_stop{
        emu::fault::kind::out_of_bounds,
        fmt::format("{} for {}; there are {} pes", what, to_string(target), count_), where};
}

void device::stop_differing(difference const& d, std::source_location where) const {
  parts_.network->fail(
      make_error(net_errc::mismatched_collective,
                 fmt::format("work-group {} of {} is in {}, that of {} in {}", d.ring,
                             to_string(self_), d.what, to_string(d.other), d.others)));
  stop(d.what, where);
}

void device::stop(char const* what, std::source_location where) const {
  auto const why = parts_.network->failure();
  bool const is_program = why && why->code == net_errc::mismatched_collective;
  throw emu::kernel_stop{
      is_program ? emu::fault::kind::wrong_shape : emu::fault::kind::exception,
      fmt::format("{} was given up: {}", what, why ? why->what : "the job has failed"), where};
}

} // namespace quarry::net::comp_net
