// SPDX-License-Identifier: Apache-2.0
#include <quarry/choice_tree.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace quarry {

choice_tree::choice_tree(chooser& by, options const& o) : by_(by), options_(o) {
  forget();
}

void choice_tree::forget() {
  nodes_.clear();
  numbers_.clear();
  ends_.clear();
  links_.assign(1, nowhere);
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
  while (is_node(links_[at_])) {
    node const& next = nodes_[links_[at_] - 1];
    for (std::uint32_t const actor : yields_of(next))
      by_.on_yield(actor);
    foreseen_.push_back(ask(next.n, next.kind, ready_of(next)));
    at_ = next.first_link + foreseen_.back();
  }
  if (links_[at_] != nowhere && ++known_ % options_.known_per_check != 0 &&
      !std::has_single_bit(known_))
    return ends_[links_[at_] & ~is_end];
  ++runs_;
  return std::nullopt;
}

unsigned choice_tree::answer(unsigned n, choice_kind kind, std::span<std::uint32_t const> ready) {
  if (given_ != foreseen_.size() && !is_given_up_)
    return answer_again(n, kind, ready);
  unsigned const chosen = ask(n, kind, ready);
  if (!is_kept_)
    return chosen;
  if (links_[at_] != nowhere) {
    diverge("it has gone on, where it had ended");
  } else if (depth_ == options_.most_choices || nodes_.size() == options_.most_nodes) {
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
  node const& known = nodes_[links_[again_] - 1];
  auto const same = ready_of(known);
  if (known.n != n || known.kind != kind ||
      !std::equal(ready.begin(), ready.end(), same.begin(), same.end())) {
    diverge(fmt::format("it has asked for {} of {}, not {} of {} as before", to_string(kind), n,
                        to_string(known.kind), known.n));
    return ask(n, kind, ready);
  }
  unsigned const chosen = foreseen_[given_++];
  again_ = known.first_link + chosen;
  ++depth_;
  return chosen;
}

void choice_tree::on_yield(std::uint32_t actor) {
  if (given_ != foreseen_.size() && !is_given_up_)
    return; // it has been told so, ahead of the answer that comes next
  by_.on_yield(actor);
  if (is_kept_)
    yields_.push_back(actor);
}

/// Gives the first of its links.
std::uint32_t choice_tree::add(unsigned n, choice_kind kind, std::span<std::uint32_t const> ready) {
  auto const first = static_cast<std::uint32_t>(links_.size());
  nodes_.push_back({.first_link = first,
                    .first_number = static_cast<std::uint32_t>(numbers_.size()),
                    .n = n,
                    .yields = static_cast<std::uint32_t>(yields_.size()),
                    .kind = kind});
  numbers_.insert(numbers_.end(), yields_.begin(), yields_.end());
  numbers_.insert(numbers_.end(), ready.begin(), ready.end());
  links_[at_] = static_cast<link>(nodes_.size());
  links_.resize(links_.size() + n, nowhere);
  return first;
}

void choice_tree::keep(std::uint64_t trace_hash) {
  if (is_given_up_ || !is_kept_)
    return;
  if (given_ != foreseen_.size())
    return diverge("it has ended, where it had gone on");
  if (links_[at_] == nowhere) {
    links_[at_] = static_cast<link>(ends_.size()) | is_end;
    ends_.push_back(trace_hash);
  } else if (ends_[links_[at_] & ~is_end] != trace_hash) {
    diverge("it has come to another end");
  }
}

} // namespace quarry
