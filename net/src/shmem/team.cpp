// SPDX-License-Identifier: Apache-2.0
#include "engine.hpp"
#include "refusals.hpp"
#include "team_work.hpp"

#include <quarry/net/error.hpp>
#include <quarry/net/shmem/team.hpp>

#include <fmt/core.h>

#include <bit>
#include <cstddef>

namespace quarry::net::shmem {
namespace {

error invalid(std::string what) {
  return {std::make_error_code(std::errc::invalid_argument), "shmem: " + std::move(what)};
}
error no_member(char const* name) {
  return invalid(fmt::format("{}: this pe is no member of the team, or it was destroyed", name));
}

} // namespace

bool team::is_member() const noexcept {
  return state_ != nullptr && !state_->is_destroyed;
}
std::uint32_t team::index() const noexcept {
  return state_ == nullptr ? 0 : state_->index;
}
std::uint32_t team::size() const noexcept {
  return state_ == nullptr ? 0 : state_->count;
}
pe team::at(std::uint32_t index) const noexcept {
  return state_->at(index);
}

error team::not_for_these(reduction how) {
  return invalid(why_not(how));
}

result<void> team::sync(std::source_location where) {
  if (!is_member())
    return no_member("sync");
  return team_work(*engine_, *state_, {"sync", where}).meet(collective::sync);
}

result<team> team::split_strided(std::uint32_t start, std::uint32_t stride, std::uint32_t count,
                                 std::source_location where) {
  if (!is_member())
    return no_member("split_strided");
  if (count == 0 || start >= state_->count || (count > 1 && stride == 0) ||
      std::uint64_t{start} + std::uint64_t{count - 1} * stride >= state_->count)
    return invalid(fmt::format("split_strided: {} members from {} on, {} apart, of a team of {}; "
                               "allowed are 1 and more, at least 1 apart, up to member {}",
                               count, start, stride, state_->count, state_->count - 1));
  team_work work(*engine_, *state_, {"split_strided", where});
  if (auto const met =
          work.meet(collective::split, {{"start", start}, {"stride", stride}, {"size", count}});
      !met)
    return met.error();
  auto const all_free = work.all_words({&engine_->free_teams, 1});
  if (!all_free)
    return all_free.error();
  std::uint64_t free = ~std::uint64_t{0};
  for (std::uint64_t const theirs : *all_free)
    free &= theirs;
  if (free == 0)
    return make_error(
        net_errc::heap_exhausted,
        fmt::format("shmem: split_strided: all {} teams are taken", engine_->options().most_teams));
  auto const id = static_cast<std::uint32_t>(std::countr_zero(free));
  std::uint32_t const from_start = state_->index - start;
  bool const is_in = state_->index >= start &&
                     (stride == 0 ? from_start == 0 : from_start % stride == 0) &&
                     (stride == 0 ? 0 : from_start / stride) < count;
  if (is_in) {
    engine_->free_teams &= ~(std::uint64_t{1} << id);
    work.clear(id);
  }
  if (auto const met = work.meet(collective::split, {{"team number", id}}); !met)
    return met.error();
  if (!is_in)
    return team(*engine_, nullptr);
  auto child = std::make_shared<team_state>();
  *child = {.id = id,
            .start = state_->at(start).id,
            .stride = state_->stride * stride,
            .count = count,
            .index = stride == 0 ? 0 : from_start / stride};
  return team(*engine_, std::move(child));
}

result<void> team::destroy(std::source_location where) {
  if (!is_member())
    return no_member("destroy");
  if (state_->id == 0)
    return invalid("destroy: the team of all pes lives as long as the node");
  // Nothing is on its way into the team's memory any more.
  if (auto const q = engine_->quiet(*engine_->internal_context, {"destroy", where}); !q)
    return q;
  if (auto const met = team_work(*engine_, *state_, {"destroy", where}).meet(collective::destroy);
      !met)
    return met;
  if (auto const q = engine_->quiet(*engine_->internal_context, {"destroy", where}); !q)
    return q;
  engine_->free_teams |= std::uint64_t{1} << state_->id;
  state_->is_destroyed = true;
  return {};
}

result<void> team::broadcast_bytes(void* dest, void const* source, std::size_t bytes,
                                   std::uint32_t root, std::source_location where) {
  if (!is_member())
    return no_member("broadcast");
  if (root >= state_->count)
    return invalid(fmt::format("broadcast: root {} of a team of {}; allowed are 0 to {}", root,
                               state_->count, state_->count - 1));
  auto const to = engine_->offset_of(dest, bytes, "broadcast");
  if (!to)
    return to.error();
  auto const from = engine_->offset_of(source, bytes, "broadcast");
  if (!from)
    return from.error();
  team_work work(*engine_, *state_, {"broadcast", where});
  if (auto const met =
          work.meet(collective::broadcast, {{"bytes", bytes}, {"root", root}, {"dest at", *to}});
      !met)
    return met;
  return work.broadcast(*to, *from, bytes, root);
}

result<void> team::fcollect_bytes(void* dest, void const* source, std::size_t bytes,
                                  std::source_location where) {
  if (!is_member())
    return no_member("fcollect");
  auto const to = engine_->offset_of(dest, bytes_of(state_->count, bytes), "fcollect");
  if (!to)
    return to.error();
  auto const from = engine_->offset_of(source, bytes, "fcollect");
  if (!from)
    return from.error();
  if (overlaps_collected(*from, bytes, *to, state_->count * bytes, *to + state_->index * bytes))
    return invalid(fmt::format("fcollect: dest and source overlap; {}", collected_overlap));
  team_work work(*engine_, *state_, {"fcollect", where});
  if (auto const met =
          work.meet(collective::fcollect, {{"bytes of each", bytes}, {"dest at", *to}});
      !met)
    return met;
  return work.fcollect(*to, *from, bytes);
}

result<void> team::collect_bytes(void* dest, void const* source, std::size_t bytes,
                                 std::source_location where) {
  if (!is_member())
    return no_member("collect");
  // How much comes there is known when all have met.
  auto const to = engine_->offset_of(dest, 0, "collect");
  if (!to)
    return to.error();
  auto const from = engine_->offset_of(source, bytes, "collect");
  if (!from)
    return from.error();
  team_work work(*engine_, *state_, {"collect", where});
  if (auto const met = work.meet(collective::collect, {{"dest at", *to}}); !met)
    return met;
  return work.collect(*to, *from, bytes);
}

result<void> team::alltoall_bytes(void* dest, void const* source, std::size_t bytes,
                                  std::source_location where) {
  if (!is_member())
    return no_member("alltoall");
  auto const to = engine_->offset_of(dest, bytes_of(state_->count, bytes), "alltoall");
  if (!to)
    return to.error();
  auto const from = engine_->offset_of(source, bytes_of(state_->count, bytes), "alltoall");
  if (!from)
    return from.error();
  if (overlap(*to, *from, bytes_of(state_->count, bytes)))
    return invalid("alltoall: dest and source overlap; they must be apart");
  team_work work(*engine_, *state_, {"alltoall", where});
  if (auto const met =
          work.meet(collective::alltoall, {{"bytes of each", bytes}, {"dest at", *to}});
      !met)
    return met;
  return work.alltoall(*to, *from, bytes);
}

result<void> team::reduce_bytes(void* dest, void const* source, std::size_t count, std::size_t each,
                                combining const& with, std::source_location where) {
  if (!is_member())
    return no_member("reduce");
  auto const to = engine_->offset_of(dest, bytes_of(count, each), "reduce");
  if (!to)
    return to.error();
  auto const from = engine_->offset_of(source, bytes_of(count, each), "reduce");
  if (!from)
    return from.error();
  for (std::uint64_t const at : {*to, *from})
    if (auto const ok = engine::check_aligned(at, each, "reduce"); !ok)
      return ok;
  if (*to != *from && overlap(*to, *from, bytes_of(count, each)))
    return invalid(reduced_overlap);
  return team_work(*engine_, *state_, {"reduce", where})
      .reduce({*to, *from, count, each, with.combine}, {{with.how},
                                                        {"elements", count},
                                                        {"of bytes", each},
                                                        {with.of},
                                                        {"dest at", *to},
                                                        {"source at", *from}});
}

} // namespace quarry::net::shmem
