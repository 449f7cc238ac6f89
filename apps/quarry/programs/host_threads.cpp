// SPDX-License-Identifier: Apache-2.0
#include "host_threads.hpp"

#include <utility>

namespace quarry::command {

host_threads::host_threads(std::uint32_t count)
    : count_(count), outcomes_(count), exceptions_(count) {
  try {
    for (std::uint32_t t = 1; t < count; ++t)
      others_.emplace_back([this, t] { serve(t); });
  } catch (...) {
    stop();
    throw;
  }
}

host_threads::~host_threads() {
  stop();
}

void host_threads::stop() {
  {
    std::lock_guard const lock(mutex_);
    stops_ = true;
  }
  has_begun_.notify_all();
  for (std::thread& t : others_)
    t.join();
}

result<void> host_threads::run_all(job const& f) {
  {
    std::lock_guard const lock(mutex_);
    now_ = &f;
    busy_ = count_ - 1;
    ++round_;
  }
  has_begun_.notify_all();
  call(0);
  std::unique_lock lock(mutex_);
  has_ended_.wait(lock, [this] { return busy_ == 0; });
  for (std::exception_ptr& e : exceptions_)
    if (e)
      std::rethrow_exception(std::exchange(e, nullptr));
  for (result<void> const& r : outcomes_)
    if (!r)
      return r;
  return {};
}

void host_threads::call(std::uint32_t number) {
  try {
    outcomes_[number] = (*now_)(number);
  } catch (...) {
    exceptions_[number] = std::current_exception();
  }
}

void host_threads::serve(std::uint32_t number) {
  std::uint64_t seen = 0;
  for (std::unique_lock lock(mutex_);;) {
    has_begun_.wait(lock, [&] { return stops_ || round_ != seen; });
    if (stops_)
      return;
    seen = round_;
    lock.unlock();
    call(number);
    lock.lock();
    if (--busy_ == 0)
      has_ended_.notify_one();
  }
}

} // namespace quarry::command
