// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/scope.hpp>
#include <quarry/exhaustive.hpp>
#include <quarry/litmus/rendezvous.hpp>
#include <quarry/litmus/test.hpp>

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace quarry::litmus {

/// The memory that tests run on: emu::cache_machine, or a stand-in for it.
template<class M>
concept memory_machine = requires(M m, std::uint32_t id, std::uintptr_t at, emu::order o,
                                  emu::scope s, std::optional<std::uint64_t> (*f)(std::uint64_t)) {
  { m.add_agent() } -> std::same_as<std::uint32_t>;
  { m.add_compute_unit(id) } -> std::same_as<std::uint32_t>;
  { m.add_wavefront(id) } -> std::same_as<std::uint32_t>;
  m.reset();
  m.initialise(at, 8U, std::uint64_t{});
  { m.load(id, at, 8U).value } -> std::convertible_to<std::uint64_t>;
  { m.load(id, at, 8U, o, s).value } -> std::convertible_to<std::uint64_t>;
  m.store(id, at, 8U, std::uint64_t{});
  m.store(id, at, 8U, std::uint64_t{}, o, s);
  { m.update(id, at, 8U, o, s, f).value } -> std::convertible_to<std::uint64_t>;
  m.fence(id, o, s);
  m.finish();
  { m.final_value(at, 8U).value } -> std::convertible_to<std::uint64_t>;
  { m.hash() } -> std::same_as<std::uint64_t>;
};

/// How an execution ended.
enum class ending : std::uint8_t {
  complete, ///< every thread came to its end
  pruned,   ///< at a state that was seen before, or at the limit of states
  stuck,    ///< some thread waits at a barrier, or in a loop without memory, that nobody can end
};

/// Runs the executions of one test, one after the other. The test is borrowed.
///
/// Which thread goes on is a choice; whatever a thread does without memory happens at once with
/// what it did before. Each thread is a wavefront, each work-group has a compute unit of its own,
/// each location a line.
template<memory_machine Machine>
class interpreter {
public:
  /// Adds its wavefronts to `machine`, which is empty and has the same choices as run() gets.
  interpreter(test const& t, Machine& machine);

  [[nodiscard]] ending run(exhaustive_search& choices);
  /// A loop without memory took so many steps that it was left: what comes after it was not seen.
  [[nodiscard]] bool has_left_loops() const noexcept { return has_left_loops_; }
  /// Complete executions that differ from an earlier one only in how its last writes arrived.
  [[nodiscard]] std::uint64_t further_end_count() const noexcept { return further_end_count_; }
  /// After a complete execution: the values of test::observed.
  [[nodiscard]] std::span<value const> outcome() const noexcept { return outcome_; }

private:
  struct thread_state {
    std::uint32_t actor = 0;
    std::uint32_t next = 0; ///< instruction
    bool waits = false;     ///< has arrived at the barrier that is next
    bool is_stuck = false;  ///< in a loop without memory
    std::vector<value> registers{};
  };
  static constexpr int most_local_steps = 1'000'000; ///< in a row

  [[nodiscard]] static std::uintptr_t address_of(std::uint32_t storage) {
    return 4096 + std::uintptr_t{64} * storage; // a line each
  }
  [[nodiscard]] std::uintptr_t address_of(location_index l) const {
    return address_of(test_.locations[l.at].storage);
  }
  [[nodiscard]] bool has_ended(std::uint32_t i) const {
    return threads_[i].next == test_.threads[i].program.size();
  }

  void place_threads();
  void reset();
  [[nodiscard]] std::uint64_t hash() const;
  void find_runnable(std::uint32_t last);
  [[nodiscard]] bool can_run(std::uint32_t i) const;
  void observe();

  /// One instruction with memory, or one side of a barrier, and what is local after it.
  void step(std::uint32_t i);
  void run_local(std::uint32_t i);
  bool run_if_local(std::uint32_t i);

  [[nodiscard]] value value_of(std::uint32_t i, operand const& o) const {
    auto const* r = std::get_if<register_index>(&o);
    return r != nullptr ? threads_[i].registers[r->at] : std::get<value>(o);
  }
  [[nodiscard]] std::uint64_t bits_of(std::uint32_t i, operand const& o) const {
    return static_cast<std::uint64_t>(value_of(i, o));
  }
  void set(std::uint32_t i, register_index r, std::uint64_t bits) {
    threads_[i].registers[r.at] = static_cast<value>(bits);
  }

  void perform(std::uint32_t i, load const& l);
  void perform(std::uint32_t i, store const& s);
  void perform(std::uint32_t i, update const& u);
  void perform(std::uint32_t i, fence const& f);
  void perform(std::uint32_t i, barrier const& b);
  [[nodiscard]] std::optional<std::uint64_t> updated(std::uint32_t i, update const& u,
                                                     std::uint64_t old) const;
  /// The barrier's fence, as far as it has that side.
  void fence_at(std::uint32_t i, access_order how, emu::order side);

  test const& test_;
  Machine& machine_;
  std::vector<thread_state> threads_;
  rendezvous barriers_;
  std::vector<std::uint32_t> runnable_;
  std::vector<value> outcome_;
  std::uint64_t further_end_count_ = 0;
  bool has_left_loops_ = false;
};

// Implementation

template<memory_machine Machine>
interpreter<Machine>::interpreter(test const& t, Machine& machine)
    : test_(t), machine_(machine), threads_(t.threads.size()), barriers_(t) {
  place_threads();
}

template<memory_machine Machine>
void interpreter<Machine>::place_threads() {
  struct unit {
    placement where;
    std::uint32_t agent;
    std::uint32_t compute_unit;
  };
  std::vector<unit> units;
  for (std::size_t i = 0; i < threads_.size(); ++i) {
    auto const where = test_.threads[i].where;
    std::optional<std::uint32_t> agent;
    std::optional<std::uint32_t> compute_unit;
    for (unit const& u : units) {
      if (u.where.agent == where.agent)
        agent = u.agent;
      if (u.where.is_in_group_of(where))
        compute_unit = u.compute_unit;
    }
    if (!agent)
      agent = machine_.add_agent();
    if (!compute_unit) {
      compute_unit = machine_.add_compute_unit(*agent);
      units.push_back({where, *agent, *compute_unit});
    }
    threads_[i].actor = machine_.add_wavefront(*compute_unit);
  }
}

template<memory_machine Machine>
ending interpreter<Machine>::run(exhaustive_search& choices) {
  reset();
  std::uint32_t last = 0;
  for (;;) {
    find_runnable(last);
    if (runnable_.empty())
      break;
    if (!choices.is_replaying() && !choices.is_new(hash()))
      return ending::pruned;
    last = runnable_[runnable_.size() > 1 ? choices.pick_actor(runnable_) : 0];
    step(last);
  }
  for (std::uint32_t i = 0; i < threads_.size(); ++i)
    if (!has_ended(i))
      return ending::stuck;
  if (choices.is_replaying()) // what is left to choose is in finish()
    ++further_end_count_;
  else if (!choices.is_new(hash()))
    return ending::pruned;
  machine_.finish();
  observe();
  return ending::complete;
}

template<memory_machine Machine>
void interpreter<Machine>::reset() {
  machine_.reset();
  for (std::uint32_t s = 0; s < test_.initial.size(); ++s)
    machine_.initialise(address_of(s), 8, static_cast<std::uint64_t>(test_.initial[s]));
  barriers_.reset();
  for (std::uint32_t i = 0; i < threads_.size(); ++i) {
    auto& t = threads_[i];
    t.next = 0;
    t.waits = false;
    t.is_stuck = false;
    t.registers = test_.threads[i].initial;
    run_local(i);
  }
}

template<memory_machine Machine>
std::uint64_t interpreter<Machine>::hash() const {
  std::uint64_t h = machine_.hash();
  for (auto const& t : threads_) {
    h = mixed(h, t.next * 4U + t.waits * 2U + t.is_stuck);
    for (value const v : t.registers)
      h = mixed(h, static_cast<std::uint64_t>(v));
  }
  return barriers_.hash(h);
}

/// The one that ran last comes first: choice 0 is the boring one.
template<memory_machine Machine>
void interpreter<Machine>::find_runnable(std::uint32_t last) {
  runnable_.clear();
  if (can_run(last))
    runnable_.push_back(last);
  for (std::uint32_t i = 0; i < threads_.size(); ++i)
    if (i != last && can_run(i))
      runnable_.push_back(i);
}

template<memory_machine Machine>
bool interpreter<Machine>::can_run(std::uint32_t i) const {
  auto const& t = threads_[i];
  if (has_ended(i) || t.is_stuck)
    return false;
  if (!t.waits)
    return true;
  auto const& b = std::get<barrier>(test_.threads[i].program[t.next]);
  return barriers_.is_open(i, b.instance,
                           b.quorum ? std::optional(value_of(i, *b.quorum)) : std::nullopt);
}

template<memory_machine Machine>
void interpreter<Machine>::observe() {
  outcome_.clear();
  for (variable const& v : test_.observed) {
    if (v.what == variable::kind::thread_register)
      outcome_.push_back(threads_[v.thread].registers[v.at]);
    else
      outcome_.push_back(
          static_cast<value>(machine_.final_value(address_of(location_index{v.at}), 8).value));
  }
}

template<memory_machine Machine>
void interpreter<Machine>::step(std::uint32_t i) {
  std::visit(
      [&](auto const& what) {
        if constexpr (requires { perform(i, what); })
          perform(i, what);
      },
      test_.threads[i].program[threads_[i].next]);
  if (threads_[i].waits)
    return;
  ++threads_[i].next;
  run_local(i);
}

template<memory_machine Machine>
void interpreter<Machine>::run_local(std::uint32_t i) {
  auto& t = threads_[i];
  // What it was after 64, 128, … steps: if it comes to be so again, it goes on for ever.
  constexpr int first_kept = 64; // most do not come so far
  auto next_before = t.next;
  std::vector<value> registers_before;
  for (int steps = 0; !has_ended(i) && run_if_local(i);) {
    bool const is_again =
        steps >= first_kept && t.next == next_before && t.registers == registers_before;
    if (is_again || ++steps == most_local_steps) {
      has_left_loops_ = has_left_loops_ || !is_again;
      t.is_stuck = true;
      return;
    }
    if (steps >= first_kept && std::has_single_bit(static_cast<unsigned>(steps))) {
      next_before = t.next;
      registers_before = t.registers;
    }
  }
}

template<memory_machine Machine>
bool interpreter<Machine>::run_if_local(std::uint32_t i) {
  auto& t = threads_[i];
  auto const& what = test_.threads[i].program[t.next];
  if (auto const* c = std::get_if<compute>(&what)) {
    t.registers[c->into.at] = apply(c->operation, value_of(i, c->left), value_of(i, c->right));
    ++t.next;
    return true;
  }
  if (auto const* b = std::get_if<branch>(&what)) {
    bool const is_taken = holds(b->condition, value_of(i, b->left), value_of(i, b->right));
    t.next = is_taken ? b->target : t.next + 1;
    return true;
  }
  return false;
}

template<memory_machine Machine>
void interpreter<Machine>::perform(std::uint32_t i, load const& l) {
  auto const a = threads_[i].actor;
  auto const at = address_of(l.from);
  set(i, l.into,
      (l.how ? machine_.load(a, at, 8, l.how->order, l.how->scope) : machine_.load(a, at, 8))
          .value);
}

template<memory_machine Machine>
void interpreter<Machine>::perform(std::uint32_t i, store const& s) {
  auto const a = threads_[i].actor;
  auto const at = address_of(s.to);
  if (s.how)
    machine_.store(a, at, 8, bits_of(i, s.what), s.how->order, s.how->scope);
  else
    machine_.store(a, at, 8, bits_of(i, s.what));
}

template<memory_machine Machine>
void interpreter<Machine>::perform(std::uint32_t i, update const& u) {
  auto const old = machine_.update(threads_[i].actor, address_of(u.at), 8, u.how.order, u.how.scope,
                                   [&](std::uint64_t before) { return updated(i, u, before); });
  if (u.into)
    set(i, *u.into, old.value);
}

template<memory_machine Machine>
std::optional<std::uint64_t> interpreter<Machine>::updated(std::uint32_t i, update const& u,
                                                           std::uint64_t old) const {
  if (auto const* f = std::get_if<update::fetch>(&u.what))
    return static_cast<std::uint64_t>(
        apply(f->operation, static_cast<value>(old), value_of(i, f->by)));
  if (auto const* e = std::get_if<update::exchange>(&u.what))
    return bits_of(i, e->what);
  auto const& c = std::get<update::compare_exchange>(u.what);
  if (old != bits_of(i, c.expected))
    return std::nullopt;
  return bits_of(i, c.desired);
}

template<memory_machine Machine>
void interpreter<Machine>::perform(std::uint32_t i, fence const& f) {
  machine_.fence(threads_[i].actor, f.how.order, f.how.scope);
}

template<memory_machine Machine>
void interpreter<Machine>::perform(std::uint32_t i, barrier const& b) {
  auto& t = threads_[i];
  if (t.waits) {
    fence_at(i, b.how, emu::order::acquire);
    t.waits = false;
    return;
  }
  fence_at(i, b.how, emu::order::release);
  barriers_.arrive(i, b.instance, b.id ? std::optional(value_of(i, *b.id)) : std::nullopt);
  t.waits = b.waits;
}

template<memory_machine Machine>
void interpreter<Machine>::fence_at(std::uint32_t i, access_order how, emu::order side) {
  if (how && (how->order == emu::order::acq_rel || how->order == side))
    machine_.fence(threads_[i].actor, side, how->scope);
}

} // namespace quarry::litmus
