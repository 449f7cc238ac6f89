// SPDX-License-Identifier: Apache-2.0
#include "watch_thread.hpp"

#include "traced.hpp"

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <utility>
#include <vector>

namespace quarry {
namespace {

using duration = std::chrono::microseconds;

struct listed {
  watched_regularly* what;
  duration between;
  duration waited{}; ///< since somebody has looked
};

class looker {
public:
  /// Of the process, for good: explorations may outlive static objects.
  static looker& of_process() {
    static looker* const one = new looker;
    return *one;
  }

  void add(watched_regularly& what, duration between) {
    std::lock_guard const lock(mutex_);
    all_.push_back({&what, between});
    if (!thread_.joinable())
      start();
    else if (between < sleeps_for_)
      wake();
  }

  void remove(watched_regularly const& what) noexcept {
    std::lock_guard const lock(mutex_);
    std::erase_if(all_, [&what](listed const& l) { return l.what == &what; });
  }

private:
  looker() { pthread_atfork(&before_fork, &in_parent, &in_child); }

  static void before_fork() {
    looker& l = of_process();
    l.mutex_.lock();
    ++l.forks_; // nobody starts it meanwhile
    if (!l.thread_.joinable())
      return;
    std::thread ending = std::exchange(l.thread_, {});
    l.wake();
    l.mutex_.unlock();
    ending.join();
    l.mutex_.lock();
  }
  static void in_parent() {
    looker& l = of_process();
    --l.forks_;
    if (!l.all_.empty())
      l.start();
    l.mutex_.unlock();
  }
  /// What was listed is the parent's, or stands on stacks of threads that are not there.
  static void in_child() {
    looker& l = of_process();
    l.forks_ = 0;
    l.all_.clear();
    l.mutex_.unlock();
  }

  void start() noexcept {
    if (forks_ != 0)
      return;
    try {
      if (is_traced())
        return;
      sleeps_for_ = duration::max();
      thread_ = std::thread([this] { run(); });
    } catch (std::exception const&) { // no more threads, or no memory: nobody looks
    }
  }

  void wake() {
    is_woken_ = true;
    woken_.notify_one();
  }

  void run() {
    std::unique_lock lock(mutex_);
    auto const is_woken = [this] { return std::exchange(is_woken_, false); };
    while (forks_ == 0) {
      sleeps_for_ = duration::max();
      for (listed const& l : all_)
        sleeps_for_ = std::min(sleeps_for_, l.between);
      if (all_.empty())
        woken_.wait(lock, is_woken);
      else if (!woken_.wait_for(lock, sleeps_for_, is_woken))
        look(sleeps_for_);
    }
  }

  void look(duration waited) {
    for (listed& l : all_)
      if ((l.waited += waited) >= l.between) {
        l.waited = {};
        l.what->look();
      }
  }

  std::mutex mutex_; ///< guards what follows
  std::condition_variable woken_;
  std::vector<listed> all_;
  duration sleeps_for_{};
  bool is_woken_ = false;
  std::size_t forks_ = 0; ///< that are under way
  std::thread thread_;
};

} // namespace

void watch_thread::add(watched_regularly& what, duration between) {
  looker::of_process().add(what, between);
}

void watch_thread::remove(watched_regularly const& what) noexcept {
  looker::of_process().remove(what);
}

} // namespace quarry
