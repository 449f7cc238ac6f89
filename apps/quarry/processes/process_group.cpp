// SPDX-License-Identifier: Apache-2.0
#include "process_group.hpp"

#include "child_process.hpp"
#include "exit_status.hpp"
#include "merged_output.hpp"
#include "orphanage.hpp"
#include "owned_fd.hpp"
#include "signal_input.hpp"

#include <quarry/net/job.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <set>
#include <span>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace quarry::command {
namespace {

using clock = std::chrono::steady_clock;

class process_group {
public:
  explicit process_group(process_group_options const& options) : options_(options) {}

  [[nodiscard]] result<void> start();
  /// Ends what start() has started before it failed.
  void abandon();
  [[nodiscard]] int join();

private:
  /// What happens at the deadline, if it comes to that.
  enum class stage { running, asked_nicely_next, killed_next, killed };

  [[nodiscard]] result<void> start_node(net::job const& job, int empty_input);
  void wait_for_news();
  void take_signals();
  void take_request(signalfd_siginfo const& info);
  bool take_lost_output();
  void begin_to_end(int exit_status, std::string const& why);
  void hand_on_rest();
  void join_ended();
  void take_failure(std::size_t rank, child_end const& end);
  void keep_deadline();
  void ask_nicely();
  void kill_all();
  void send_all(int signal) const;
  [[nodiscard]] std::size_t running_count() const;
  void say(std::string const& line) {
    outputs_.back().put(fmt::format("{}: {}\n", options_.speaker, line));
  }

  process_group_options const& options_;
  signal_input signals_;
  orphanage orphanage_;
  std::vector<merged_output> outputs_ = standard_outputs();
  std::vector<child_process> nodes_;
  stage stage_ = stage::running;
  clock::time_point deadline_;
  bool is_asked_to_end_ = false;
  std::set<std::size_t> ended_well_;
  std::optional<int> exit_status_; // decided by a request to end, or the failure that is the cause
};

result<void> process_group::start() {
  auto const jobs = net::make_local_jobs(options_.node_count, options_.timeout);
  if (!jobs)
    return jobs.error();
  // Ours are closed when all nodes run: then the port of a node that died refuses connections.
  std::vector<owned_fd> sockets;
  for (auto const& job : *jobs)
    sockets.emplace_back(job.listen_fd);
  owned_fd const empty_input(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  for (auto const& job : *jobs)
    if (auto const started = start_node(job, empty_input.get()); !started)
      return started.error();
  return {};
}

result<void> process_group::start_node(net::job const& job, int empty_input) {
  child_request request{
      .program = options_.program,
      .environment = net::environment_of(job),
      .inherited_fd = job.listen_fd,
      .input_fd = job.self.id == 0 ? STDIN_FILENO : empty_input,
      .signal_mask = signals_.mask_before(),
  };
  bool const is_prefixed =
      options_.lines == process_group_options::output::prefixed && job.pe_count > 1;
  if (is_prefixed) {
    auto const prefix = fmt::format("[node {}] ", job.self.id);
    auto const for_output = outputs_.front().add_writer(job.self.id, prefix);
    if (!for_output)
      return for_output.error();
    auto const for_errors = outputs_.back().add_writer(job.self.id, prefix);
    if (!for_errors)
      return for_errors.error();
    request.output_fd = *for_output;
    request.error_fd = *for_errors;
  }
  auto child = child_process::start(request);
  if (!child)
    return child.error();
  nodes_.push_back(*std::move(child));
  for (auto& one : outputs_)
    one.close_writers(job.self.id);
  return {};
}

void process_group::abandon() {
  nodes_.clear();
  orphanage_.close();
}

int process_group::join() {
  join_ended(); // one may have ended before its signal was input
  while (running_count() > 0) {
    wait_for_news();
    take_signals();
    take_lost_output();
    join_ended();
    keep_deadline();
  }
  orphanage_.close();
  hand_on_rest();
  return exit_status_.value_or(0);
}

/// Should somebody still hold a pipe open: we take what is there and do not wait for its end.
void process_group::hand_on_rest() {
  for (;;) {
    bool is_all = true;
    for (auto& one : outputs_)
      is_all = one.finish_all() && is_all;
    if (take_lost_output()) // has said so, which is to be handed on, too
      continue;
    // A slow reader is waited for, but one that does not read cannot keep us from ending.
    if (is_all || (is_asked_to_end_ && stage_ == stage::killed))
      return;
    wait_for_news();
    take_signals();
    keep_deadline();
  }
}

void process_group::wait_for_news() {
  std::vector<pollfd> inputs{{.fd = signals_.fd(), .events = POLLIN, .revents = 0}};
  for (auto const& one : outputs_)
    one.add_inputs(inputs);
  bool const has_deadline = stage_ == stage::asked_nicely_next || stage_ == stage::killed_next;
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - clock::now());
  int const timeout = has_deadline ? static_cast<int>(std::max<std::int64_t>(left.count(), 0)) : -1;
  if (::poll(inputs.data(), inputs.size(), timeout) <= 0)
    return;
  auto rest = std::span<pollfd const>(inputs).subspan(1);
  for (auto& one : outputs_)
    rest = one.take(rest);
}

void process_group::take_signals() {
  while (auto const info = signals_.try_next())
    if (info->ssi_signo != SIGCHLD)
      take_request(*info);
}

void process_group::take_request(signalfd_siginfo const& info) {
  int const signal = static_cast<int>(info.ssi_signo);
  // The terminal has sent it to every process of the group, the nodes among them.
  bool const is_from_terminal = info.ssi_code == SI_KERNEL;
  if (!is_from_terminal)
    send_all(signal);
  if (signal == SIGQUIT) // asks for a report, not for an end
    return;
  is_asked_to_end_ = true;
  if (stage_ == stage::killed_next) {
    kill_all(); // asked for the second time
    return;
  }
  begin_to_end(128 + signal, fmt::format("signal {} ({})", signal, ::strsignal(signal)));
}

/// True if that ends the job.
bool process_group::take_lost_output() {
  if (exit_status_) // it is about to end anyway
    return false;
  bool const has_no_reader = std::ranges::any_of(outputs_, &merged_output::has_lost_reader);
  std::error_code loss;
  for (auto const& one : outputs_)
    if (!loss)
      loss = one.loss();
  if (!has_no_reader && !loss)
    return false;
  send_all(SIGTERM);
  if (has_no_reader)
    begin_to_end(128 + SIGPIPE, "nobody reads the output any more");
  else
    begin_to_end(world_fault, "output of the nodes: cannot write: " + loss.message());
  return true;
}

void process_group::begin_to_end(int exit_status, std::string const& why) {
  is_asked_to_end_ = true;
  if (!exit_status_) {
    auto const rest = running_count() == 1
                          ? std::string("; stopping the node that runs")
                          : fmt::format("; stopping the {} nodes that run", running_count());
    say(running_count() > 0 ? why + rest : why);
    exit_status_ = exit_status;
  }
  for (auto& one : outputs_) // a node that wants to say something before it ends must not hang
    one.drop_excess();
  stage_ = stage::killed_next;
  deadline_ = clock::now() + options_.grace;
}

void process_group::join_ended() {
  // One that died of a signal before anybody was told to end is the cause: the others may have
  // ended because they lost it, and be seen to have ended before it, whose connections close first.
  std::optional<std::pair<std::size_t, child_end>> first;
  for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
    auto const end = nodes_[rank].try_join();
    if (!end)
      continue;
    if (!end->is_failure()) {
      ended_well_.insert(rank);
      continue;
    }
    if (!first || (first->second.signal == 0 && end->signal != 0))
      first = {rank, *end};
  }
  if (first && (!exit_status_ || (stage_ == stage::asked_nicely_next && first->second.signal != 0)))
    take_failure(first->first, first->second);
}

void process_group::take_failure(std::size_t rank, child_end const& end) {
  exit_status_ = end.shell_status();
  for (auto& one : outputs_)
    one.finish(rank); // its last words before ours
  auto line = fmt::format("node {} (pid {}) {}", rank, nodes_[rank].pid(), to_string(end));
  if (!ended_well_.empty()) // perhaps too early, and this one has missed it
    line += fmt::format("; {} {} had ended before, with exit status 0",
                        ended_well_.size() == 1 ? "node" : "nodes", fmt::join(ended_well_, ", "));
  if (running_count() > 0)
    line += end.signal != 0
                ? fmt::format("; stopping the other {}", running_count())
                : fmt::format("; the other {} {} {} ms to end", running_count(),
                              running_count() == 1 ? "has" : "have", options_.grace.count());
  say(line);
  if (end.signal != 0)
    return ask_nicely();
  stage_ = stage::asked_nicely_next;
  deadline_ = clock::now() + options_.grace;
}

void process_group::keep_deadline() {
  if (clock::now() < deadline_)
    return;
  if (stage_ == stage::asked_nicely_next)
    ask_nicely();
  else if (stage_ == stage::killed_next)
    kill_all();
}

void process_group::ask_nicely() {
  send_all(SIGTERM);
  stage_ = stage::killed_next;
  deadline_ = clock::now() + options_.grace;
}

void process_group::kill_all() {
  std::string left;
  for (std::size_t rank = 0; rank < nodes_.size(); ++rank)
    if (nodes_[rank].is_running())
      left += fmt::format("{}node {} (pid {})", left.empty() ? "" : ", ", rank, nodes_[rank].pid());
  if (!left.empty())
    say(fmt::format("{} did not end; killing {}", left, running_count() == 1 ? "it" : "them"));
  send_all(SIGKILL);
  stage_ = stage::killed;
}

void process_group::send_all(int signal) const {
  for (auto const& one : nodes_)
    one.send(signal);
}

std::size_t process_group::running_count() const {
  std::size_t count = 0;
  for (auto const& one : nodes_)
    count += one.is_running() ? 1 : 0;
  return count;
}

} // namespace

result<int> run_process_group(process_group_options const& options) {
  process_group group(options);
  if (auto const started = group.start(); !started) {
    group.abandon();
    return started.error();
  }
  return group.join();
}

} // namespace quarry::command
