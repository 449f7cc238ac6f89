// SPDX-License-Identifier: Apache-2.0
#include <quarry/frame_pool.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

using quarry::allocate_frame;
using quarry::free_frame;

TEST_SUITE("lib.frame_pool") {
  TEST_CASE("frames of every size are aligned, apart, and keep what is written") {
    std::vector<std::pair<unsigned char*, std::size_t>> frames;
    for (std::size_t bytes = 1; bytes < 6000; bytes += 37) {
      auto* const f = static_cast<unsigned char*>(allocate_frame(bytes));
      CHECK(reinterpret_cast<std::uintptr_t>(f) % 64 == 0);
      std::memset(f, static_cast<int>(bytes % 251), bytes);
      frames.emplace_back(f, bytes);
    }
    for (auto [f, bytes] : frames) {
      bool same = true;
      for (std::size_t i = 0; i < bytes; ++i)
        same = same && f[i] == bytes % 251;
      CHECK(same);
      free_frame(f, bytes);
    }
  }

  TEST_CASE("a million frames alive at once are a million different ones") {
    std::vector<void*> frames(1'000'000);
    for (void*& f : frames)
      f = allocate_frame(100);
    CHECK(std::set<void*>(frames.begin(), frames.end()).size() == frames.size());
    for (void* f : frames)
      free_frame(f, 100);
    // And again from the lists, twice as many as fit into a batch at a time.
    for (int round = 0; round < 1000; ++round) {
      for (std::size_t i = 0; i < 1100; ++i)
        frames[i] = allocate_frame(100);
      for (std::size_t i = 0; i < 1100; ++i)
        free_frame(frames[i], 100);
    }
  }

  TEST_CASE("frames wander between threads, and are freed by threads that end") {
    constexpr std::size_t count = 5000;
    std::vector<void*> frames(count);
    for (int round = 0; round < 20; ++round) {
      std::thread([&] {
        for (void*& f : frames) {
          f = allocate_frame(300);
          std::memset(f, round, 300);
        }
      }).join();
      CHECK(std::set<void*>(frames.begin(), frames.end()).size() == count);
      std::thread([&] {
        for (void* f : frames)
          free_frame(f, 300);
      }).join();
    }
  }
}
