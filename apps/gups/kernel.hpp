// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "update_stream.hpp"

#include <quarry/emu.hpp>
#include <quarry/net.hpp>

#include <algorithm>
#include <cstdint>

namespace quarry::gups {

/// Updates that one work-item does, at positions that are a grid apart.
struct share {
  std::uint64_t updates; ///< of this node
  std::uint64_t stride;  ///< work-items in the grid
};

/// GUPS with one coroutine a wavefront: `table[random]++` on whichever node has the entry.
///
/// Source   thesis §3.1, Table 3-1b
struct gups_wave {
  task<> operator()(emu::any_wavefront auto& wf, update_stream stream, share mine,
                    emu::global<std::uint64_t> table, net::gravel::endpoint& net) const {
    using words = net::gravel::lanes64<std::remove_reference_t<decltype(wf)>>;
    table_shape const shape = stream.shape;
    auto const item = wf.global_id();
    for (std::uint64_t done = 0; done < mine.updates; done += mine.stride) {
      auto const active = wf.where(item < static_cast<std::int64_t>(mine.updates - done));
      words const number = net::gravel::as_words<std::remove_reference_t<decltype(wf)>>(item) +
                           (stream.first + done);
      words const entry = mix64(number) >> (64 - shape.log2_entries());
      words const place = entry & (shape.entries_per_node() - 1);
      words const node = entry >> shape.log2_entries_per_node;
      // Every wavefront of the group comes, one without active lanes too: software predication.
      task<> sent = net.increment(wf, table + place, node);
      co_await std::move(sent);
    }
  }
};

/// The same with one coroutine a work-item: as one writes it for a GPU.
struct gups_item {
  task<> operator()(emu::any_work_item auto& wi, update_stream stream, share mine,
                    emu::global<std::uint64_t> table, net::gravel::endpoint& net) const {
    for (std::uint64_t i = wi.global_id(); i < mine.updates; i += mine.stride) {
      std::uint64_t const entry = stream[i];
      co_await net.increment(wi, table + stream.shape.local(entry), stream.shape.owner(entry));
    }
  }
};

} // namespace quarry::gups
