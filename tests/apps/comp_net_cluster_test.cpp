// SPDX-License-Identifier: Apache-2.0
// What a ComP-Net program's options come to on its nodes.
#include <quarry/emu/command_processor.hpp>

#include <CLI/CLI.hpp>
#include <doctest/doctest.h>

#include <programs/comp_net_cluster.hpp>
#include <string>

using namespace quarry;
using namespace quarry::command;

namespace {

/// Reads a line as every ComP-Net program does.
comp_net_settings settings_of(std::string const& line) {
  CLI::App app;
  comp_net_settings s;
  add_comp_net_options(app, s);
  app.parse(line);
  command::check(app, s);
  return s;
}

} // namespace

TEST_SUITE("apps.comp_net_cluster") {
  TEST_CASE("options say what service, rings and command processor are like") {
    auto const s = settings_of("--configuration apu --work-groups 5 --service-threads 2 "
                               "--polling-rounds 9 --ring-entries 16 --command-processor-cores 3 "
                               "--command-processor-rounds 7");
    auto const o = node_options({}, s, 1000);
    CHECK(o.configuration == "apu");
    CHECK(o.rings == 5);
    CHECK(o.service_threads == 2);
    CHECK(o.polling_rounds == 9);
    CHECK(o.ring_entries == 16);
    CHECK(o.shmem.heap_bytes >= 1000);
    emu::machine const m = machine_of({}, s);
    CHECK(m.command_processor_cores == 3);
    CHECK(m.command_processor_rounds == 7);
  }

  TEST_CASE("work-groups that all wait for each other must fit the machine") {
    run_options o;
    o.compute_unit_count = 2;
    auto const try_groups = [&](std::string const& line) {
      check_groups(o, settings_of(line), 256);
    };
    std::string const most = "--work-groups 20", more = "--work-groups 21"; // of 40 slots each
    CHECK_NOTHROW(try_groups(most));
    CHECK_THROWS_WITH_AS(try_groups(more),
                         "--work-groups: 21 of 256 work-items, which all wait for each other; 2 "
                         "compute units (--compute-units) have room for 10 each",
                         CLI::ValidationError);
    for (auto const* const waits_not : {&net::comp_net::cpu, &net::comp_net::inter_kernel}) {
      comp_net_settings s = settings_of(more);
      s.configuration = waits_not;
      CHECK_NOTHROW(check_groups(o, s, 256));
    }
    o.wavefront_size = 32;
    CHECK_THROWS_AS(try_groups(most), CLI::ValidationError);
    o.compute_unit_count = 4;
    CHECK_NOTHROW(try_groups(most));
  }

  TEST_CASE("nodes have them") {
    auto const s = settings_of("--work-groups 5 --ring-entries 16 --command-processor-cores 3");
    auto const ran = run_comp_net_nodes({}, s, 64, [&](comp_net_node& n) -> result<void> {
      CHECK(n.net.device().queues().ring_count() == 5);
      CHECK(n.net.device().queues().entry_count() == 16);
      CHECK(n.gpu.core().processor().core_count() == 3);
      return {};
    });
    CHECK_MESSAGE(ran, (ran ? "" : ran.error().what));
  }

  TEST_CASE("without options they are those of the paper and of the machine") {
    auto const o = node_options({}, settings_of(""), 0);
    net::comp_net::node::options const usual;
    CHECK(o.polling_rounds == usual.polling_rounds);
    CHECK(o.ring_entries == usual.ring_entries);
    CHECK(o.service_threads == usual.service_threads);
    emu::machine const m = machine_of({}, settings_of(""));
    CHECK(m.command_processor_cores == emu::machine{}.command_processor_cores);
    CHECK(m.command_processor_rounds == emu::machine{}.command_processor_rounds);
  }
}
