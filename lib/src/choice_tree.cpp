// SPDX-License-Identifier: Apache-2.0
#include <quarry/assert.hpp>
#include <quarry/choice_tree.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace quarry {

choice_tree::choice_tree(chooser& by, options const& o) : by_(by), options_(o) {
  QUARRY_ASSERT(o.known_per_check != 0 && o.runs_per_review != 0);
  QUARRY_ASSERT(o.most_bytes < std::size_t{is_end} * sizeof(words_[0]) && !by.wants_effects());
  forget();
}

void choice_tree::forget() {
  words_ = std::vector<std::uint32_t>(1, nowhere); // and the memory goes
  foreseen_.clear();
  given_ = 0;
  known_ = runs_ = known_at_review_ = runs_at_review_ = 0;
  is_given_up_ = is_kept_ = false;
  divergence_.clear();
}

void choice_tree::give_up() {
  std::string const how = std::move(divergence_);
  forget();
  divergence_ = how;
  is_given_up_ = true;
}

void choice_tree::diverge(std::string how) {
  divergence_ = fmt::format("after {} choices that had been made before {}", depth_, how);
  give_up();
}

/// Does it pay to remember?
void choice_tree::review() {
  if (runs_ - runs_at_review_ < options_.runs_per_review)
    return;
  runs_at_review_ = runs_;
  std::uint64_t const known = known_ - std::exchange(known_at_review_, known_);
  if (known * 32 < options_.runs_per_review)
    give_up();
}

std::optional<std::uint64_t> choice_tree::foresee() {
  foreseen_.clear();
  yields_.clear();
  given_ = depth_ = 0;
  again_ = at_ = 0;
  review();
  is_kept_ = !is_given_up_;
  if (is_given_up_)
    return std::nullopt;
  while (is_question(words_[at_])) {
    question const next = question_at(words_[at_]);
    for (std::uint32_t const actor : next.yields)
      by_.on_yield(actor);
    unsigned const chosen = ask(next.what.n, next.kind(), next.ready);
    QUARRY_ASSERT(chosen < next.what.n);
    foreseen_.push_back(chosen);
    at_ = next.first_link + chosen;
  }
  if (words_[at_] != nowhere) {
    ++known_;
    if (known_ % options_.known_per_check != 0 && !std::has_single_bit(known_))
      return hash_at(words_[at_]);
  }
  ++runs_;
  return std::nullopt;
}

unsigned choice_tree::answer(unsigned n, choice_kind kind, std::span<std::uint32_t const> ready) {
  if (given_ != foreseen_.size())
    return answer_again(n, kind, ready);
  unsigned const chosen = ask(n, kind, ready);
  if (words_[at_] != nowhere) {
    diverge("it has gone on, where it had ended");
  } else if (depth_ == options_.most_choices || !has_room(n)) {
    is_kept_ = false;
  } else {
    at_ = add(n, kind, ready) + chosen;
    yields_.clear();
    ++depth_;
  }
  return chosen;
}

/// As foreseen, if it asks for that.
unsigned choice_tree::answer_again(unsigned n, choice_kind kind,
                                   std::span<std::uint32_t const> ready) {
  question const known = question_at(words_[again_]);
  unsigned const known_n = known.what.n;
  auto const are_same = [](std::span<std::uint32_t const> a, std::span<std::uint32_t const> b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  };
  if (known_n != n || known.kind() != kind || !are_same(ready, known.ready)) {
    diverge(fmt::format("it has asked for {} of {}, not {} of {} as before", to_string(kind), n,
                        to_string(known.kind()), known_n));
    return ask(n, kind, ready);
  }
  if (!are_same(yields_, known.yields)) {
    diverge("others had yielded than before");
    return ask(n, kind, ready);
  }
  yields_.clear();
  unsigned const chosen = foreseen_[given_++];
  again_ = known.first_link + chosen;
  ++depth_;
  return chosen;
}

void choice_tree::on_yield(std::uint32_t actor) {
  if (is_kept_)
    yields_.push_back(actor);
  if (given_ == foreseen_.size()) // otherwise foresee() has told it so
    by_.on_yield(actor);
}

choice_tree::question choice_tree::question_at(link l) const noexcept {
  question q{};
  q.what = std::bit_cast<header>(words_[l]);
  q.first_link = l + 1;
  std::span const numbers = std::span(words_).subspan(q.first_link + q.what.n);
  q.yields = numbers.first(q.what.yields);
  if (q.what.has_numbers != 0)
    q.ready = numbers.subspan(q.what.yields, q.what.n);
  return q;
}

std::uint64_t choice_tree::hash_at(link end) const noexcept {
  std::size_t const first = end & ~is_end;
  return std::uint64_t{words_[first + 1]} << 32 | words_[first];
}

bool choice_tree::has_room(unsigned n) const noexcept {
  return n <= most_answers && yields_.size() <= most_yields &&
         words_.size() * sizeof(words_[0]) < options_.most_bytes;
}

/// Gives the first of its links.
std::uint32_t choice_tree::add(unsigned n, choice_kind kind, std::span<std::uint32_t const> ready) {
  auto const added = static_cast<link>(words_.size());
  words_.push_back(std::bit_cast<std::uint32_t>(
      header{.n = n & most_answers,
             .yields = static_cast<std::uint32_t>(yields_.size()) & most_yields,
             .kind = static_cast<std::uint32_t>(kind) & 7U,
             .has_numbers = ready.empty() ? 0U : 1U}));
  auto const first = static_cast<std::uint32_t>(words_.size());
  words_.resize(words_.size() + n, nowhere);
  words_.insert(words_.end(), yields_.begin(), yields_.end());
  words_.insert(words_.end(), ready.begin(), ready.end());
  words_[at_] = added; // last: there was memory for all of it
  return first;
}

void choice_tree::end(std::optional<std::uint64_t> trace_hash) {
  if (!is_kept_)
    return;
  if (given_ != foreseen_.size())
    return diverge("it has ended, where it had gone on");
  if (words_[at_] != nowhere) {
    if (!trace_hash || hash_at(words_[at_]) != *trace_hash)
      diverge("it has come to another end");
  } else if (trace_hash) {
    auto const added = static_cast<link>(words_.size());
    words_.push_back(static_cast<std::uint32_t>(*trace_hash));
    words_.push_back(static_cast<std::uint32_t>(*trace_hash >> 32));
    words_[at_] = added | is_end;
  }
}

} // namespace quarry
