// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace quarry::command {

/// Plain threads that do the same thing at the same time: the caller of run() and some others,
/// which sleep in between. What a node without a GPU computes with.
class host_threads {
public:
  /// Shape    count >= 1
  /// Errors   std::system_error – so many cannot be started
  explicit host_threads(std::uint32_t count);
  host_threads(host_threads const&) = delete;
  host_threads& operator=(host_threads const&) = delete;
  ~host_threads();

  [[nodiscard]] std::uint32_t count() const noexcept { return count_; }

  /// Runs f(t) for all t < count() and waits for their end. From one thread.
  ///
  /// Errors   of an `f` that gives a result<void>, the first thread's; rethrows the first exception
  template<class F>
  auto run(F const& f) -> std::invoke_result_t<F const&, std::uint32_t> {
    if constexpr (std::is_void_v<std::invoke_result_t<F const&, std::uint32_t>>) {
      static_cast<void>(run_all([&](std::uint32_t t) {
        f(t);
        return result<void>{};
      }));
    } else {
      return run_all(f);
    }
  }

private:
  using job = std::function<result<void>(std::uint32_t)>;
  result<void> run_all(job const& f);
  void serve(std::uint32_t number);
  void stop();
  void call(std::uint32_t number);

  std::uint32_t const count_;
  std::mutex mutex_; ///< guards what follows
  std::condition_variable has_begun_, has_ended_;
  job const* now_ = nullptr;
  std::uint64_t round_ = 0;
  std::uint32_t busy_ = 0;
  bool stops_ = false;
  std::vector<result<void>> outcomes_;         ///< each its thread's own, while it is busy
  std::vector<std::exception_ptr> exceptions_; ///< the same
  std::vector<std::thread> others_;
};

} // namespace quarry::command
