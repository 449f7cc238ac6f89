// SPDX-License-Identifier: Apache-2.0
// The host functions that a sequential_scheduler runs to their ends.
#include <quarry/sequential_scheduler.hpp>
#include <quarry/what_was_thrown.hpp>

#include <fmt/core.h>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace quarry {

/// The function given to run(), as an actor without a coroutine.
class sequential_scheduler::host_actor final : public actor {
public:
  host_actor(std::function<void()> body, std::size_t number)
      : debug{.self = this, .name = "host"}, body_(std::move(body)) {
    if (number == 0)
      return; // most executions have one
    name_ = fmt::format("host {}", number);
    debug.name = name_.c_str();
  }
  std::string name() const override { return debug.name; }
  void on_done() noexcept override {}
  void run() override {
    try {
      body_();
    } catch (...) {
      error = std::current_exception();
    }
    state = actor_state::done;
  }

  debug_actor debug;

private:
  std::function<void()> body_;
  std::string name_;
};

namespace {

/// Takes the hosts from the debugger's list when run() is left.
class debug_listing {
public:
  explicit debug_listing(debug_list<debug_actor>& hosts) : hosts_(hosts) {}
  debug_listing(debug_listing const&) = delete;
  debug_listing& operator=(debug_listing const&) = delete;
  ~debug_listing() { hosts_ = {}; }

private:
  debug_list<debug_actor>& hosts_;
};

} // namespace

void sequential_scheduler::run(std::function<void()> host) {
  host_actor one(std::move(host), 0); // no allocation: short executions are many
  host_actor* const all[] = {&one};
  run_hosts(all);
}

void sequential_scheduler::run(std::vector<std::function<void()>> hosts) {
  std::deque<host_actor> actors;
  std::vector<host_actor*> all;
  all.reserve(hosts.size());
  for (auto& body : hosts)
    all.push_back(&actors.emplace_back(std::move(body), actors.size()));
  run_hosts(all);
}

void sequential_scheduler::run_hosts(std::span<host_actor* const> hosts) {
  debug_listing const listed(debug_entry().hosts);
  for (host_actor* const h : hosts) {
    debug_entry().hosts.push_back(h->debug);
    make_ready(*h);
  }
  auto const are_all_done = [hosts] {
    for (host_actor const* const h : hosts) // a loop: for one it is quicker than an algorithm
      if (h->state != actor_state::done)
        return false;
    return true;
  };
  struct driven {
    explicit driven(sequential_scheduler& d)
        : s(d),
          before(std::exchange(d.hands_over_, d.hands_over_ || (d.current_ == nullptr &&
                                                                d.options_.choices != nullptr))) {}
    driven(driven const&) = delete;
    ~driven() { s.hands_over_ = before; }
    sequential_scheduler& s;
    bool before;
  } const now(*this);
  if (!run_until(are_all_done))
    give_up(hosts);
  for (host_actor const* const h : hosts)
    if (h->error)
      std::rethrow_exception(h->error);
}

/// Abandons those that are not done, and says why.
void sequential_scheduler::give_up(std::span<host_actor* const> hosts) {
  report table = report_now();
  std::string const why = decisions_ >= options_.most_decisions
                              ? fmt::format("{} decisions taken", decisions_)
                              : std::string("nobody can go on");
  std::vector<host_actor*> left;
  std::copy_if(hosts.begin(), hosts.end(), std::back_inserter(left),
               [](host_actor const* h) { return h->state != actor_state::done; });
  for (host_actor const* const h : left)
    table.add("", *h);
  if (options_.when_given_up)
    options_.when_given_up(table);
  std::string thrown; // why the others wait, perhaps
  for (host_actor const* const h : hosts)
    if (h->error)
      thrown += fmt::format("{} {}\n", h->name(), what_was_thrown(h->error));
  for (host_actor* const h : left)
    if (h->state != actor_state::done)
      abandon(*h);
  throw stall_error(fmt::format("sequential_scheduler: {}\n{}{}", why, table.to_string(), thrown));
}

} // namespace quarry
