// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/handover.hpp>
#include <quarry/net/error.hpp>
#include <quarry/net/in_process.hpp>

#include <fmt/core.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

namespace quarry::net {

static_assert(transport<in_process>);

namespace {

struct parcel {
  pe source;
  std::vector<std::byte> bytes; // from operator new: 16-byte aligned
  emu::handover order{};        ///< what the source did comes before its delivery
};

} // namespace

/// Inboxes, and who is still there. One lock: messages are 64 kB each, not 8 bytes.
class in_process::fabric {
public:
  fabric(std::uint32_t pes, std::size_t per_pair)
      : count(pes), room(per_pair), inboxes(pes), has_finished(pes), wants_room(pes), has_room(pes),
        waiting(std::size_t{pes} * pes) {}

  std::uint32_t count;
  std::size_t room;
  std::mutex mutex; // guards what follows
  std::condition_variable changed;
  std::vector<std::deque<parcel>> inboxes;
  std::vector<bool> has_finished;
  std::vector<bool> wants_room; ///< it was refused to send
  std::vector<bool> has_room;   ///< there is some since then; until it has waited
  std::optional<pe> first_lost; ///< who leaves after it may have done so because of it
  std::vector<std::size_t>
      waiting; // messages of a pair that are not delivered: [source * count + target]

  /// Takes what has come to `id`.
  [[nodiscard]] std::deque<parcel> take(pe id) {
    std::deque<parcel> arrived;
    arrived.swap(inboxes[id.id]);
    bool is_awaited = false;
    for (parcel const& p : arrived) {
      --waiting[p.source.id * count + id.id];
      if (!wants_room[p.source.id])
        continue;
      wants_room[p.source.id] = false;
      has_room[p.source.id] = is_awaited = true;
    }
    if (is_awaited)
      changed.notify_all();
    return arrived;
  }

  [[nodiscard]] bool has_input(pe id) const { return !inboxes[id.id].empty() || !check(); }

  [[nodiscard]] result<void> check() const {
    if (!first_lost)
      return {};
    return make_error(net_errc::peer_lost,
                      fmt::format("{} left without finishing", to_string(*first_lost)));
  }
};

in_process::in_process(std::shared_ptr<fabric> shared, pe self)
    : fabric_(std::move(shared)), self_(self) {}

in_process::~in_process() {
  std::lock_guard const lock(fabric_->mutex);
  if (!fabric_->has_finished[self_.id] && !fabric_->first_lost)
    fabric_->first_lost = self_;
  fabric_->changed.notify_all();
}

std::uint32_t in_process::pe_count() const {
  return fabric_->count;
}

result<bool> in_process::try_send(pe target, std::span<std::byte const> head,
                                  std::span<std::byte const> body) {
  if (target.id >= fabric_->count)
    return make_error(net_errc::no_such_pe, fmt::format("{} does not exist; there are {}",
                                                        to_string(target), fabric_->count));
  if (head.size() + body.size() > max_message_bytes)
    return make_error(net_errc::oversized_message,
                      fmt::format("a message of {} bytes for {}; at most {}",
                                  head.size() + body.size(), to_string(target), max_message_bytes));
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.insert(bytes.end(), body.begin(), body.end());
  emu::handover order;
  order.give();
  std::lock_guard const lock(fabric_->mutex);
  bool const may_hear_more = is_delivering_ || !fabric_->inboxes[self_.id].empty();
  if (auto const ok = fabric_->check(); !ok) {
    if (may_hear_more)
      return false; // first what it has said before it went
    return ok.error();
  }
  if (fabric_->has_finished[self_.id])
    return make_error(net_errc::already_finished,
                      fmt::format("{} sends after it has finished", to_string(self_)));
  if (fabric_->has_finished[target.id]) {
    if (may_hear_more)
      return false;
    return make_error(net_errc::peer_lost, fmt::format("{} has left the job", to_string(target)));
  }
  std::size_t& waiting = fabric_->waiting[self_.id * fabric_->count + target.id];
  if (waiting == fabric_->room) {
    fabric_->wants_room[self_.id] = true;
    return false;
  }
  ++waiting;
  if (target != self_)
    sent_bytes_ += bytes.size();
  fabric_->inboxes[target.id].push_back({self_, std::move(bytes), order});
  fabric_->changed.notify_all();
  return true;
}

result<std::size_t> in_process::poll(sink const& deliver) {
  std::deque<parcel> arrived;
  {
    std::lock_guard const lock(fabric_->mutex);
    arrived = fabric_->take(self_);
    if (arrived.empty())
      if (auto const ok = fabric_->check(); !ok)
        return ok.error();
  }
  is_delivering_ = true;
  for (parcel const& p : arrived) {
    p.order.take();
    deliver(p.source, p.bytes);
  }
  is_delivering_ = false;
  return arrived.size();
}

bool in_process::has_input() {
  std::lock_guard const lock(fabric_->mutex);
  return fabric_->has_input(self_);
}

bool in_process::has_room(pe target) {
  if (target.id >= fabric_->count)
    return true; // try_send() has something else to say
  std::lock_guard const lock(fabric_->mutex);
  return fabric_->waiting[self_.id * fabric_->count + target.id] < fabric_->room;
}

void in_process::wait(std::chrono::nanoseconds at_most) {
  // Giving the core away a few times is much cheaper than to be woken, if a peer is about to
  // answer.
  constexpr int yields = 16;
  std::unique_lock lock(fabric_->mutex);
  // What is known already would wake nobody any more.
  auto const is_woken = [this] {
    return fabric_->has_input(self_) || is_interrupted_ || fabric_->has_room[self_.id];
  };
  for (int i = 0; i < yields && !is_woken(); ++i) {
    lock.unlock();
    std::this_thread::yield();
    lock.lock();
  }
  if (!is_woken())
    fabric_->changed.wait_for(lock, at_most);
  is_interrupted_ = false;
  fabric_->has_room[self_.id] = false;
}

void in_process::interrupt() {
  std::lock_guard const lock(fabric_->mutex);
  is_interrupted_ = true;
  fabric_->changed.notify_all();
}

result<void> in_process::finish() {
  std::deque<parcel> unheard; // destroyed without the lock
  std::lock_guard const lock(fabric_->mutex);
  fabric_->has_finished[self_.id] = true;
  unheard = fabric_->take(self_);
  fabric_->changed.notify_all();
  return fabric_->check();
}

std::vector<std::unique_ptr<in_process>> make_in_process(std::uint32_t pe_count,
                                                         std::size_t messages_per_pair) {
  if (pe_count == 0 || messages_per_pair == 0)
    throw std::invalid_argument(
        fmt::format("in_process: {} pes with room for {} messages a pair; at least 1 of each",
                    pe_count, messages_per_pair));
  auto const shared = std::make_shared<in_process::fabric>(pe_count, messages_per_pair);
  std::vector<std::unique_ptr<in_process>> ends;
  ends.reserve(pe_count);
  for (std::uint32_t i = 0; i < pe_count; ++i)
    ends.push_back(std::make_unique<in_process>(shared, pe{i}));
  return ends;
}

} // namespace quarry::net
