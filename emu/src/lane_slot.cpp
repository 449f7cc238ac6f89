// SPDX-License-Identifier: Apache-2.0
#include "meeting_order.hpp"

#include <quarry/emu/cache_port.hpp>
#include <quarry/emu/compute_unit.hpp>
#include <quarry/emu/lane_slot.hpp>
#include <quarry/report.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quarry::emu {
namespace {

compute_unit& unit_of(wave_slot& w) {
  return *static_cast<compute_unit*>(w.home);
}
fiber_pool& fibers_of(wave_slot& w) {
  return unit_of(w).fibers();
}

[[noreturn]] void rethrow_with_lane(std::exception_ptr error, wave_slot& w, int lane) {
  w.failed_lane = lane;
  std::rethrow_exception(std::move(error));
}

/// Where the wavefront will be. What meets nobody comes first of what is at one place.
diverged_place place_of(lane_request const& r) noexcept {
  return {r.where, r.kind != nullptr ? r.kind : &kind_of<meeting::barrier>};
}
bool is_same(wait_reason const& a, wait_reason const& b) noexcept {
  return compare(a.where, b.where) == 0 && std::string_view(a.what) == b.what;
}

} // namespace

task<> over_already() {
  co_return;
}

std::string lane_slot::name() const {
  return fmt::format("lane {} of {}", lane, lanes->wave().name());
}

actor* lane_slot::on_ready() noexcept {
  lanes->woken(lane);
  // The wavefront polls item_lanes::may_go_on() while it is parked, and looks before it parks.
  return nullptr;
}

item_lanes::item_lanes(wave_slot& wave)
    : wave_(wave), live_(wave.items), slots_(unit_of(wave).take_lanes()) {
  live_.for_each([&](int i) {
    lane_slot& s = (*this)[i];
    s.lanes = this;
    s.lane = i;
    s.home = wave.home;
    s.state = actor_state::ready;
    s.is_abandoned = false;
    s.error = nullptr;
    s.spin.begin();
    s.explored = {};
    s.request = nullptr;
    s.own_fiber = nullptr;
  });
  ready_ = live_;
  wave.lanes = this;
  if (wave.port != nullptr)
    wave.port->begin_instruction();
}

item_lanes::~item_lanes() {
  wave_.lanes = nullptr;
  fiber_pool& fibers = fibers_of(wave_);
  // All are told before the first one goes: what one does on its way out may wake another.
  live_.for_each([&](int i) {
    std::atomic_ref((*this)[i].is_abandoned).store(true, std::memory_order_relaxed); // wakers look
  });
  live_.for_each([&](int i) {
    lane_slot& s = (*this)[i];
    runs(i);
    s.root = {};
    if (s.own_fiber == nullptr)
      return;
    s.own_fiber->resume(); // block() throws `abandoned`; a function that swallows it is left behind
    if (s.own_fiber->is_idle())
      fibers.give_back(*s.own_fiber);
  });
  runs(-1);
  if (live_.empty())
    unit_of(wave_).give_lanes(std::move(slots_));
  else
    unit_of(wave_).give_abandoned_lanes(std::move(slots_));
}

/// What follows is this lane's doing; -1: the wavefront's.
void item_lanes::runs(int lane) noexcept {
  if (wave_.port != nullptr)
    wave_.port->set_lane(lane);
}

void item_lanes::after_slice(int lane) {
  lane_slot& s = (*this)[lane];
  if (s.error)
    rethrow_with_lane(std::exchange(s.error, nullptr), wave_, lane);
  if (s.state == actor_state::done) {
    live_ = live_.without(lane_mask::only(lane));
    s.root = {};
  } else if (s.state == actor_state::polling) {
    polling_ = polling_ | lane_mask::only(lane);
  } else if (s.state == actor_state::ready) {
    yielded_ = yielded_ | lane_mask::only(lane);
  } else if (s.request != nullptr) {
    requested_ = requested_ | lane_mask::only(lane);
  }
}

int item_lanes::next_of(lane_mask lanes) const noexcept {
  return is_descending_ ? lanes.last() : lanes.first();
}

/// The wait of a coroutine is over, or failed.
bool item_lanes::goes_on(lane_slot& s) noexcept {
  if (s.state != actor_state::polling || s.take == nullptr)
    return true;
  try {
    return s.take(s.poll_argument);
  } catch (...) {
    s.error = std::current_exception();
    return false;
  }
}

void item_lanes::run_ready() {
  is_descending_ = wave_.port != nullptr && ready_.count() > 1 && wave_.port->reverses_lanes();
  while (ready_.any()) {
    int const lane = next_of(ready_);
    ready_ = ready_.without(lane_mask::only(lane));
    lane_slot& s = (*this)[lane];
    if (s.own_fiber == nullptr && !s.root)
      return run_plain_lanes();
    runs(lane);
    if (s.own_fiber != nullptr)
      resume_plain(s);
    else if (goes_on(s))
      s.resume();
    runs(-1);
    after_slice(lane);
  }
}

bool item_lanes::ask_the_polling() {
  lane_mask yes;
  polling_.for_each([&](int i) {
    lane_slot& s = (*this)[i];
    if (s.poll(s.poll_argument))
      yes = yes | lane_mask::only(i);
  });
  polling_ = polling_.without(yes);
  ready_ = ready_ | yes;
  return yes.any();
}

bool item_lanes::may_go_on(void* lanes) {
  auto* const self = static_cast<item_lanes*>(lanes);
  self->ready_ = self->ready_ | std::exchange(self->yielded_, {});
  return self->ready_.any() || self->ask_the_polling();
}

wait_reason const& item_lanes::reason() {
  // A lane that polls or waits by itself holds up those that have come to a request.
  lane_mask const alone = live_.without(requested_).without(yielded_);
  return (*this)[(alone.any() ? alone : live_).first()].reason;
}

std::string item_lanes::others_than(wait_reason const& shown) const {
  std::vector<std::pair<wait_reason const*, int>> places;
  live_.without(ready_).without(served_).for_each([&](int i) {
    lane_slot const& s = slots_[static_cast<std::size_t>(i)];
    bool const waits = s.state == actor_state::waiting || s.state == actor_state::polling;
    if (!waits || is_same(s.reason, shown))
      return;
    auto const known =
        std::ranges::find_if(places, [&](auto const& p) { return is_same(*p.first, s.reason); });
    if (known != places.end())
      ++known->second;
    else
      places.emplace_back(&s.reason, 1);
  });
  std::string text;
  for (auto const& [reason, count] : places)
    text += fmt::format("{}{} lane{} at {} at {}", text.empty() ? "" : ", ", count,
                        count == 1 ? "" : "s", reason->what, quarry::to_string(reason->where));
  return text;
}

lane_mask item_lanes::next_served() {
  // A lane that still polls may come to the same line: whom it meets there must not depend on when.
  if (requested_.empty() || requested_ != live_)
    return {};
  lane_request const* first = nullptr;
  requested_.for_each([&](int i) {
    lane_request const& r = request(i);
    if (!r.needs_all && (first == nullptr || compare(place_of(r), place_of(*first)) < 0))
      first = &r;
  });
  if (first == nullptr) { // only requests that need everybody
    if (live_ != wave_.items)
      ended_too_early(requested_);
    first = &request(live_.first());
  }
  lane_mask who;
  requested_.for_each([&](int i) {
    lane_request const& r = request(i);
    if (r.serve == first->serve && compare(r.where, first->where) == 0)
      who = who | lane_mask::only(i);
  });
  if (first->needs_all && who != wave_.items)
    ended_too_early(who);
  served_ = who;
  return who;
}

void item_lanes::ended_too_early(lane_mask waiting) {
  lane_request const& r = request(waiting.first());
  auto const first_item = wave_.index * wave_.group->launch->wavefront_size;
  std::vector<std::pair<std::string, std::string>> ways; // why, and who
  wave_.items.without(waiting).for_each([&](int i) {
    std::string why = "has ended";
    if ((live_ & lane_mask::only(i)).any())
      why = (*this)[i].request == nullptr
                ? "waits elsewhere"
                : fmt::format("waits elsewhere, at the {} at {}", request(i).what,
                              quarry::to_string(request(i).where));
    auto const known = std::ranges::find(ways, why, [](auto const& w) { return w.first; });
    auto& who = known != ways.end() ? known->second : ways.emplace_back(why, "").second;
    who += fmt::format("{}{}", who.empty() ? "" : ", ", first_item + static_cast<unsigned>(i));
  });
  std::string absent;
  for (auto const& [why, who] : ways)
    absent += fmt::format("{}{} ({})", absent.empty() ? "" : "; ", who, why);
  throw kernel_stop{fault::kind::barrier_divergence,
                    fmt::format("{} work-items wait at a {}; absent work-items: {}",
                                waiting.count(), r.what, absent),
                    r.where};
}

void item_lanes::release(lane_mask served) noexcept {
  served.for_each([&](int i) { (*this)[i].request = nullptr; });
  requested_ = requested_.without(served);
  served_ = {};
  ready_ = ready_ | served;
  if (wave_.port == nullptr)
    return;
  wave_.port->lanes_meet(served);
  if (served == wave_.items)
    wave_.port->begin_instruction();
}

void item_lanes::start_plain(void (*call)(void const*, item_lanes&, int), void const* context) {
  call_ = call;
  context_ = context;
  to_start_ = live_;
}

/// A fiber's job: starts lane after lane until none is left. A lane that has blocked ends its
/// fiber.
void item_lanes::plain_loop(void* lanes) {
  auto& self = *static_cast<item_lanes*>(lanes);
  while (self.to_start_.any()) {
    int const lane = self.next_of(self.to_start_);
    if (self.is_descending_) [[unlikely]]
      self.to_start_.reset(lane);
    else // the same, without waiting for its number
      self.to_start_ = lane_mask(self.to_start_.bits() & (self.to_start_.bits() - 1));
    lane_slot& s = self[lane];
    self.runs(s.lane);
    s.state = actor_state::running;
    try {
      self.call_(self.context_, self, s.lane);
    } catch (abandoned) { // the launch is over: nobody else begins
      s.error = std::current_exception();
      self.to_start_ = {};
    } catch (...) {
      s.error = std::current_exception();
    }
    s.state = actor_state::done;
    if (s.own_fiber != nullptr || s.error)
      return;
  }
}

/// Those who have not started yet.
void item_lanes::run_plain_lanes() {
  fiber_pool& fibers = fibers_of(wave_);
  while (to_start_.any()) {
    lane_mask const before = to_start_;
    running_ = &fibers.take();
    running_->start(&plain_loop, this);
    running_->resume();
    runs(-1);
    if (running_->is_idle())
      fibers.give_back(*running_);
    lane_mask const started = before.without(to_start_);
    ready_ = ready_.without(started);
    started.for_each([this](int i) { after_slice(i); });
  }
}

void item_lanes::resume_plain(lane_slot& s) {
  execution_fiber& fiber = *s.own_fiber;
  s.state = actor_state::running;
  fiber.resume();
  if (!fiber.is_idle())
    return;
  s.own_fiber = nullptr;
  fibers_of(wave_).give_back(fiber);
}

void item_lanes::block(lane_slot& s) {
  if (s.own_fiber == nullptr)
    s.own_fiber = running_;
  s.own_fiber->suspend();
  if (s.is_abandoned)
    throw abandoned{};
  s.spin.begin();
}

std::uint32_t item_lanes::watch_for_spin(lane_slot& s, spin_watch::word seen,
                                         std::source_location where) {
  auto const how = s.spin.sees(seen);
  if (how != spin_watch::advice::go_on) {
    if (how == spin_watch::advice::wait)
      s.poll_for("wait_until", where, seen.at, &spin_watch::has_ended, &s.spin);
    else
      s.stay_ready("give way", where);
    block(s);
  }
  return s.spin.next();
}

task<> drive_items(item_lanes& lanes) {
  for (;;) {
    lanes.run_ready();
    if (lanes.live().empty())
      co_return;
    if (lanes.ask_the_polling())
      continue;
    lane_mask const served = lanes.next_served();
    if (served.any()) {
      lane_request const& first = lanes.request(served.first());
      if (lanes.wave().port != nullptr)
        lanes.wave().port->lanes_wait();
      task<> service = first.serve(lanes.wave(), lanes, served);
      co_await std::move(service);
      lanes.release(served);
    } else {
      lanes_wait wait(lanes);
      co_await wait;
    }
  }
}

} // namespace quarry::emu
