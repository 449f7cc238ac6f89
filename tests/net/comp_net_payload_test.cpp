// SPDX-License-Identifier: Apache-2.0
// What travels in a ring's entry, and what the entry points to: who may overwrite a source when.
#include "comp_net_explored_nodes.hpp"
#include "comp_net_job.hpp"

#include <quarry/emu/explore.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

using namespace comp_net_test;
using comp_net::context;
using comp_net::device;

namespace {

enum class asks : std::uint8_t { put_nbi, put_signal_nbi, put };

/// Puts `count` bytes, time after time, each time from the same source, which is overwritten at
/// once: each time's bytes go to a place of their own.
struct put_and_overwrite {
  task<> operator()(any_wavefront auto& wf, global<std::byte> to, global<std::byte> own,
                    std::size_t count, std::uint32_t times, asks how, device& net) const {
    auto made = context::init(wf, net);
    context ctx = co_await std::move(made);
    pe const other{net.pe_count() - 1 - net.self().id};
    global<std::uint64_t> const signal(reinterpret_cast<std::uint64_t*>(to.get()));
    for (std::uint32_t time = 1; time <= times; ++time) {
      auto const there = to + 16 * time;
      for (std::size_t i = 0; i < count; ++i)
        wf.store(own + i, static_cast<std::byte>(time + i));
      if (how == asks::put_nbi) {
        auto put = ctx.put_nbi(wf, there, own, count, other);
        co_await std::move(put);
      } else if (how == asks::put) {
        auto put = ctx.put(wf, there, own, count, other);
        co_await std::move(put);
      } else {
        auto put =
            ctx.put_signal_nbi(wf, there, own, count, signal, 1, shmem::signal_op::add, other);
        co_await std::move(put);
      }
      for (std::size_t i = 0; i < count; ++i)
        wf.store(own + i, std::byte{0xff});
    }
    auto met = ctx.barrier_all(wf);
    co_await std::move(met);
    auto end = ctx.destroy(wf);
    co_await std::move(end);
  }
};

/// Two nodes, which put to each other.
verdict explored(std::string_view configuration, std::size_t bytes, asks how) {
  constexpr std::uint32_t times = 2;
  comp_net_test::explored_shape const shape{
      .configuration = configuration, .rings = 1, .ring_entries = 4};
  return comp_net_test::explore_nodes(shape, [&](comp_net_test::small_node& n) {
    global<std::byte> const to(reinterpret_cast<std::byte*>(n.words.data()));
    auto own = n.gpu.allocate<std::byte>(16, "own");
    static_cast<void>(n.gpu.run(
        {.work_items = 32, .work_items_per_group = 32, .lds_bytes = context::lds_bytes},
        put_and_overwrite{}, to, own.global(), bytes, times, how, std::ref(n.net.device())));
    for (std::uint32_t time = 1; time <= times; ++time)
      for (std::size_t i = 0; i < bytes; ++i)
        n.w.check(n.self.load(to + 16 * time + i) == static_cast<std::byte>(time + i),
                  "it was overwritten before it was put");
  });
}

} // namespace

TEST_SUITE("net.comp_net_payload") {
  TEST_CASE("natively, up to 8 bytes have left their source when they have been asked for") {
    for (auto const name :
         {comp_net::on_command_processor.name, comp_net::apu.name, comp_net::dgpu.name})
      for (asks const how : {asks::put_nbi, asks::put_signal_nbi})
        for (std::size_t const bytes : {1U, 3U, 4U, 7U, 8U}) {
          CAPTURE(bytes);
          job_shape const s{.configuration = name, .nodes = 2, .threads = 2};
          run_job(s, [&](test_node& n) {
            constexpr std::uint32_t times = 200;
            global<std::byte> const to(reinterpret_cast<std::byte*>(n.words.data()));
            auto own = n.gpu.allocate<std::byte>(16, "own");
            succeed(n.gpu.run(one_wavefront_each(1), put_and_overwrite{}, to, own.global(), bytes,
                              times, how, std::ref(n.net.device())));
            std::uint32_t wrong = 0;
            for (std::uint32_t time = 1; time <= times; ++time)
              for (std::size_t i = 0; i < bytes; ++i)
                wrong += to.get()[16 * time + i] != static_cast<std::byte>(time + i) ? 1 : 0;
            CHECK(wrong == 0);
          });
        }
  }

  TEST_CASE("explored: so they have, and longer ones once the put is over") {
    for (auto const name :
         {comp_net::on_command_processor.name, comp_net::apu.name, comp_net::dgpu.name}) {
      CAPTURE(name);
      for (asks const how : {asks::put_nbi, asks::put_signal_nbi})
        for (std::size_t const bytes : {5U, 8U}) {
          CAPTURE(bytes);
          verdict const v = explored(name, bytes, how);
          CHECK_MESSAGE(v, v.to_string());
          CHECK(v.inconclusive == 0);
        }
      verdict const v = explored(name, 9, asks::put);
      CHECK_MESSAGE(v, v.to_string());
    }
  }

  TEST_CASE(
      "explored: who overwrites the source of 9 bytes before quiet() races with the service") {
    for (auto const name : {comp_net::on_command_processor.name, comp_net::dgpu.name})
      for (asks const how : {asks::put_nbi, asks::put_signal_nbi}) {
        CAPTURE(name);
        verdict const v = explored(name, 9, how);
        REQUIRE(v.failure);
        INFO(v.failure->report);
        CHECK(v.failure->kind == "race");
        bool const is_one = v.failure->report.find("bytes at own #1[") != std::string::npos;
        CHECK(is_one != (v.failure->report.find("bytes at own #2[") != std::string::npos));
      }
  }
}
