// SPDX-License-Identifier: Apache-2.0
#include "litmus_text.hpp"

using namespace litmus_text;

TEST_SUITE("apps.litmus_vulkan") {
  TEST_CASE("private and non-private accesses are plain; a visible load looks at its scope") {
    CHECK(vulkan_instruction("ld.sc0 r0, x") == "load r0, x");
    CHECK(vulkan_instruction("ld.nonpriv.sc1 r0, x") == "load r0, x");
    CHECK(vulkan_instruction("ld.vis.dv.sc0 r0, x") == "load r0, x relaxed agent");
    CHECK(vulkan_instruction("ld.vis.wg.sc0 r0, x") == "load r0, x relaxed work_group");
    CHECK(vulkan_instruction("st.sc3 x, r1") == "store x, r1");
    CHECK(vulkan_instruction("st.nonpriv.sc0 x, 1") == "store x, 1");
    CHECK(vulkan_instruction("st.av.dv.sc0 x, 1") == "store x, 1");
  }

  TEST_CASE("atomics have an order and a scope; what the order is for is left out") {
    CHECK(vulkan_instruction("ld.atom.wg.sc0 r0, x") == "load r0, x relaxed work_group");
    CHECK(vulkan_instruction("ld.atom.acq.dv.sc0.semsc0.semsc1.semvis r0, x") ==
          "load r0, x acquire agent");
    CHECK(vulkan_instruction("st.atom.qf.sc0 x, 1") == "store x, 1 relaxed agent");
    CHECK(vulkan_instruction("st.atom.rel.sg.sc0.semsc0.semav x, 1") ==
          "store x, 1 release work_group");
    CHECK(vulkan_instruction("rmw.atom.dv.sc0 r0, x, 2") ==
          "update r0, x, exchange 2 relaxed agent");
    CHECK(vulkan_instruction("rmw.atom.acq_rel.wg.sc0.semsc0.semav.semvis.add r0, x, 2") ==
          "update r0, x, fetch + 2 acq_rel work_group");
    CHECK(vulkan_instruction("rmw.atom.rel.wg.sc0.semsc0.or r0, x, r1") ==
          "update r0, x, fetch | r1 release work_group");
  }

  TEST_CASE("memory barriers are fences, control barriers have one if they have an order") {
    CHECK(vulkan_instruction("membar.acq.dv.semsc0.semvis") == "fence acquire agent");
    CHECK(vulkan_instruction("membar.rel.wg.semsc0.semsc1") == "fence release work_group");
    CHECK(vulkan_instruction("membar.acq_rel.qf.semsc0") == "fence acq_rel agent");
    CHECK(vulkan_instruction("cbar.wg 1") == "barrier 1");
    CHECK(vulkan_instruction("cbar.acq_rel.dv.semsc0 1") == "barrier 1 acq_rel agent");
    CHECK(vulkan_instruction("cbar.acq.wg.semsc0.semvis 1, 2, 3") ==
          "barrier 1 id 2 quorum 3 acquire work_group");
  }

  TEST_CASE("with several queue families each is an agent, and the device is the system") {
    auto const t = parsed("Vulkan t\n{x=0;}\n P0@sg 0, wg 0, qf 0 | P1@sg 0, wg 0, qf 1 ;\n"
                          " st.atom.dv.sc0 x, 1 | ld.atom.qf.sc0 r0, x ;\nexists (P1:r0 == 1)");
    CHECK(t.threads[0].where == placement{0, 0});
    CHECK(t.threads[1].where == placement{1, 0});
    CHECK(program(t, 0).at(0) == "store x, 1 relaxed system");
    CHECK(program(t, 1).at(0) == "load r0, x relaxed agent");
  }

  TEST_CASE("an alias is the location itself") {
    auto const t = parsed(vulkan("x=3; y aliases x;", "st.sc0 y, 1 ;"));
    CHECK(t.unsupported.empty());
    CHECK(t.locations[0].storage == t.locations[1].storage);
    CHECK(problem(vulkan("x=3; y aliases z;", "")) ==
          "t.litmus:3: location z is neither declared nor used");
  }

  TEST_CASE("a wrong instruction is named with its line and what could stand there") {
    auto const wrong = [](std::string const& row) {
      return problem(vulkan("x=0;", " " + row + " ;"));
    };
    CHECK(wrong("atom.add r0, x, 1") == "t.litmus:6: atom.add: there is no such instruction");
    CHECK(wrong("ld r0, x") ==
          "t.litmus:6: ld: the name ends, expected a storage class: sc0, sc1, sc2, sc3");
    CHECK(wrong("ld.atom.rel.dv.sc0.semsc0 r0, x") ==
          "t.litmus:6: ld.atom.rel.dv.sc0.semsc0: a load has no order but acq");
    CHECK(wrong("st.atom.acq_rel.dv.sc0.semsc0 x, 1") ==
          "t.litmus:6: st.atom.acq_rel.dv.sc0.semsc0: a store has no order but rel");
    CHECK(
        wrong("ld.atom.acq.dv.sc0 r0, x") ==
        "t.litmus:6: ld.atom.acq.dv.sc0: the name ends, expected storage class semantics: semsc0, "
        "semsc1, semsc2, semsc3");
    CHECK(wrong("ld.atom.sys.sc0 r0, x") ==
          "t.litmus:6: ld.atom.sys.sc0: read 'sys', expected a scope: sg, wg, qf, dv");
    CHECK(wrong("ld.atom.acq.dv.sc0.semsc0.semav r0, x") ==
          "t.litmus:6: ld.atom.acq.dv.sc0.semsc0.semav: read 'semav', expected nothing more");
    CHECK(wrong("membar.dv.semsc0") ==
          "t.litmus:6: membar.dv.semsc0: read 'dv', expected an order: acq, rel, acq_rel");
    CHECK(wrong("rmw.dv.sc0 r0, x, 1") == "t.litmus:6: rmw.dv.sc0: read 'dv', expected atom");
    CHECK(problem("Vulkan t\n{}\n P0@sg 0, wg 0 ;\n") ==
          "t.litmus:3: read ';', expected ',' and the queue family, such as qf 0");
  }
}
