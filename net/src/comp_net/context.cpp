// SPDX-License-Identifier: Apache-2.0
#include "../shmem/refusals.hpp"

#include <quarry/net/comp_net/context.hpp>

#include <fmt/core.h>

namespace quarry::net::comp_net {

void context_handle::check_made(char const* what, std::source_location where) const {
  if (net_ == nullptr) [[unlikely]]
    throw emu::kernel_stop{emu::fault::kind::wrong_shape,
                           fmt::format("{} on a context that init() has not made", what), where};
}

void context_handle::check_owner(emu::work_group const& g, char const* what,
                                 std::source_location where) const {
  check_made(what, where);
  if (of_ != &g || group_ != g.linear_id) [[unlikely]]
    throw emu::kernel_stop{emu::fault::kind::wrong_shape,
                           fmt::format("{}: the context of work-group {} is used by work-group {}",
                                       what, group_, g.linear_id),
                           where};
}

void context_handle::stop_not_for_these(shmem::reduction how, std::source_location where) {
  throw emu::kernel_stop{emu::fault::kind::wrong_shape, shmem::why_not(how), where};
}

void context_handle::check_apart(void const* dest, void const* source, std::size_t bytes,
                                 std::source_location where) {
  auto const to = reinterpret_cast<std::uintptr_t>(dest);
  auto const from = reinterpret_cast<std::uintptr_t>(source);
  if (to != from && shmem::overlap(to, from, bytes)) [[unlikely]]
    throw emu::kernel_stop{emu::fault::kind::wrong_shape, shmem::reduced_overlap, where};
}

void context_handle::stop_no_signal_op(shmem::signal_op how, std::source_location where) {
  throw emu::kernel_stop{emu::fault::kind::wrong_shape, shmem::why_not(how, "put_signal"), where};
}

void context_handle::stop_no_comparison(shmem::comparison how, char const* what,
                                        std::source_location where) {
  throw emu::kernel_stop{emu::fault::kind::wrong_shape, shmem::why_not(how, what), where};
}

void context_handle::stop_no_words(char const* what, std::source_location where) {
  throw emu::kernel_stop{emu::fault::kind::wrong_shape,
                         fmt::format("{} of no words waits for ever; at least 1 is allowed", what),
                         where};
}

void context_handle::stop_destroyed(char const* what, std::source_location where) {
  throw emu::kernel_stop{emu::fault::kind::wrong_shape,
                         fmt::format("{} on a context that has been destroyed", what), where};
}

command context::symmetric(operation o, void const* at, std::size_t bytes, pe target,
                           char const* what, std::source_location where) const {
  handle_.check_made(what, where);
  device const& net = handle_.net();
  net.check_pe(target, what, where);
  return {.target = net.offset_of(at, bytes, what, where),
          .bytes = bytes,
          .pe = pe_number(target.id),
          .site = net.site_number(where),
          .what = o};
}

} // namespace quarry::net::comp_net
