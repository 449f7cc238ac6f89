// SPDX-License-Identifier: Apache-2.0
#include <quarry/sigquit.hpp>

#include <fmt/core.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <semaphore.h>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace quarry {
namespace {

// Process-wide as the signal is. Never destroyed: a handler may still be on its way.
std::atomic<bool> is_taken{false};
sem_t asked;

void ask(int) {
  int const saved = errno;
  sem_post(&asked);
  errno = saved;
}

} // namespace

struct sigquit_report::state {
  explicit state(std::function<std::string()> t) : text(std::move(t)) {}

  void print_when_asked() {
    for (;;) {
      while (sem_wait(&asked) != 0) { // interrupted
      }
      // Posts are handled before the stop, which is the last of them.
      int left = 0;
      sem_getvalue(&asked, &left);
      if (is_stopping.load(std::memory_order_acquire) && left == 0)
        return;
      fmt::print(stderr, "{}", text());
      std::fflush(stderr);
    }
  }

  std::function<std::string()> text;
  std::atomic<bool> is_stopping{false};
  struct sigaction before = {};
  std::thread printer;
};

sigquit_report::sigquit_report(std::vector<executor*> executors)
    : sigquit_report([all = std::move(executors)] {
        std::string text;
        for (executor* e : all)
          text += e->report_now().to_string();
        return text;
      }) {}

sigquit_report::sigquit_report(std::function<std::string()> text)
    : state_(std::make_unique<state>(std::move(text))) {
  if (is_taken.exchange(true))
    throw std::logic_error("sigquit_report: there is one already in this process");
  try {
    sem_init(&asked, 0, 0);
    state_->printer = std::thread([s = state_.get()] { s->print_when_asked(); });
  } catch (...) {
    is_taken = false;
    throw;
  }
  struct sigaction action = {};
  action.sa_handler = &ask;
  action.sa_flags = SA_RESTART;
  // Cannot fail for SIGQUIT and a good action.
  sigaction(SIGQUIT, &action, &state_->before);
}

sigquit_report::~sigquit_report() {
  sigaction(SIGQUIT, &state_->before, nullptr);
  state_->is_stopping.store(true, std::memory_order_release);
  sem_post(&asked);
  state_->printer.join();
  is_taken = false;
}

} // namespace quarry
