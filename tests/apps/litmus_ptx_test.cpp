// SPDX-License-Identifier: Apache-2.0
#include "litmus_text.hpp"

using namespace litmus_text;

TEST_SUITE("apps.litmus_ptx") {
  TEST_CASE("loads and stores are plain when weak, else have an order at a scope") {
    CHECK(ptx_instruction("ld.weak r0, x") == "load r0, x");
    CHECK(ptx_instruction("ld.relaxed.cta r0, x") == "load r0, x relaxed work_group");
    CHECK(ptx_instruction("ld.acquire.gpu r0, y") == "load r0, y acquire agent");
    CHECK(ptx_instruction("ld.acquire.sys r0, y") == "load r0, y acquire system");
    CHECK(ptx_instruction("st.weak x, r1") == "store x, r1");
    CHECK(ptx_instruction("st.relaxed.gpu x, -5") == "store x, -5 relaxed agent");
    CHECK(ptx_instruction("st.release.cta x, 1") == "store x, 1 release work_group");
    CHECK(ptx_instruction("ld r0, 3") == "r0 = 3 + 0");
    CHECK(ptx_instruction("ld r0, r1") == "r0 = r1 + 0");
  }

  TEST_CASE("read-modify-writes have an operation, an order and a scope") {
    CHECK(ptx_instruction("atom.acq_rel.gpu.add r0, x, 1") ==
          "update r0, x, fetch + 1 acq_rel agent");
    CHECK(ptx_instruction("atom.relaxed.cta.xor r0, x, r1") ==
          "update r0, x, fetch ^ r1 relaxed work_group");
    CHECK(ptx_instruction("atom.acquire.sys.exch r0, x, 2") ==
          "update r0, x, exchange 2 acquire system");
    CHECK(ptx_instruction("atom.release.gpu.cas r0, x, 1, r1") ==
          "update r0, x, compare 1 exchange r1 release agent");
    CHECK(ptx_instruction("red.acq_rel.sys.sub x, 1") == "update x, fetch - 1 acq_rel system");
  }

  TEST_CASE("fences, under their old name too") {
    CHECK(ptx_instruction("fence.sc.gpu") == "fence seq_cst agent");
    CHECK(ptx_instruction("fence.acq_rel.cta") == "fence acq_rel work_group");
    CHECK(ptx_instruction("membar.gl") == "fence seq_cst agent");
    CHECK(ptx_instruction("membar.sys") == "fence seq_cst system");
  }

  TEST_CASE("barriers have a number, an id, a quorum") {
    CHECK(ptx_instruction("bar.cta.sync 1") == "barrier 1 acq_rel work_group");
    CHECK(ptx_instruction("bar.cta.sync 1, r0") == "barrier 1 id r0 acq_rel work_group");
    CHECK(ptx_instruction("bar.cta.sync 1, 2, 3") == "barrier 1 id 2 quorum 3 acq_rel work_group");
    CHECK(ptx_instruction("bar.cta.arrive 00") == "arrival 0 release work_group");
    auto const two =
        parsed(ptx("x=0;", "bar.cta.sync 0 ;\n bar.cta.sync 1 ;\n bar.cta.sync 0x0 ;"));
    CHECK(two.barriers == std::vector<std::string>{"0", "1"});
  }

  TEST_CASE("a generic alias is the location itself, and its fence is nothing") {
    auto const t = parsed(ptx("x=3; y @ generic aliases x;",
                              "st.weak y, 1 ;\n fence.proxy.alias ;\n ld.weak r0, x ;"));
    CHECK(t.unsupported.empty());
    CHECK(t.initial == std::vector<value>{3});
    CHECK(t.locations[0].storage == t.locations[1].storage);
    CHECK(program(t) == std::vector<std::string>{"store y, 1", "load r0, x"});
  }

  TEST_CASE("vectors, several registers at once, are not supported, wherever their width stands") {
    for (std::string const row :
         {"ld.v2.weak {r0, r1}, x", "ld.weak.v4.u32 {r0, r1, r2, r3}, [x]", "st.v2.weak x, {1, 2}",
          "ld.relaxed.gpu.v2 {r0, r1}, x", "red.relaxed.gpu.add.v2 x, {1, 2}"}) {
      CAPTURE(row);
      auto const t = parsed("PTX t\n{x=0;}\n P0@cta 0,gpu 0 ;\n " + row +
                            " ;\nexists (P0:r0 == 1 /\\ P0:r1 == 0)\n");
      CHECK(t.unsupported == std::vector<std::string>{"line 4: " + row.substr(0, row.find(' '))});
    }
  }

  TEST_CASE("proxies, and addresses in registers, are not supported") {
    for (std::string const row : {"fence.proxy.texture", "fence.proxy.async.global"}) {
      CAPTURE(row);
      CHECK(parsed(ptx("x=0;", row + " ;")).unsupported == std::vector{"line 6: " + row});
    }
    auto const t = parsed("PTX t\n{x=0; P0:r0=x;}\n P0@cta 0,gpu 0 ;\n ld.weak r1, r0 ;\n"
                          " st.weak r0, 1 ;\nexists (P0:r1 == 1)\n");
    CHECK(t.unsupported == std::vector<std::string>{"line 2: the address of a location in r0",
                                                    "line 4: the address in register r0",
                                                    "line 5: the address in register r0"});
  }

  TEST_CASE("a wrong instruction is named with its line and what could stand there") {
    auto const wrong = [](std::string const& row) {
      return problem(ptx("x=0;", " " + row + " ;"));
    };
    CHECK(wrong("load r0, x") == "t.litmus:6: load: there is no such instruction");
    CHECK(wrong("ld.release.gpu r0, x") == "t.litmus:6: ld.release.gpu: read 'release', expected "
                                           "an order: weak, relaxed, acquire");
    CHECK(wrong("st.acquire.gpu x, 1") == "t.litmus:6: st.acquire.gpu: read 'acquire', expected an "
                                          "order: weak, relaxed, release");
    CHECK(wrong("ld.acquire r0, x") ==
          "t.litmus:6: ld.acquire: the name ends, expected a scope: cta, gpu, sys");
    CHECK(wrong("ld.weak.gpu r0, x") ==
          "t.litmus:6: ld.weak.gpu: read 'gpu', expected nothing more");
    CHECK(wrong("atom.acq_rel.gpu.inc r0, x, 1") ==
          "t.litmus:6: atom.acq_rel.gpu.inc: read 'inc', expected cas, exch or an operation: add, "
          "sub, mul, div, and, or, xor");
    CHECK(wrong("atom.sc.gpu.add r0, x, 1") ==
          "t.litmus:6: atom.sc.gpu.add: read 'sc', expected an order: relaxed, acquire, release, "
          "acq_rel");
    CHECK(wrong("fence.acquire.gpu") ==
          "t.litmus:6: fence.acquire.gpu: read 'acquire', expected an order: acq_rel, sc");
    CHECK(wrong("bar.sync 1") == "t.litmus:6: bar.sync: read 'sync', expected cta");
    CHECK(wrong("bar.cta.sync r0") == "t.litmus:6: read 'r0', expected the barrier's number, a "
                                      "whole number of 64 bits");
    CHECK(wrong("ld.weak x, x") == "t.litmus:6: read 'x', expected a register, such as r0");
    CHECK(wrong("ld.weak r0, 1") == "t.litmus:6: read '1', expected the name of a location");
    CHECK(wrong("bar.cta.sync 0, 1, 0") == "t.litmus:6: read 0, expected a quorum of at least 1");
    CHECK(wrong("fence.proxy.paper") ==
          "t.litmus:6: fence.proxy.paper: read 'paper', expected a proxy: alias, constant, "
          "texture, surface, async, tensormap");
    CHECK(wrong("lod.v2 r0, x") == "t.litmus:6: lod.v2: there is no such instruction");
    for (std::string const number : {"-1", "4294967296"}) {
      CAPTURE(number);
      CHECK(problem("PTX t\n{}\n P0@cta " + number + ", gpu 0 ;\n") ==
            "t.litmus:3: read " + number + ", expected the number of the cta, 0 to 4294967295");
      CHECK(problem("Vulkan t\n{}\n P0@sg 0, wg 0, qf " + number + " ;\n") ==
            "t.litmus:3: read " + number +
                ", expected the number of the queue family, 0 to 4294967295");
    }
    CHECK(problem("PTX t\n{}\n P0@gpu 0, cta 0 ;\n") ==
          "t.litmus:3: read 'gpu', expected 'cta' and its number, such as cta 0");
    CHECK(problem("PTX t\n{x=0; t @ paper aliases x;}\n P0@cta 0, gpu 0 ;\nexists (x == 0)") ==
          "t.litmus:2: read 'paper', expected a proxy: generic, constant, texture, surface");
  }
}
