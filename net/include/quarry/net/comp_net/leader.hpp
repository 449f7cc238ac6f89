// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/wavefront.hpp>
#include <quarry/net/comp_net/command.hpp>
#include <quarry/net/comp_net/device.hpp>
#include <quarry/net/comp_net/heap_wait.hpp>
#include <quarry/net/comp_net/ring.hpp>
#include <quarry/net/shmem/words.hpp>
#include <quarry/task.hpp>
#include <quarry/yield.hpp>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <source_location>
#include <utility>

namespace quarry::net::comp_net {

/// A work-group's context as it lies in its LDS: its ring's indices, and what it has met in.
///
/// Source   ComP-Net §4.1 ④, §4.2.1
struct context_words {
  ring_writer indices;
  std::uint32_t ring = 0;
  std::uint32_t is_open = 0;
  std::uint32_t choices = 0; ///< of wait_until_any(), so far
  std::uint64_t barriers = 0;
  std::uint64_t reductions = 0;
};

/// What a work-group's leading wavefront does for all, between two barriers of the group. The
/// context's words are its own meanwhile: it loads them when it is made and stores them with
/// store().
template<emu::any_wavefront W>
class leader {
public:
  leader(W& wf, device& net, emu::global<context_words> at, std::source_location where)
      : wf_(wf), net_(net), at_(at), where_(where), words_(wf.load(at, where)) {}
  void store() const { wf_.store(at_, words_, where_); }

  [[nodiscard]] context_words& words() noexcept { return words_; }

  /// Puts the command into the ring, once there is room. Gives its index.
  task<std::uint32_t> post(command c) {
    if (!net_.queues().has_room(words_.indices)) {
      task<> room = net_.queues().wait_for_room(wf_, words_.ring, words_.indices, where_);
      co_await std::move(room);
    }
    co_return net_.queues().post(wf_, words_.ring, words_.indices, c, where_);
  }
  /// The same, and waits until the service has completed it. Gives what it brought back. `what` is
  /// the operation's name in a fault.
  task<std::uint64_t> perform(command c, char const* what) {
    c.flags |= command::is_blocking;
    task<std::uint32_t> posted = post(c);
    std::uint32_t const index = co_await std::move(posted);
    std::uint8_t const status = co_await net_.queues().completed(wf_, words_.ring, index, where_);
    if (rings::is_failed(status))
      net_.stop(what, where_);
    co_return net_.queues().reply(wf_, words_.ring, index, where_);
  }
  /// Waits until all that the context has asked for is done at its targets.
  task<> quiet(char const* what) {
    command const c{.what = operation::quiet};
    task<std::uint64_t> over = perform(c, what);
    static_cast<void>(co_await std::move(over));
    task<> all = read_out(what);
    co_await std::move(all);
  }
  /// Waits until the service has read every entry, and what the entries point to.
  task<> read_out(char const* what) {
    task<bool> all = net_.queues().all_completed(wf_, words_.ring, words_.indices, where_);
    if (!co_await std::move(all))
      net_.stop(what, where_);
  }
  /// Waits until one of the words of the symmetric heap compares so. Gives it, and which one it is.
  /// `from`: who puts there, if that is known; `against`: what says that it will not, but is in
  /// `instead`.
  template<shmem::atomic_word T>
  task<typename heap_wait<W, T>::outcome>
  await_word(awaited_words<T> words, char const* what, std::optional<pe> from = {},
             contradiction against = {}, char const* instead = "") {
    using wait_type = heap_wait<W, T>;
    wait_type wait(wf_, words, net_.network().orders().wait, net_.failure(), against, where_);
    // Where a schedule decides, a deadlock is reported, with who waits.
    bool const is_watched = !wf_.is_explored() && !wait.await_ready();
    if (is_watched)
      net_.wait_of(words_.ring)
          .begin(what, from, wf_.slot().group->launch->unclaimed_count(), where_);
    auto const got = co_await wait;
    if (is_watched)
      net_.wait_of(words_.ring).end();
    if (got.how == wait_type::ending::failed)
      net_.stop(what, where_);
    if (got.how == wait_type::ending::contradicted)
      net_.stop_differing({words_.ring, what, *from, instead}, where_);
    co_return got;
  }
  /// A word of the symmetric heap as it is now, with what was put before it. Who asks again and
  /// again leaves the others their turns; and ends if the job has failed, or would do so for ever.
  template<shmem::atomic_word T>
  task<T> see_word(emu::global<T const> at, char const* what) const {
    co_await yield(where_);
    T const seen = wf_.load(at, net_.network().orders().wait, where_);
    if (failure_word const failed = net_.failure(); wf_.load(failed.at, failed.order, where_) != 0)
      net_.stop(what, where_);
    co_return seen;
  }

  /// Up to 8 bytes of device memory, as they go into an entry.
  [[nodiscard]] std::uint64_t inline_payload(std::byte const* from, std::size_t bytes) const {
    std::uint64_t payload = 0;
    shmem::for_words(from, bytes, [&]<class T>(T, std::size_t i) {
      T const word = wf_.load(emu::global<T const>(reinterpret_cast<T const*>(from + i)), where_);
      std::memcpy(reinterpret_cast<std::byte*>(&payload) + i, &word, sizeof word);
    });
    return payload;
  }

private:
  W& wf_;
  device& net_;
  emu::global<context_words> at_;
  std::source_location where_;
  context_words words_;
};

} // namespace quarry::net::comp_net
