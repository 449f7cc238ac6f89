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
    auto const item = wf.global_id();
    for (std::uint64_t done = 0; done < mine.updates; done += mine.stride) {
      auto const active = wf.where(item < static_cast<std::int64_t>(mine.updates - done));
      // Every wavefront of the group comes, one without active lanes too: software predication.
      task<> sent = update(wf, stream.shape, stream.first + done, table, net);
      co_await std::move(sent);
    }
  }

private:
  // A function of its own: what is alive across a co_await lies in memory, this in registers.
  template<emu::any_wavefront W>
  static task<> update(W& wf, table_shape shape, std::uint64_t first,
                       emu::global<std::uint64_t> table, net::gravel::endpoint& net) {
    using words = net::gravel::lanes64<W>;
    words const number = net::gravel::as_words<W>(wf.global_id()) + first;
    words const entry = mix64(number) >> (64 - shape.log2_entries());
    words const place = entry & (shape.entries_per_node() - 1);
    words const node = entry >> shape.log2_entries_per_node;
    return net.increment(wf, table + place, node);
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
