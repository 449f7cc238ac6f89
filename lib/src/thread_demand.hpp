// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/native_scheduler.hpp>

#include <oneapi/tbb/global_control.h>

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace quarry {

/// How many threads a native scheduler wants, while it lives. oneTBB has as many for the whole
/// process as it may use cores, and a scheduler that polls keeps those it has: another one
/// would get none. So all of them together are asked for.
class thread_demand {
public:
  explicit thread_demand(std::size_t threads) : threads_(threads) { change(threads_, 0); }
  thread_demand(thread_demand const&) = delete;
  thread_demand& operator=(thread_demand const&) = delete;
  ~thread_demand() { change(0, threads_); }

private:
  static void change(std::size_t more, std::size_t fewer) {
    using limit = oneapi::tbb::global_control;
    struct all {
      std::mutex mutex;
      std::size_t threads = 0;
      std::unique_ptr<limit> raised;
    };
    static auto& of_all = *new all; // schedulers may go after statics
    std::lock_guard const lock(of_all.mutex);
    of_all.threads += more;
    of_all.threads -= fewer;
    std::unique_ptr<limit> raised;
    if (of_all.threads > usable_threads())
      raised = std::make_unique<limit>(limit::max_allowed_parallelism, of_all.threads);
    std::swap(of_all.raised,
              raised); // the smallest counts: the new one is there before the old goes
  }

  std::size_t threads_;
};

} // namespace quarry
