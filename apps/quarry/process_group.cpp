// SPDX-License-Identifier: Apache-2.0
#include "process_group.hpp"

#include "child_process.hpp"
#include "line_relay.hpp"
#include "orphanage.hpp"
#include "owned_fd.hpp"
#include "signal_input.hpp"

#include <quarry/net/job.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <unistd.h>
#include <utility>

namespace quarry::command {
namespace {

using clock = std::chrono::steady_clock;

struct node {
  child_process process;
  std::vector<line_relay> output; // standard output and error, or nothing if they are ours
};

class process_group {
public:
  explicit process_group(process_group_options const& options) : options_(options) {}

  [[nodiscard]] result<void> start();
  [[nodiscard]] int join();

private:
  /// What happens at the deadline, if it comes to that.
  enum class stage { running, asked_nicely_next, killed_next, killed };

  [[nodiscard]] result<node> start_node(net::job const& job, int empty_input);
  void wait_for_news();
  void take_signals();
  void take_request(signalfd_siginfo const& info);
  void take_lost_readers();
  void begin_to_end(int signal, std::string const& why);
  void join_ended();
  void take_failure(std::size_t rank, child_end const& end);
  void keep_deadline();
  void ask_nicely();
  void kill_all();
  void send_all(int signal) const;
  [[nodiscard]] std::size_t running_count() const;
  void say(std::string const& line) const {
    std::fputs(fmt::format("{}: {}\n", options_.speaker, line).c_str(), stderr);
  }

  process_group_options const& options_;
  signal_input signals_;
  orphanage orphanage_;
  std::vector<node> nodes_;
  stage stage_ = stage::running;
  clock::time_point deadline_;
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
  for (auto const& job : *jobs) {
    auto started = start_node(job, empty_input.get());
    if (!started)
      return started.error();
    nodes_.push_back(*std::move(started));
  }
  return {};
}

result<node> process_group::start_node(net::job const& job, int empty_input) {
  bool const is_prefixed = options_.lines == process_group_options::output::prefixed;
  std::vector<line_relay> output;
  for (int target : {STDOUT_FILENO, STDERR_FILENO}) {
    if (!is_prefixed || job.pe_count == 1)
      break;
    auto relay = line_relay::to(target, fmt::format("[node {}] ", job.self.id));
    if (!relay)
      return relay.error();
    output.push_back(*std::move(relay));
  }
  auto child = child_process::start({
      .program = options_.program,
      .environment = net::environment_of(job),
      .inherited_fd = job.listen_fd,
      .input_fd = job.self.id == 0 ? STDIN_FILENO : empty_input,
      .output_fd = output.empty() ? STDOUT_FILENO : output[0].writer(),
      .error_fd = output.empty() ? STDERR_FILENO : output[1].writer(),
      .signal_mask = signals_.mask_before(),
  });
  if (!child)
    return child.error();
  for (auto& relay : output)
    relay.close_writer();
  return node{*std::move(child), std::move(output)};
}

int process_group::join() {
  join_ended(); // one may have ended before its signal was input
  while (running_count() > 0) {
    wait_for_news();
    take_signals();
    take_lost_readers();
    join_ended();
    keep_deadline();
  }
  orphanage_.close();
  // Should somebody still hold a pipe open: we take what is there and do not wait for its end.
  for (auto& one : nodes_)
    for (auto& relay : one.output)
      relay.finish();
  take_lost_readers();
  return exit_status_.value_or(0);
}

void process_group::wait_for_news() {
  std::vector<pollfd> inputs{{.fd = signals_.fd(), .events = POLLIN, .revents = 0}};
  for (auto& one : nodes_)
    for (auto& relay : one.output)
      inputs.push_back({.fd = relay.reader(), .events = POLLIN, .revents = 0});
  bool const has_deadline = stage_ == stage::asked_nicely_next || stage_ == stage::killed_next;
  auto const left = std::chrono::ceil<std::chrono::milliseconds>(deadline_ - clock::now());
  int const timeout = has_deadline ? static_cast<int>(std::max<std::int64_t>(left.count(), 0)) : -1;
  if (::poll(inputs.data(), inputs.size(), timeout) <= 0)
    return;
  std::size_t at = 1;
  for (auto& one : nodes_)
    for (auto& relay : one.output)
      if (inputs[at++].revents != 0)
        relay.pump();
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
  if (stage_ == stage::killed_next) {
    kill_all(); // asked for the second time
    return;
  }
  begin_to_end(signal, fmt::format("signal {} ({})", signal, ::strsignal(signal)));
}

void process_group::take_lost_readers() {
  bool is_lost = false;
  for (auto const& one : nodes_)
    for (auto const& relay : one.output)
      is_lost = is_lost || relay.has_lost_reader();
  if (!is_lost || exit_status_) // or the job is about to end anyway
    return;
  send_all(SIGTERM);
  begin_to_end(SIGPIPE, "nobody reads the output any more");
}

void process_group::begin_to_end(int signal, std::string const& why) {
  if (!exit_status_) {
    auto const rest = fmt::format("; stopping the {} nodes that run", running_count());
    say(running_count() > 0 ? why + rest : why);
    exit_status_ = 128 + signal;
  }
  stage_ = stage::killed_next;
  deadline_ = clock::now() + options_.grace;
}

void process_group::join_ended() {
  // One that died of a signal before anybody was told to end is the cause: the others may have
  // ended because they lost it, and be seen to have ended before it, whose connections close first.
  std::optional<std::pair<std::size_t, child_end>> first;
  for (std::size_t rank = 0; rank < nodes_.size(); ++rank) {
    auto const end = nodes_[rank].process.try_join();
    if (!end || !end->is_failure())
      continue;
    if (!first || (first->second.signal == 0 && end->signal != 0))
      first = {rank, *end};
  }
  if (first && (!exit_status_ || (stage_ == stage::asked_nicely_next && first->second.signal != 0)))
    take_failure(first->first, first->second);
}

void process_group::take_failure(std::size_t rank, child_end const& end) {
  exit_status_ = end.shell_status();
  for (auto& relay : nodes_[rank].output)
    relay.finish(); // its last words before ours
  auto line = fmt::format("node {} (pid {}) {}", rank, nodes_[rank].process.pid(), to_string(end));
  if (running_count() > 0)
    line += end.signal != 0 ? fmt::format("; stopping the other {}", running_count())
                            : fmt::format("; the other {} have {} ms to end", running_count(),
                                          options_.grace.count());
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
  if (running_count() > 0)
    say(fmt::format("{} nodes did not end; killing them", running_count()));
  send_all(SIGKILL);
  stage_ = stage::killed;
}

void process_group::send_all(int signal) const {
  for (auto const& one : nodes_)
    one.process.send(signal);
}

std::size_t process_group::running_count() const {
  std::size_t count = 0;
  for (auto const& one : nodes_)
    count += one.process.is_running() ? 1 : 0;
  return count;
}

} // namespace

result<int> run_process_group(process_group_options const& options) {
  process_group group(options);
  if (auto const started = group.start(); !started)
    return started.error();
  return group.join();
}

} // namespace quarry::command
