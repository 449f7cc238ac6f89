// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "address_ranges.hpp"
#include "cache_line.hpp"
#include "cache_place.hpp"
#include "cache_question.hpp"
#include "cache_state.hpp"
#include "line_table.hpp"

#include <quarry/choices.hpp>
#include <quarry/emu/scope.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace quarry::emu {

/// Scoped memory for `explore`: caches that are as incoherent as the model allows.
///
/// An L0 per wavefront, an L1 per compute unit and per command-processor core, an L2 per agent,
/// memory; a host thread has a cache of its own over memory. Write-back everywhere. A release
/// writes the actor's caches back down to its scope's level, an acquire invalidates those above it;
/// read-modify-writes, and accesses with acquire or release, are performed at that level. Plain and
/// relaxed accesses are performed in the actor's own cache.
///
/// What a cache may do at any time (fetch early, write a word back) is decided where it can be
/// observed: a load chooses among the writes that its cache may have fetched since its last
/// acquire, none older than what it has seen; a word that is written back chooses whether it had
/// been there before the newest write. A store that is performed below is delayed until somebody
/// sees it, a seq_cst update or fence, a write that releases, or the actor's next use of the word.
/// What an update has overwritten is still seen by loads of others until somebody releases who has
/// seen the update, and what it releases comes once somebody sees it; a seq_cst one is as strong as
/// a fence. An acquire of what nobody else has released, or of what the actor has acquired before,
/// invalidates nothing.
/// Who waits for a word may also find that what would have ended its wait has been overwritten.
/// seq_cst loads and stores are ordered with each other and no more, as in C++: such a load waits
/// for the stores up to the actor's last seq_cst one, and of several such stores the later one is
/// there later.
///
/// Words are naturally aligned, 1 to 8 bytes, as small as anybody accesses them: a plain access of
/// more is one of several words. An atomic one is so at once, and sees the newest of each, so that
/// it is not torn. A line of 64 bytes that everybody accesses as a whole is kept as
/// one, which changes nothing: it comes apart before its words can differ.
///
/// Shape    reset() costs what the last execution touched; memory is outside, see initialise()
/// Source   Hower et al., HRF, ASPLOS'14; ComP-Net §2, §4.2; design §4; differs: no capacity
class cache_machine {
public:
  using actor_id = std::uint32_t;
  using node_id = std::uint32_t;
  /// What the caller wants to know of a write when somebody reads it; 0 is memory's first value.
  using write_tag = std::uint32_t;
  /// Stores of an actor that stand behind later loads of its own; one more, and the oldest arrives.
  static constexpr std::size_t most_delayed = 4;
  /// Updates that others have not seen; one more, and the first is seen.
  static constexpr std::size_t most_lingering = 64;
  /// Releases by updates of an actor that nobody has seen; one more, and the first takes place.
  static constexpr std::size_t most_unseen = 8;

  struct reading {
    std::uint64_t value;
    write_tag by;
    /// A newer write was there to be seen.
    bool is_stale = false;
    /// Of which of its bytes it is memory's first value: a bit each.
    std::uint16_t first_bytes = 0;
  };
  /// A predicate on a value.
  using predicate = cache_question::predicate;
  /// The tag of a value that two writes have a part in.
  using tag_join = write_tag (*)(void* argument, write_tag a, write_tag b);
  /// Memory's value before anybody wrote it.
  using first_value = std::uint64_t (*)(std::uintptr_t at, unsigned bytes, void* argument);

  explicit cache_machine(chooser& choices);

  // The shape of the machine, kept by reset()

  node_id add_agent();
  node_id add_compute_unit(node_id agent);
  actor_id add_wavefront(node_id compute_unit);
  actor_id add_core(node_id agent);
  actor_id add_host();
  [[nodiscard]] std::size_t actor_count() const noexcept { return actor_count_; }

  /// A new execution: caches are cold, all writes forgotten.
  void reset();
  /// The same, and the machine has no agents and actors any more.
  void clear();
  void choose_by(chooser& c) noexcept { choices_ = &c; }
  /// Asked once for every word that is reached without an initialise().
  void set_first_value(first_value f, void* argument) noexcept;
  /// Without one it is the greater tag.
  void set_tag_join(tag_join f, void* argument) noexcept;
  /// Memory's value of a word that nobody has reached yet.
  void initialise(std::uintptr_t at, unsigned bytes, std::uint64_t value);
  /// Words of the range pass between an agent's L2 and memory only at kernel_boundary(), and by
  /// chance. Before they are reached; until they are forgotten.
  void coarsen(std::uintptr_t begin, std::size_t bytes);

  // Accesses: 1, 2, 4 or 8 bytes, naturally aligned; without an order they are plain

  reading load(actor_id a, std::uintptr_t at, unsigned bytes, std::optional<order> o = std::nullopt,
               scope s = scope::work_item) {
    return load_if(a, at, bytes, o, s, nullptr, nullptr);
  }
  void store(actor_id a, std::uintptr_t at, unsigned bytes, std::uint64_t value,
             std::optional<order> o = std::nullopt, scope s = scope::work_item, write_tag by = 0);
  /// A write that was there before the machine knew of it: memory's newest, at once.
  void store_now(actor_id a, std::uintptr_t at, unsigned bytes, std::uint64_t value);
  struct no_tag {
    write_tag operator()(reading const&, std::optional<std::uint64_t>) const noexcept { return 0; }
  };
  /// Read-modify-write: `f(old value)`, which does nothing else, gives the new value, or none.
  /// Gives what it read. Before it is written, `tag(what was read, new value)` gives the write's
  /// tag.
  template<class F, class Tag = no_tag>
  reading update(actor_id a, std::uintptr_t at, unsigned bytes, order o, scope s, F const& f,
                 Tag const& tag = {}) {
    auto const wish = [](std::uint64_t value, void const* function) {
      return std::optional<std::uint64_t>((*static_cast<F const*>(function))(value));
    };
    if (auto const old = read_unchanged(a, at, bytes, o, s, wish, &f)) {
      static_cast<void>(tag(*old, wish(old->value, &f)));
      return *old;
    }
    reading const old = begin_update(a, at, bytes, o, s);
    auto const desired = wish(old.value, &f);
    write_tag const by = tag(old, desired);
    if (desired)
      finish_update(a, at, bytes, o, s, *desired, by);
    end_update(a, o, s);
    return old;
  }
  /// Plain accesses to a whole line, by words of `element` bytes. False: nothing was done, since
  /// its words have different pasts, or will have; they are to be accessed one by one.
  bool load_line(actor_id a, std::uintptr_t at, unsigned element, std::byte* into, bool& is_first);
  bool store_line(actor_id a, std::uintptr_t at, unsigned element, std::byte const* from);
  /// Also what an access with acquire of what is not in the caches, as LDS, does then.
  void fence(actor_id a, order o, scope s);
  /// What is no operation of the actor's does to its caches, as a barrier, or a launch: the same,
  /// but what it writes later is no release for that.
  void synchronise(actor_id a, order o, scope s);
  /// A release fence, as late as nobody can tell: with the actor's next write, or what follows.
  void release_later(actor_id a, scope s);
  /// Before the actor writes, to what is not in the caches, say: releases as the write's order
  /// says, or as a fence before it has.
  void release_before_write(actor_id a, std::optional<order> o, scope s);
  /// The actor's delayed stores take place now: all of them, or those up to the last seq_cst one.
  void perform_delayed(actor_id a);
  void perform_seq_cst(actor_id a);
  /// A kernel begins (acquire) or ends (release): a fence of system scope, for coarse-grained words
  /// as well.
  void kernel_boundary(actor_id a, order o);

  /// Could such a load see a value that satisfies the predicate, now or after any wait? One that an
  /// atomic store leaves beyond its scope by mere chance is offered once; a wait that has not taken
  /// it is not let go by it.
  [[nodiscard]] bool could_load(actor_id a, std::uintptr_t at, unsigned bytes, order o, scope s,
                                predicate is_met, void* argument);
  /// The actor has asked that last, and could not; and nothing has changed since: could_load()
  /// would say no. Cheap: who polls does nothing else.
  [[nodiscard]] bool still_could_not(actor_id a, std::uintptr_t at, unsigned bytes, order o,
                                     scope s, predicate is_met, void* argument) const noexcept {
    actor const& self = actors_[a];
    if (self.asked.is_met == nullptr)
      return false;
    cell const& c = cells_[self.asked.about];
    return c.at == at && c.bytes == bytes &&
           self.asked ==
               asks(self.asked.about, acquires(o) ? level_in(self, s) : 0, is_met, argument);
  }
  /// The load that sees one of those values; some value if there is none.
  reading load_if(actor_id a, std::uintptr_t at, unsigned bytes, std::optional<order> o, scope s,
                  predicate is_met, void* argument);

  /// Nobody can go on: what must become visible by itself does (delayed stores; relaxed stores, to
  /// their scope's level). True if anything did.
  bool settle();
  /// The end: everything reaches memory.
  void finish();
  /// Memory's newest value.
  [[nodiscard]] reading final_value(std::uintptr_t at, unsigned bytes);
  /// Calls f(at, bytes, value, outside) for every word that was reached, with memory's newest value
  /// and what the caller left in `outside`, first memory's first value.
  using known_word = std::function<void(std::uintptr_t at, unsigned bytes, std::uint64_t value,
                                        std::uint64_t& outside)>;
  void for_each_word(known_word const& f);

  /// The words of a range are no longer there, and may come back as others: what was on its way
  /// arrives, then f(at, bytes, value) is called for those that were written.
  using gone_word = std::function<void(std::uintptr_t at, unsigned bytes, std::uint64_t value)>;
  void forget(std::uintptr_t begin, std::size_t bytes, gone_word const& f);

  /// How large the word at the address is to those who have accessed it; 0: nobody has.
  [[nodiscard]] unsigned width(std::uintptr_t at) const noexcept;
  /// Keeps the addresses of words that come to caches which actors share, or to memory; null: no
  /// more. Borrowed.
  void log_published(std::vector<std::uintptr_t>* into) noexcept { published_ = into; }
  /// Keeps the caches in which words have become dirty, or clean, or could have: two steps that do
  /// so in one cache may not commute. Null: no more. Borrowed.
  void log_caches(std::vector<node_id>* into) noexcept { caches_ = into; }
  [[nodiscard]] node_id cache_of(actor_id a) const noexcept { return actors_[a].path[0]; }
  /// Set once a load could not see what it might have: a value that its caches remember no longer,
  /// one more stale one in a row, what stands behind more delayed stores than there are, or behind
  /// an atomic store to a word in parts. Null: nobody wants to know. Borrowed.
  void note_left_out(bool* into) noexcept { left_out_ = into; }

  /// Of everything in the machine that can still be observed.
  [[nodiscard]] std::uint64_t hash() const;

private:
  using cell_id = std::uint32_t;
  using node = cache_node;
  using cell = cache_cell;
  using actor = cache_actor;
  using released = released_writes;
  using releaser = std::uint32_t;
  using place = cache_place;
  using candidate = cache_candidate;
  using window = cache_window;
  using question = cache_question;
  using version = cache_place::version;
  using index = cache_place::index;
  using time = cache_place::time;
  static constexpr index kept = cache_place::kept;
  static constexpr index unknown = cache_place::unknown;
  static constexpr time always = cache_place::always;
  static constexpr int most_levels = cache_place::most_levels;
  static constexpr node_id memory = 0;
  static constexpr node_id nobody = no_number;
  static constexpr releaser several = released::several;
  static constexpr std::uint8_t l2_level = 2;
  static constexpr std::uint8_t memory_level = 3;

  /// Updates see what is newest, where they are performed.
  enum class sight : std::uint8_t { newest, seq_cst, lingering };
  [[nodiscard]] static sight sight_of(std::optional<order> load) noexcept {
    return load == order::seq_cst ? sight::seq_cst : sight::lingering;
  }
  [[nodiscard]] question asks(cell_id c, unsigned level, predicate is_met,
                              void* argument) const noexcept {
    return {c, cells_[c].changes, level, is_met, argument};
  }
  static constexpr std::uintptr_t line_bytes = cache_line::bytes;
  static constexpr std::size_t line_words = cache_line::words;
  using line = cache_line;
  using wide_line = wide_cache_line;
  /// A word, or one of a whole line.
  struct part {
    cell_id of;
    unsigned offset;
    unsigned bytes;
  };

  [[nodiscard]] bool has(node_id n, cell_id c) const {
    place const* const p = nodes_[n].places.find(c);
    return p != nullptr && p->execution == execution_;
  }
  [[nodiscard]] version const& newest(node_id n, cell_id c) const {
    return nodes_[n].places[c].newest();
  }
  /// No fence reaches the cell's words beyond this node.
  [[nodiscard]] bool holds(node_id n, cell_id c) const {
    return cells_[c].is_coarse && nodes_[n].level == l2_level;
  }
  /// way_ above the actor's own cache.
  [[nodiscard]] cache_way way_of(actor const& a) const {
    return {std::span(way_).subspan(1, a.levels - 1U), nodes_[a.path[1]].level, left_out_};
  }
  [[nodiscard]] std::vector<cell_id>& dirty_of(node_id n, cell_id c) {
    return holds(n, c) ? nodes_[n].held : nodes_[n].dirty;
  }
  [[nodiscard]] std::array<time, most_levels> const& since(node_id n, cell_id c) const {
    return cells_[c].is_coarse ? nodes_[n].coarse_since : nodes_[n].since;
  }
  place& touch(node_id n, cell_id c);
  place& touch_first(node_id n, cell_id c);
  cell_id find_first(line& l, std::uintptr_t at, unsigned bytes, unsigned& step);
  node_id add_node(node_id parent, std::uint8_t level, bool is_leaf);
  actor_id add_actor(node_id leaf, std::array<std::uint8_t, 5> level_of);
  cell_id new_cell(std::uintptr_t at, unsigned bytes);
  cell_id find(std::uintptr_t at, unsigned bytes, unsigned& step);
  void split(std::uintptr_t word, unsigned bytes);
  void copy_part(cell_id from, cell_id to, unsigned bit);
  void complete_atomics(cell_id c);
  void leave_out() noexcept {
    if (left_out_ != nullptr) [[unlikely]]
      *left_out_ = true;
  }
  [[nodiscard]] bool is_wide(cell_id c) const noexcept { return cells_[c].bytes == line_bytes; }
  wide_line* find_wide(std::uintptr_t at, unsigned element);
  wide_line& add_wide(line& l);
  void first_values(cell& c, place& p);
  bool decide(wide_line& w);
  void empty_open(actor const& a, unsigned level, bool is_flush, time before = always);
  bool remember_emptying(wide_line& w, wide_line::emptying const& e);
  void empty(part of, wide_line::emptying const& e);
  void decide_all();
  void close(wide_line const& w);
  void drop_undecided(wide_line& w);
  cell_id come_apart(wide_line& w);
  void narrow(cell_id c);
  void copy_word(wide_line const& w, part to);
  [[nodiscard]] place word_of(place const& p, part of) const;
  void leak(wide_line const& w, part of, unsigned chosen);
  [[nodiscard]] unsigned choose_leak(wide_line const& w, std::size_t from);
  void redo(wide_line const& w, part of, std::size_t& emptied, time before);
  void overwrite(wide_line const& w, part of, wide_line::overwriting const& o);
  void write_back_words(node_id n, cell_id c);
  void for_each_word_of(cell_id c, known_word const& f);
  void forget_cell(cell_id c, std::uintptr_t begin, std::size_t bytes, gone_word const& f);
  void forget_line(cell_id c, std::uintptr_t begin, std::size_t bytes, gone_word const& f);
  std::optional<reading> see_only_one(actor_id a, cell_id c);
  void publish(cell const& c);
  void tell_published(cell_id c) {
    if (published_ != nullptr) [[unlikely]]
      publish(cells_[c]);
  }
  void log_cache(node_id n) {
    if (caches_ != nullptr) [[unlikely]]
      caches_->push_back(n);
  }
  [[nodiscard]] bool is_under(node_id n, node_id ancestor) const noexcept;
  /// Where the node is on the actor's path; `levels` if it is not.
  [[nodiscard]] static unsigned level_at(actor const& a, node_id n) noexcept {
    unsigned l = 0;
    while (l < a.levels && a.path[l] != n)
      ++l;
    return l;
  }
  /// way_ is the word's places on the actor's path.
  void set_way(actor const& a, cell_id c) {
    for (unsigned l = 0; l < a.levels; ++l)
      way_[l] = &touch(a.path[l], c);
  }
  [[nodiscard]] unsigned level_in(actor const& a, scope s) const noexcept {
    return a.level_of[static_cast<std::size_t>(s)];
  }

  /// By one leaf alone, before the caches on the way held anything.
  struct early_fetch {
    time before;                ///< 0: there was none
    std::optional<index> least; ///< what it has seen of what stands above at least
    /// What those had seen, by node level, whom it has synchronised with below.
    std::array<index, most_levels> floor{};
  };
  [[nodiscard]] std::uint64_t hash_of(part c, std::vector<index>& oldest) const;
  void mix_undecided(std::uint64_t& h, wide_line const& w) const;
  index mix_view(std::uint64_t& h, node_id n, node_id up, cell_id c, early_fetch& early) const;
  void mix_place(std::uint64_t& h, node_id n, part c, index oldest) const;
  void mix_passed(std::uint64_t& h, node_id n, cell_id c) const;
  void mix_dirty(std::uint64_t& h, node_id n, cell_id c) const;
  [[nodiscard]] time ahead_of(node_id leaf, node_id n, cell_id c) const;
  void mix_later(std::uint64_t& h, node_id n, cell_id c, time since) const;
  void mix_unseen(std::uint64_t& h, actor const& a) const;
  void mix_released(std::uint64_t& h, released r) const;
  [[nodiscard]] static std::uint64_t releases_after(actor const& a, time t) noexcept;
  void finish_cell(cell_id c);
  [[nodiscard]] std::span<cell_id const> cells_about(std::uintptr_t begin, std::size_t bytes);
  [[nodiscard]] bool is_in_use(cell_id c) const;
  void drop(cell_id c);
  void drop_beside(cell_id c);
  void make_live(node_id n, cell_id c);
  void append(node_id n, cell_id c, version const& v);
  void set_dirty(node_id n, cell_id c, std::uint8_t due, time since, time from);
  void become_dirty(node_id n, cell_id c);
  void come_to(node_id n, cell_id c, version const& v, std::uint8_t due, time since, time from);
  void clear_dirty(node_id n, cell_id c);
  [[nodiscard]] bool may_be_behind(node_id n, cell_id c) const;
  [[nodiscard]] time arrival_of(node_id n, time stored) const;
  void log_path(actor const& a, unsigned level) {
    for (unsigned l = 0; caches_ != nullptr && l < level; ++l)
      log_cache(a.path[l]);
  }
  void keep_ahead(actor const& a, cell_id c, unsigned level, index which);
  void keep_ahead_at(actor const& a, cell_id c, unsigned level);
  void keep_together(node_id n, cell_id c, index which, std::uint8_t due, time since, time from);
  void pin(cell_id c, std::uint32_t id);
  /// What is written back comes to be the newest, or to be overwritten by what is, where it may.
  enum class arrival : std::uint8_t { newest, chosen, late };
  [[nodiscard]] bool comes_late(arrival how) { // where it may
    return how == arrival::late ||
           (how == arrival::chosen && choices_->pick(2, choice_kind::write_back) == 1);
  }
  void write_back(node_id n, cell_id c, arrival how);
  void write_back_to(node_id n, cell_id c, node_id ancestor, arrival how = arrival::newest);
  inline void release(actor& a, unsigned level);
  void take_late_fence(actor& a, unsigned level);
  void end_late_fence(actor& a) noexcept {
    a.to_come = {};
    --late_fence_count_;
  }
  void flush(actor const& a, unsigned level, time before = always);
  void forget_unseen(actor& a, unsigned level, time before);
  void release_when_seen(actor& a, cell_id c, unsigned level);
  void perform_unseen(actor& a, std::size_t which);
  /// The actor writes the cell again: who sees that will have seen those, but for what that write
  /// releases itself, to the path's level `covered`.
  void perform_own_unseen(actor& a, cell_id c, unsigned covered) {
    if (!a.unseen.empty()) [[unlikely]]
      perform_unseen_of(a, c, covered);
  }
  void perform_unseen_of(actor& a, cell_id c, unsigned covered);
  bool perform_all_unseen(cell_id c);
  void drop_unseen(cell_id c);
  [[nodiscard]] bool has_to_release(actor const& a, cell_id c, unsigned level) const;
  [[nodiscard]] bool can_be_seen(unseen_release const& u) const;
  void perform_seen(actor const& by, std::uint32_t id);
  void note_release(actor const& a, cell_id c, bool releases, released before);
  void keep_release(actor_id by);
  [[nodiscard]] released released_by(std::uint32_t id) const noexcept {
    return id < released_.size() ? released_[id] : released{};
  }
  [[nodiscard]] static released join(released a, released b) noexcept {
    bool const is_one = a.by == b.by || a.by == nobody || b.by == nobody; // which is the greatest
    return {is_one ? std::min(a.by, b.by) : several, std::max(a.at, b.at)};
  }
  [[nodiscard]] bool is_news_to(actor const& a, unsigned level, released r) const noexcept;
  [[nodiscard]] releaser number_of(actor const& a) const noexcept {
    return static_cast<releaser>(&a - actors_.data());
  }
  enum class words : std::uint8_t { fine_grained, all };
  void invalidate(actor const& a, unsigned level, words which = words::fine_grained);
  void empty_lingering(actor const& a, unsigned level, words which);
  template<class F>
  void for_each_lingering(F const& f);
  /// Performs the oldest `count` of the actor's delayed stores.
  void drain(actor& a, std::size_t count) {
    for (; count != 0; --count) [[unlikely]]
      perform_oldest(a, arrival::chosen);
  }
  void perform_oldest(actor& a, arrival how, unsigned farthest = most_levels);
  static void put_after(actor& a, time at) noexcept;
  [[nodiscard]] bool may_be_behind(actor const& a, delayed_store const& d, unsigned level);
  /// How many of the actor's delayed stores there are up to the last of those; 0: there is none.
  template<class Predicate>
  [[nodiscard]] static std::size_t delayed_up_to_last(actor const& a, Predicate is_one) noexcept {
    std::size_t count = a.delayed.size();
    while (count != 0 && !is_one(a.delayed[count - 1]))
      --count;
    return count;
  }
  [[nodiscard]] static std::size_t delayed_up_to(actor const& a, cell_id c) noexcept {
    return delayed_up_to_last(a, [c](delayed_store const& d) { return d.at == c; });
  }
  [[nodiscard]] static std::size_t delayed_up_to_seq_cst(actor const& a) noexcept {
    return delayed_up_to_last(a, [](delayed_store const& d) { return d.is_seq_cst; });
  }
  /// Performs the actor's delayed stores up to the last one to the cell.
  void drain_cell(actor& a, cell_id c) { drain(a, delayed_up_to(a, c)); }
  /// What a late update has overwritten is still there for others.
  enum class write_kind : std::uint8_t { store, update, late_update };
  void perform_write(actor& a, cell_id c, unsigned level, write_kind kind, std::uint64_t value,
                     write_tag by, time since, std::uint8_t due = 0);
  void clean_below(actor const& a, cell_id c, unsigned level);
  void copy_below(actor const& a, cell_id c, unsigned level, index which, bool is_own);
  void let_linger(node_id n, cell_id c);
  void end_lingering(node_id n, cell_id c, index last);
  void end_lingering(cell_id c);
  void release_version(node_id n, cell_id c, std::uint8_t height, index least);
  void publish_updates(actor const& a, unsigned level, time before);
  [[nodiscard]] index least_released(actor const& a, cell_id c, unsigned level) const;
  [[nodiscard]] bool is_superseded(actor const& a, cell_id c, unsigned level, index which) const;
  void collect_lingering(actor const& a, cell_id c, unsigned level, sight s);
  void see_in_seq_cst(actor const& a, cell_id c);
  void end_seen_in_seq_cst();
  void mix_lingering(std::uint64_t& h) const;
  void see(actor const& a, cell_id c, unsigned level, index which);

  void collect(actor_id a, cell_id c, unsigned lowest, sight s);
  inline void put_newest_first();
  inline void collect_above(actor_id a, cell_id c, unsigned lowest);
  [[nodiscard]] bool is_outdated(actor const& a, cell_id c, unsigned level, version const& v,
                                 bool before) const;
  void pass_early(early_fetch& by, node_id leaf, node_id n, cell_id c, bool* left_out) const;
  [[nodiscard]] index first_current(actor const& a, cell_id c, unsigned level) const;
  inline void collect_versions(actor const& a, cell_id c, unsigned level, window const* shared,
                               window const* own);
  inline void collect_arrivals(actor_id a, cell_id c, unsigned level, bool is_lowest);
  void collect_holders(actor_id a, cell_id c, unsigned level, bool is_lowest);
  void collect_delayed(actor_id a, cell_id c, unsigned level, bool is_lowest);
  [[nodiscard]] inline index first_to_fetch(actor const& a, unsigned level, bool is_leaf) const;
  [[nodiscard]] bool sees_only_newest(actor const& a, cell_id c, unsigned lowest, sight s);
  [[nodiscard]] bool sees_only_own(actor const& a, cell_id c) const;
  inline void keep_what_ends(actor const& a, question const& wait);
  void offer_overwritten(actor const& a, cell_id c, unsigned lowest, question const& wait);
  reading take_overwritten(actor_id a, cell_id c, unsigned lowest, candidate const& chosen);
  reading choose(actor_id a, cell_id c, unsigned lowest, sight s, predicate is_met, void* argument);
  inline reading take(actor_id a, cell_id c, unsigned lowest, candidate const& chosen);
  void overwrite_by(actor const& a, cell_id c, unsigned l, unsigned level, index which);
  void pass_by(actor const& a, cell_id c, unsigned level, index which);
  inline reading take_newest(actor const& a, cell_id c);
  [[nodiscard]] inline std::uint8_t all_bytes(cell_id c) const;
  inline reading load_cell(actor_id a, cell_id c, std::optional<order> o, scope s, predicate is_met,
                           void* argument);
  inline void store_cell(actor_id a, cell_id c, std::uint64_t value, std::optional<order> o,
                         scope s, write_tag by);
  void add_part(reading& all, reading const& part, unsigned done) const;
  void store_together(actor_id a, std::uintptr_t at, unsigned bytes, std::uint64_t value, order o,
                      scope s, write_tag by);
  /// Whether others may see an update later than where it takes place, if it is of one word.
  [[nodiscard]] bool may_be_late(order o) const noexcept {
    return o != order::seq_cst && actor_count_ != 1;
  }
  /// What an update would write.
  using desire = std::optional<std::uint64_t> (*)(std::uint64_t value, void const* function);
  std::optional<reading> read_unchanged(actor_id a, std::uintptr_t at, unsigned bytes, order o,
                                        scope s, desire f, void const* function);
  reading begin_update(actor_id a, std::uintptr_t at, unsigned bytes, order o, scope s);
  void finish_update(actor_id a, std::uintptr_t at, unsigned bytes, order o, scope s,
                     std::uint64_t value, write_tag by);
  void end_update(actor_id a, order o, scope s);

  chooser* choices_;
  first_value first_value_ = nullptr;
  void* first_value_argument_ = nullptr;
  tag_join tag_join_ = nullptr;
  void* tag_join_argument_ = nullptr;
  std::vector<node> nodes_;
  std::vector<actor> actors_;
  std::vector<cell> cells_;
  std::vector<cell_id> cells_about_; ///< a range, see there: keeps its memory
  line_table<line> lines_;
  std::uint32_t execution_ = 1; ///< its number: what has another one is of no account
  std::vector<wide_line> wide_;
  std::size_t wide_count_ = 0;      ///< in use: they keep their memory
  std::vector<std::uint32_t> open_; ///< lines of which something is undecided
  std::size_t undecided_count_ = 0; ///< of their stores
  line_values values_;
  address_ranges coarse_;
  std::array<place const*, most_levels> way_{}; ///< a cell's places on an actor's path
  std::vector<candidate> candidates_;
  std::vector<lingering_version> lingering_; ///< in the order of the updates
  std::size_t node_count_ = 0;               ///< in use: nodes and actors keep their memory
  std::size_t actor_count_ = 0;
  time now_ = 1;
  std::uint32_t last_write_ = 0;   ///< its id
  std::vector<actor_id> delaying_; ///< actors that have delayed stores, in their order
  std::size_t late_fence_count_ = 0;
  std::size_t unseen_count_ = 0;
  std::vector<std::uintptr_t>* published_ = nullptr;
  std::vector<node_id>* caches_ = nullptr;
  bool* left_out_ = nullptr;
  std::vector<released> released_; ///< by the id of a write, as far as there are any
  std::uint32_t taken_ = 0;        ///< the write whose version was taken last
  released taken_of_{};            ///< by an update: joined from its words
  bool takes_newest_ = false;      ///< an atomic access of several words: they must be of one write
};

} // namespace quarry::emu
