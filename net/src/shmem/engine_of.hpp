// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../call_sites.hpp"
#include "engine.hpp"
#include "heap_access.hpp"

#include <quarry/assert.hpp>
#include <quarry/emu/core.hpp>
#include <quarry/report.hpp>
#include <quarry/sequential_scheduler.hpp>
#include <quarry/strand.hpp>
#include <quarry/task.hpp>
#include <quarry/this_actor.hpp>
#include <quarry/yield.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <list>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace quarry::net::shmem {

/// The accesses to memory, for one memory model.
///
/// Natively others' operations are applied as they come. Under a deterministic scheduler they lie
/// in a bag; two actors, the lanes, take out any that no fence holds back and apply it, so that the
/// schedule decides the order.
template<emu::memory_model M>
class engine_of final : public engine {
  using core = emu::basic_core<M>;
  using access = heap_access<M>;

public:
  engine_of(executor& scheduler, emu::allocations* known, std::unique_ptr<transport_port> transport,
            node::options const& o, std::source_location where)
      : engine(scheduler, known, std::move(transport), o, where),
        sequential_(dynamic_cast<sequential_scheduler*>(&scheduler)),
        network_(scheduler, fmt_name("network interface")), lanes_(scheduler, fmt_name("lanes")) {
    explored_.tell_of(this, [this] { return under_way(); });
  }
  ~engine_of() override {
    explored_.tell_of(this, nullptr);
    stop();
  }

  void store_here(std::byte* at, std::byte const* from, std::size_t bytes,
                  std::source_location where) override {
    core const self = here();
    access(self, options_.orders, where).write(at, from, bytes);
  }
  void load_here(std::byte* to, std::byte const* at, std::size_t bytes,
                 std::source_location where) override {
    core const self = here();
    access(self, options_.orders, where).read(to, at, bytes);
  }
  std::uint64_t read_word(void const* at, unsigned width, std::source_location where) override {
    return width == 4 ? look<std::uint32_t>(at, where) : look<std::uint64_t>(at, where);
  }

  result<void> wait_word(void const* at, unsigned width, word_predicate is_met,
                         void const* condition, operation const& what) override {
    return width == 4 ? await<std::uint32_t>(at, is_met, condition, what)
                      : await<std::uint64_t>(at, is_met, condition, what);
  }

  result<std::vector<std::size_t>> wait_words(std::byte const* first, std::size_t count,
                                              unsigned width, std::span<bool const> skip,
                                              word_predicate is_met, void const* condition,
                                              operation const& what) override {
    auto const all = [&](auto const& f) {
      bool any = false;
      for (std::size_t i = 0; i < count; ++i)
        if (skip.empty() || !skip[i])
          any = f(i) || any;
      return any;
    };
    if (!all([](std::size_t) { return true; }))
      return std::vector<std::size_t>{};
    core const self = here();
    auto const meets = [&](std::uint64_t word) { return is_met(word, condition); };
    std::vector<std::size_t> met;
    auto const is_there = [&](std::size_t i) {
      auto const* const at = first + i * width;
      return width == 4 ? can_see<std::uint32_t>(self, at, meets, what.where)
                        : can_see<std::uint64_t>(self, at, meets, what.where);
    };
    while (met.empty()) { // a word that goes to and fro may be another by then
      if (auto const w = wait(what, [&] { return all(is_there); }); !w)
        return w.error();
      all([&](std::size_t i) {
        if (is_there(i)) {
          see(self, first + i * width, width, meets, what.where);
          met.push_back(i);
        }
        return true;
      });
    }
    emu::bring_to_host(); // what came before what it has seen now
    return met;
  }

protected:
  void near_put(region& r, std::uint64_t offset, std::span<std::byte const> source) override {
    core const self = here();
    access(self, options_.orders).put(r.at(offset), source.data(), source.size());
  }
  void near_get(region& r, std::span<std::byte> dest, std::uint64_t offset) override {
    core const self = here();
    access(self, options_.orders).get(dest.data(), r.at(offset), dest.size());
  }
  void near_signal(region& r, std::uint64_t offset, signal_op how, std::uint64_t v) override {
    core const self = here();
    access(self, options_.orders).signal(r.at(offset), how, v);
  }
  std::uint64_t near_atomic(region& r, atomic_request const& a, bool needs_old) override {
    core const self = here();
    return access(self, options_.orders)
        .update(r.at(a.offset), a.width, a.op, a.operand, a.comparand, needs_old);
  }
  void near_fence(emu::order o) override {
    if constexpr (!M::may_explore) // otherwise everything is a message
      here().fence(o, emu::scope::system);
  }

  void begin() override {
    if constexpr (M::may_explore) {
      running_.store(1 + lane_count, std::memory_order_relaxed);
      network_.spawn(run_network(), fmt_name("network interface"));
      for (std::size_t lane = 0; lane < lane_count; ++lane)
        lanes_.spawn(run_lane(lane), fmt_name(lane == 0 ? "lane 0" : "lane 1"));
    }
  }

  void apply(pe from, message const& m, std::span<std::byte const> body) override {
    if constexpr (M::may_explore) {
      parcel& p = bag_.emplace_back(parcel{from, m, {body.begin(), body.end()}});
      p.order.give();
    } else {
      core const self = here();
      act(self, from, m, body, entered::yes);
    }
  }

private:
  static constexpr std::size_t lane_count = 2;

  /// What a lane has done for one context of a pe, up to which fence.
  struct lane_record {
    std::uint64_t epoch = 0;
    emu::handover before; ///< of earlier epochs
    emu::handover within;
  };
  using stream = std::pair<std::uint32_t, std::uint32_t>; ///< pe, context
  struct parcel {
    pe from;
    message head;
    std::vector<std::byte> body;
    emu::handover order{};
    bool is_taken = false;
    [[nodiscard]] stream key() const noexcept { return {from.id, head.context}; }
  };

  std::string fmt_name(char const* what) const {
    return std::string(what) + " of " + to_string(self_);
  }

  /// The caller's way to memory.
  core here() const {
    if constexpr (!M::may_explore) {
      return core({});
    } else {
      actor* const self = sequential_ == nullptr ? nullptr : sequential_->current();
      QUARRY_ASSERT(self != nullptr); // deterministic calls come from actors
      return core({self, &scheduler_, nullptr});
    }
  }

  // Waiting for words

  template<class T>
  std::uint64_t look(void const* at, std::source_location where) {
    return here().load(emu::global<T const>(static_cast<T const*>(at)), options_.orders.wait,
                       where);
  }
  template<class T>
  result<void> await(void const* at, word_predicate is_met, void const* condition,
                     operation const& what) {
    core const self = here();
    auto const meets = [&](std::uint64_t word) { return is_met(word, condition); };
    if (auto const w = wait(what, [&] { return can_see<T>(self, at, meets, what.where); }); !w)
      return w;
    see(self, static_cast<std::byte const*>(at), sizeof(T), meets, what.where);
    emu::bring_to_host(); // what came before what it has seen now
    return {};
  }
  template<class T, class F>
  bool can_see(core const& self, void const* at, F const& meets, std::source_location where) {
    if constexpr (!M::may_explore) {
      return meets(
          self.load(emu::global<T const>(static_cast<T const*>(at)), options_.orders.wait, where));
    } else {
      auto w = self.wait_until(
          emu::global<T const>(static_cast<T const*>(at)), [&](T v) { return meets(v); },
          options_.orders.wait, where);
      return w.await_ready();
    }
  }
  template<class F>
  void see(core const& self, std::byte const* at, unsigned width, F const& meets,
           std::source_location where) {
    if constexpr (M::may_explore) {
      auto const look_at = [&]<class T>(T) {
        auto w = self.wait_until(
            emu::global<T const>(reinterpret_cast<T const*>(at)), [&](T v) { return meets(v); },
            options_.orders.wait, where);
        if (w.await_ready())
          static_cast<void>(w.await_resume());
      };
      width == 4 ? look_at(std::uint32_t{}) : look_at(std::uint64_t{});
    }
  }

  // Others' operations

  void act(core const& self, pe from, message const& m, std::span<std::byte const> body,
           entered inside) {
    constexpr auto this_line = std::source_location::current();
    access const memory(self, options_.orders,
                        knows_sites_ ? call_site(site_number(m)).value_or(this_line) : this_line);
    message answer{.context = m.context, .number = m.number, .id = m.id};
    switch (m.kind) {
    case message_kind::put:
      return memory.put(region_->at(m.offset), body.data(), body.size());
    case message_kind::put_signal:
      memory.put(region_->at(m.offset), body.data(), body.size());
      return memory.signal(region_->at(m.second), static_cast<signal_op>(m.what), m.value);
    case message_kind::get: {
      answer.kind = message_kind::get_reply;
      if constexpr (!M::may_explore) {
        if (m.length > 8)
          return post(from, answer, {region_->at(m.offset), m.length}, nullptr, inside);
      }
      std::vector<std::byte> bytes(m.length);
      memory.get(bytes.data(), region_->at(m.offset), bytes.size());
      return post(from, answer, bytes, nullptr, inside);
    }
    case message_kind::atomic:
      answer.kind = message_kind::atomic_reply;
      answer.value = memory.update(region_->at(m.offset), m.width, static_cast<atomic_op>(m.what),
                                   m.value, m.second, m.id != 0);
      if (m.id != 0)
        post(from, answer, {}, nullptr, inside);
      return;
    case message_kind::ack_request:
      answer.kind = message_kind::ack;
      answer.id = 0;
      return post(from, answer, {}, nullptr, inside);
    default:
      return;
    }
  }

  // Actors, of deterministic schedulers only

  task<> run_network() {
    while (!(is_over() && is_drained())) {
      if (drive())
        continue;
      auto const work = [this] {
        return (is_over() && is_drained()) || transport_->has_input() || can_flush();
      };
      poll_until wait(work);
      co_await wait;
    }
    ended();
  }
  task<> run_lane(std::size_t lane) {
    actor& me = co_await this_actor();
    core const self({&me, &scheduler_, nullptr});
    while (!is_over()) {
      auto const next = take_next();
      if (next != bag_.end()) {
        apply_on(self, lane, *next);
        bag_.erase(next);
        continue;
      }
      auto const work = [this] { return is_over() || has_next(); };
      poll_until wait(work);
      co_await wait;
    }
    ended();
  }
  void ended() {
    running_.fetch_sub(1, std::memory_order_release);
    scheduler_.notify();
  }

  /// What others still wait for has left, or cannot.
  bool is_drained() const { return is_broken_ || queued_.load(std::memory_order_relaxed) == 0; }
  bool can_flush() {
    if (is_broken_)
      return false;
    for (std::uint32_t id = 0; id < count_; ++id)
      if (!peers_[id].outbox.empty() && transport_->has_room(pe{id}))
        return true;
    return false;
  }

  /// What has come and is not applied, a line each: why a value is not there, perhaps.
  std::string under_way() const {
    std::string text;
    for (parcel const& p : bag_)
      if (auto const where = knows_sites_ ? call_site(site_number(p.head)) : std::nullopt)
        text += fmt::format("  on its way  {} by {} to {}, begun at {}{}\n", to_string(p.head.kind),
                            to_string(p.from), to_string(self_), quarry::to_string(*where),
                            p.is_taken ? ", being applied" : "");
    return text;
  }

  /// Those that may be applied before all that is still in the bag: of their context, nothing
  /// before them comes from before a fence; for an acknowledgement, nothing at all.
  void find_free() {
    free_.clear();
    first_epochs_.clear();
    for (auto p = bag_.begin(); p != bag_.end(); ++p) {
      auto const [first, is_first] = first_epochs_.try_emplace(p->key(), p->head.epoch);
      bool const is_held =
          p->head.kind == message_kind::ack_request ? !is_first : first->second < p->head.epoch;
      first->second = std::min(first->second, p->head.epoch);
      if (!is_held && !p->is_taken)
        free_.push_back(p);
    }
  }
  bool has_next() {
    if (!bag_.empty() && !bag_.front().is_taken)
      return true;
    find_free();
    return !free_.empty();
  }
  /// Any that is free; the boring choice is the oldest one.
  typename std::list<parcel>::iterator take_next() {
    find_free();
    if (free_.empty())
      return bag_.end();
    auto const count = static_cast<unsigned>(free_.size());
    bool const is_choice = count > 1 && sequential_ != nullptr;
    auto const next = free_[is_choice ? sequential_->pick(count, choice_kind::message) : 0];
    next->is_taken = true;
    return next;
  }

  void apply_on(core const& self, std::size_t lane, parcel& p) {
    auto& records = records_[p.key()];
    bool const is_ack = p.head.kind == message_kind::ack_request;
    p.order.take();
    for (lane_record const& other : records)
      (is_ack || other.epoch < p.head.epoch ? other.within : other.before).take();
    act(self, p.from, p.head, p.body, entered::no);
    lane_record& mine = records[lane];
    if (mine.epoch < p.head.epoch) {
      mine.before = mine.within;
      mine.epoch = p.head.epoch;
    }
    mine.within.give();
  }

  sequential_scheduler* sequential_;
  std::list<parcel> bag_; ///< in the order in which they came
  std::vector<typename std::list<parcel>::iterator> free_{};
  std::map<stream, std::uint64_t> first_epochs_{}; ///< the least of what lies in front
  std::map<stream, std::array<lane_record, lane_count>> records_;
  strand network_;
  strand lanes_;
};

} // namespace quarry::net::shmem
