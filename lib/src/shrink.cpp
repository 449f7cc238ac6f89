// SPDX-License-Identifier: Apache-2.0
#include <quarry/shrink.hpp>

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

namespace quarry {

namespace {

/// What shrinking makes smaller: from left to right.
std::tuple<std::size_t, std::size_t, std::uint64_t> size_of(choice_record const& r) {
  std::uint64_t sum = 0;
  for (choice const& c : r.choices())
    sum += c.value;
  return {r.nonzero_count(), r.choices().size(), sum};
}

class shrinker {
public:
  shrinker(choice_record failing, failing_execution const& run, shrink_options o)
      : run_(run), most_runs_(o.most_runs), best_(std::move(failing)) {}

  shrunk shrink() {
    if (!is_reproduced())
      return {.record = std::move(best_), .runs = runs_};
    bool const is_minimal = make_minimal();
    return {
        .record = std::move(best_), .runs = runs_, .is_reproduced = true, .is_minimal = is_minimal};
  }

private:
  /// There was one more to be tried, and no run left for it.
  struct out_of_runs {};

  /// False: not all of it.
  bool make_minimal() {
    try {
      for (bool again = true; again;) {
        auto const before = size_of(best_);
        truncate();
        set_to_zero();
        merge_slices();
        lower();
        take_out();
        again = size_of(best_) < before;
      }
      return true;
    } catch (out_of_runs) {
      return false;
    }
  }

  bool is_reproduced() {
    ++runs_;
    auto ran = run_(best_);
    if (!ran)
      return false;
    most_chosen_ = std::max(ran->nonzero_count(), best_.nonzero_count());
    // What it really chose, unless the run was by a bigger record than the given one.
    if (size_of(*ran) <= size_of(best_))
      best_ = std::move(*ran);
    return true;
  }

  /// Whether `candidate` fails and is smaller: then it is the best one. Throws out_of_runs.
  bool attempt(std::vector<choice> const& candidate) {
    choice_record r(candidate);
    if (size_of(r) >= size_of(best_) || !tried_.insert(trace_hash(r.choices())).second)
      return false;
    if (runs_ >= most_runs_)
      throw out_of_runs{};
    ++runs_;
    auto ran = run_(r);
    if (!ran)
      return false;
    // It chooses nothing that is not in its record, but at a fair end, which is to grow no longer.
    if (ran->nonzero_count() > most_chosen_)
      return false;
    best_ = std::move(size_of(*ran) <= size_of(r) ? *ran : r);
    return true;
  }

  [[nodiscard]] std::size_t length() const { return best_.choices().size(); }
  [[nodiscard]] std::vector<choice> copy(std::size_t count) const {
    auto const kept = best_.choices().first(count);
    return {kept.begin(), kept.end()};
  }
  [[nodiscard]] std::vector<std::size_t> nonzeros() const {
    std::vector<std::size_t> at;
    for (std::size_t i = 0; i < length(); ++i)
      if (best_.choices()[i].value != 0)
        at.push_back(i);
    return at;
  }

  /// The shortest prefix, by bisection: if failing is not monotonous, a short one.
  void truncate() {
    for (std::size_t passes = 0; passes < length();) {
      std::size_t const middle = passes + (length() - passes) / 2;
      if (!attempt(copy(middle)))
        passes = middle + 1;
    }
  }

  /// Sets ever smaller chunks of the non-zero choices to 0.
  void set_to_zero() {
    auto at = nonzeros();
    for (std::size_t chunk = at.size(); chunk != 0; chunk = std::min(chunk / 2, at.size()))
      for (std::size_t i = 0; i < at.size();) {
        auto candidate = copy(length());
        for (std::size_t j = i; j < std::min(i + chunk, at.size()); ++j)
          candidate[at[j]].value = 0;
        if (attempt(candidate))
          at = nonzeros();
        else
          i += chunk;
      }
  }

  /// Two pre-emptions less: what ran in between does not, or later, with the next slice. No single
  /// choice can be 0 where the first one leaves an actor and the second one comes back to it.
  ///
  /// Source   Jalbert, Sen: A trace simplification technique for effective debugging of concurrent
  ///          programs, FSE'10
  void merge_slices() {
    for (std::size_t first = 0; first + 1 < preemptions().size();)
      if (!merge_slice(first))
        ++first;
  }
  bool merge_slice(std::size_t first) {
    auto const at = preemptions();
    auto candidate = copy(length());
    candidate[at[first]].value = 0;
    candidate[at[first + 1]].value = 0;
    if (attempt(candidate))
      return true;
    if (first + 2 == at.size())
      return false;
    // A B A' B' becomes A A' B B', as the choice that comes back to B now is the one before it.
    auto const place = [&](std::size_t i) {
      return candidate.begin() + static_cast<std::ptrdiff_t>(at[first + i]);
    };
    std::rotate(place(0), place(1), place(2) + 1);
    return attempt(candidate);
  }
  [[nodiscard]] std::vector<std::size_t> preemptions() const {
    auto at = nonzeros();
    std::erase_if(at, [&](std::size_t i) { return best_.choices()[i].kind != choice_kind::actor; });
    return at;
  }

  /// Takes ever smaller chunks out of the stream: what comes behind is chosen earlier.
  void take_out() {
    // In a long record only long ones, as each costs a run.
    std::size_t const least = std::max<std::size_t>(length() / 64, 1);
    for (std::size_t chunk = length() / 2; chunk >= least; chunk /= 2)
      for (std::size_t i = 0; i < length();) {
        auto candidate = copy(length());
        auto const first = candidate.begin() + static_cast<std::ptrdiff_t>(i);
        auto const count = std::min(chunk, length() - i);
        candidate.erase(first, first + static_cast<std::ptrdiff_t>(count));
        if (!attempt(candidate))
          i += chunk;
      }
  }

  void lower() {
    // By index: an attempt may change which ones are left.
    for (std::size_t i = 0; i < length(); ++i) {
      for (std::uint32_t fails = 0; i < length() && fails + 1 < value_at(i);) {
        std::uint32_t const middle = fails + (value_at(i) - fails) / 2;
        if (!attempt_value(i, middle))
          fails = middle;
      }
      while (i < length() && value_at(i) > 1 && attempt_value(i, value_at(i) - 1)) {
      }
    }
  }
  [[nodiscard]] std::uint32_t value_at(std::size_t i) const { return best_.choices()[i].value; }
  bool attempt_value(std::size_t i, std::uint32_t value) {
    auto candidate = copy(length());
    candidate[i].value = value;
    return attempt(candidate);
  }

  failing_execution const& run_;
  std::size_t most_runs_;
  choice_record best_;
  std::size_t most_chosen_ = 0; ///< by the first run: choices that are not 0
  std::size_t runs_ = 0;
  std::unordered_set<std::uint64_t> tried_; // never walked: its order plays no part
};

} // namespace

shrunk shrink(choice_record const& failing, failing_execution const& run, shrink_options o) {
  return shrinker(failing, run, o).shrink();
}

shrunk shrink(choice_record const& failing,
              std::function<bool(choice_record const&)> const& still_fails, shrink_options o) {
  failing_execution const run = [&](choice_record const& r) {
    return still_fails(r) ? std::optional(r) : std::nullopt;
  };
  return shrink(failing, run, o);
}

} // namespace quarry
