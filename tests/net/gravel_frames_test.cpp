// SPDX-License-Identifier: Apache-2.0
// What a peer may send that is no frame of Gravel's.
#include "gravel_job.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

using namespace gravel_test;

TEST_SUITE("net.gravel_frames") {
  TEST_CASE("a frame that is none ends the job with bad_frame, and touches nothing") {
    std::mt19937_64 random(7);
    for (int round = 0; round < 200; ++round) {
      auto ends = make_in_process(2);
      auto out = make_outcome(1);
      native_scheduler scheduler({.threads = 1});
      unchecked_agent gpu(scheduler);
      gravel_node net(gpu.core(), std::move(ends[0]), out.heaps[0],
                      {.timeout = std::chrono::milliseconds(50)});
      std::vector<std::uint32_t> frame(1 + random() % 12);
      std::generate(frame.begin(), frame.end(),
                    [&] { return static_cast<std::uint32_t>(random() % 6); });
      frame[0] = random() % 2 == 0 ? 1 : static_cast<std::uint32_t>(random() % 8 + 6);
      if (frame[0] == 1 && frame.size() > 2)
        frame[2] = 1000; // a run longer than its frame
      auto const bytes = std::as_bytes(std::span(frame));
      REQUIRE(ends[1]->try_send(pe{0}, bytes, {}).has_value());
      auto const q = net.all_sum(1);
      bool const is_empty_frame = frame[0] == 1 && frame.size() == 1;
      REQUIRE(q.has_error());
      CHECK(q.error().code == (is_empty_frame ? net_errc::timeout : net_errc::bad_frame));
      CHECK(std::all_of(out.heaps[0].begin(), out.heaps[0].end(), [](auto w) { return w == 0; }));
    }
  }
}
