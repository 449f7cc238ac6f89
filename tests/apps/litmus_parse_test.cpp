// SPDX-License-Identifier: Apache-2.0
// What PTX and Vulkan tests have in common.
#include "graph_files.hpp"
#include "litmus_text.hpp"

#include <random>

using namespace litmus_text;
using lines = std::vector<std::string>;

TEST_SUITE("apps.litmus_parse") {
  TEST_CASE("a test is read with its names, places, programs and observed variables") {
    auto const t = parsed("PTX MP-3 \n\"words, {braces} and\n more words\"\n(* and a comment *)\n"
                          "{\nx=7; y = -1;\nP1:r1=0x10;\nP0:r0=2\n}\n"
                          " P0@cta 0,gpu 0 | P1@cta 3, gpu 1 ;\n"
                          " st.weak x, r0  | ld.weak r2, y   ;\n"
                          "                | LC00:           ;\n"
                          " st.weak y, 1   | bne r2, 0, LC00 ;\n"
                          "locations [x;P0:r0;]\n"
                          "~exists (P1:r2 == 1 /\\ x=0)\n");
    CHECK(t.name == "MP-3");
    CHECK(t.file == "t.litmus");
    REQUIRE(t.locations.size() == 2);
    CHECK(t.initial == std::vector<value>{7, -1});
    REQUIRE(t.threads.size() == 2);
    CHECK(t.threads[0].where == placement{0, 0});
    CHECK(t.threads[1].where == placement{1, 3});
    CHECK(program(t, 0) == lines{"store x, r0", "store y, 1"});
    CHECK(program(t, 1) == lines{"load r2, y", "if r2 != 0 to 1"});
    CHECK(t.threads[0].initial == std::vector<value>{2});
    CHECK(t.threads[1].registers == lines{"r1", "r2"});
    CHECK(t.threads[1].initial == std::vector<value>{16, 0});
    lines observed;
    for (auto const& v : t.observed)
      observed.push_back(name_of(t, v));
    CHECK(observed == lines{"x", "P0:r0", "P1:r2"});
    CHECK(t.final.how == quantifier::not_exists);
    CHECK(t.unsupported.empty());
  }

  TEST_CASE(
      "line ends of DOS, declarations without a last semicolon, and no declarations are read") {
    CHECK(parsed("PTX t\r\n{\r\nx=0;P0:r0=0}\r\n P0@cta 0,gpu 0 ;\r\n ld.weak r0, x ;\r\n"
                 "exists (0:r0 = 0)\r\n")
              .name == "t");
    CHECK(parsed("PTX\n{}\n P0@cta 0,gpu 0;\n ld r0, 1 ;\nexists (P0:r0 == 1);").name == "");
  }

  TEST_CASE("a location or register that is used, but not declared, begins with 0") {
    auto const t = parsed(ptx("x=1;", " st.weak z, 1 ;\n ld.weak r3, z ;"));
    CHECK(program(t) == lines{"store z, 1", "load r3, z"});
    CHECK(t.initial == std::vector<value>{1, 0});
    CHECK(t.threads[0].initial == std::vector<value>{0});
  }

  TEST_CASE("arithmetic, branches and jumps are the same in both languages") {
    auto const rows = " LC01: ;\n add r0, r1, 2 ;\n sub r0, 2, r1 ;\n mul r0, r0, r0 ;\n"
                      " div r0, r0, 2 ;\n and r0, r0, 1 ;\n or r0, r0, 1 ;\n xor r0, r0, 1 ;\n"
                      " beq r0, 1, LC01 ;\n bne r0, 1, LC02 ;\n blt r0, 1, LC01 ;\n"
                      " ble r0, 1, LC01 ;\n bgt r0, 1, LC01 ;\n bge -1, r1, LC01 ;\n goto LC02 ;\n"
                      " LC02: ;\n";
    lines const expected{"r0 = r1 + 2",      "r0 = 2 - r1",    "r0 = r0 * r0",    "r0 = r0 / 2",
                         "r0 = r0 & 1",      "r0 = r0 | 1",    "r0 = r0 ^ 1",     "if r0 == 1 to 0",
                         "if r0 != 1 to 14", "if r0 < 1 to 0", "if r0 <= 1 to 0", "if r0 > 1 to 0",
                         "if -1 >= r1 to 0", "if 0 == 0 to 14"};
    CHECK(program(parsed(ptx("x=0;", rows))) == expected);
    CHECK(program(parsed(vulkan("x=0;", rows))) == expected);
  }

  TEST_CASE("what is wrong before the program is named with its line") {
    CHECK(problem("") == "t.litmus:1: the file ends, expected PTX or VULKAN");
    CHECK(problem("C t\n{}\n") == "t.litmus:1: read 'C', expected PTX or VULKAN");
    CHECK(problem("PTX t\n\"never ends\n{}\n") ==
          "t.litmus:2: the quotation that begins here is never closed");
    CHECK(problem("PTX t\n(* never ends\n{}\n") ==
          "t.litmus:2: the comment that begins here is never closed");
    CHECK(problem("PTX t\nwords\n") ==
          "t.litmus:3: the file ends, expected '{' and the initial values");
    CHECK(problem("PTX t\n{\nx 0;\n}") ==
          "t.litmus:3: read '0', expected '=' and an initial value");
    CHECK(problem("PTX t\n{\nx=1a;\n}") ==
          "t.litmus:3: read '1a', expected the initial value, a whole number of 64 bits");
    CHECK(problem("PTX t\n{\nx=18446744073709551616;\n}") ==
          "t.litmus:3: read '18446744073709551616', expected the initial value, a whole number of "
          "64 bits");
    for (char const* const low : {"9223372036854775809", "0x8000000000000001"})
      CHECK(problem("PTX t\n{\nx=-" + std::string(low) + ";\n}") ==
            "t.litmus:3: read '" + std::string(low) +
                "', expected the initial value, a whole number of 64 bits");
    CHECK(problem("PTX t\n{\nx=0 y=0;\n}") ==
          "t.litmus:3: read 'y', expected ';' or '}' after a declaration");
    CHECK(problem("PTX t\n{\nx=0;\nx=1;\n}") == "t.litmus:4: location x is declared twice");
    CHECK(problem("PTX t\n{x=0;} } ;\n P0@cta 0,gpu 0 ;\n") ==
          "t.litmus:2: read '}', expected a thread, such as P0");
    CHECK(problem("PTX t\n{\nr0=0;\n}") ==
          "t.litmus:3: read 'r0', expected P0:r0 for a register; a location has another name than "
          "r0, r1 …");
    CHECK(problem("PTX t\n{\nP0:x=0;\n}") ==
          "t.litmus:3: read 'x', expected a register, such as r0");
    CHECK(problem("PTX t\n{\nP1:r0=0;\n}\n P0@cta 0,gpu 0 ;\n") ==
          "t.litmus:3: there is no thread P1 for register r0");
    CHECK(problem("PTX t\n{\nP0:r0=0; P0:r0=1;\n}\n P0@cta 0,gpu 0 ;\n") ==
          "t.litmus:3: register r0 of P0 is declared twice");
    CHECK(problem("PTX t\n{}\n Q0@cta 0,gpu 0 ;\n") ==
          "t.litmus:3: read 'Q0', expected a thread, such as P0");
    CHECK(problem("PTX t\n{}\n P0@cta 0,gpu 0 | P0@cta 0,gpu 0 ;\n") ==
          "t.litmus:3: thread P0 is there twice");
  }

  TEST_CASE("what is wrong in the program is named with its line") {
    CHECK(problem(ptx("x=0;", " st.weak x 1 ;")) ==
          "t.litmus:6: read '1', expected ',' and another operand");
    CHECK(problem(ptx("x=0;", " st.weak x, y ;")) ==
          "t.litmus:6: read 'y', expected a register, such as r0, or a number");
    CHECK(problem(ptx("x=0;", " st.weak x, 1 | st.weak x, 2 ;")) ==
          "t.litmus:6: read '|', expected ';' after a row of instructions");
    CHECK(problem(ptx("x=0;", " goto LC00 ;")) == "t.litmus:6: there is no label LC00 in P0");
    CHECK(problem(ptx("x=0;", " goto out ;")) ==
          "t.litmus:6: read 'out', expected a label, such as LC00");
    CHECK(problem(ptx("x=0;", " LC00: ;\n LC00: ;")) ==
          "t.litmus:7: label LC00 is there twice in P0");
    CHECK(problem(ptx("x=0;", " , ;")) ==
          "t.litmus:6: read ',', expected an instruction, a label, '|' or ';'");
    CHECK(problem("PTX t\n{x=0;}\n P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n st.weak x, 1 ;\n") ==
          "t.litmus:4: read ';', expected '|' and the instruction of the 2. of 2 threads");
    CHECK(problem(ptx("x=0;", " add x, 1, 2 ;")) ==
          "t.litmus:6: read 'x', expected a register, such as r0");
  }

  TEST_CASE("what is wrong with the condition is named with its line") {
    auto const with = [](std::string const& condition) {
      return problem("PTX t\n{x=0;}\n P0@cta 0,gpu 0 ;\n ld.weak r0, x ;\n" + condition);
    };
    CHECK(with("exists (x == 1)") == "");
    CHECK(with("") == "t.litmus:5: the file ends, expected exists, ~exists or forall");
    CHECK(with("~forall (x == 1)") == "t.litmus:5: read 'forall', expected exists");
    CHECK(with("exists (x == )") ==
          "t.litmus:5: read ')', expected a location or a register, such as x or P0:r0");
    CHECK(with("exists (x 1)") == "t.litmus:5: read '1', expected a comparison: = == != < <= > >=");
    CHECK(with("exists (x == 1") == "t.litmus:5: the file ends, expected ')' or /\\ or \\/");
    CHECK(with("exists (x == 1) x") ==
          "t.litmus:5: read 'x', expected /\\ or \\/ or the end of the file");
    CHECK(with("exists (P1:r0 == 1)") == "t.litmus:5: there is no thread P1");
    CHECK(with("exists (P0:r1 == 1)") == "t.litmus:5: P0 neither uses nor declares register r1");
    CHECK(with("exists (y == 1)") == "t.litmus:5: location y is neither declared nor used");
    CHECK(with("exists " + std::string(1000, '(')) ==
          "t.litmus:5: read '(', expected a condition that is not nested more than 100 times");
    std::string chain = "exists (x == 1";
    for (int i = 1; i != 1000; ++i)
      chain += " \\/ x == 1";
    CHECK(with(chain + ")").empty());
    CHECK(with(chain + " \\/ x == 1)") ==
          "t.litmus:5: read 'x', expected a condition of not more than 1000 comparisons");
    CHECK(with("locations [x P0:r0] exists (x == 1)") ==
          "t.litmus:5: read 'P0', expected ';' or ']' after a variable");
  }

  TEST_CASE("what is not supported is listed, all of it, and makes no other errors") {
    auto const t = parsed("PTX t\n{\nx=0;\nP0:r1=&x;\nz=x;\ns @ surface aliases x;\n}\n"
                          " P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;\n"
                          " sust.weak s, 1 | ld.weak r0, x ;\n"
                          " fence.proxy.surface | st.weak z, r1 ;\n"
                          "exists (P1:r0 == 1)\n");
    CHECK(t.unsupported == lines{"line 4: the address of a location in r1",
                                 "line 5: the address of a location in z", "line 6: surface proxy",
                                 "line 9: sust.weak", "line 10: fence.proxy.surface"});
    CHECK(
        parsed("PTX t\n{x=0;}\n P0@cta 0,gpu 0 ;\n st.weak x, 1 ;\nfilter (x == 1)").unsupported ==
        lines{"no final condition: it asks for data races"});
    auto const ssw = parsed("Vulkan t\n{x=0;}\n{\nssw P0 P0;\n}\n P0@sg 0, wg 0, qf 0 ;\n"
                            " avdevice ;\n visdevice ;\nexists (x == 0)");
    CHECK(ssw.unsupported ==
          lines{"line 3: system-synchronizes-with (ssw)", "line 7: avdevice", "line 8: visdevice"});
  }

  TEST_CASE("a file that cannot be read is an error of the system") {
    temporary_folder const folder;
    CHECK(read_test(folder.path() / "none").error().code == std::errc::no_such_file_or_directory);
    CHECK(read_test(folder.path()).error().code == std::errc::is_a_directory);
    auto const file = folder.write("a.litmus", ptx("x=0;", " st.weak x, 1 ;"));
    CHECK(read_test(file).value().file == file.string());
  }

  TEST_CASE("a file edited at random gives a test or an error with its line") {
    auto const text = ptx("x=0; P0:r0=1;", " LC00: ;\n ld.acquire.gpu r0, x ;\n"
                                           " atom.relaxed.sys.cas r1, x, 0, 1 ;\n"
                                           " bne r1, 0, LC00 ;\n bar.cta.sync 1, 2, 3 ;") +
                      "\n";
    int tests = 0;
    int errors = 0;
    for (std::uint64_t seed = 0; seed < 20'000; ++seed) {
      CAPTURE(seed);
      std::mt19937_64 random(seed);
      auto edited = text;
      for (auto edits = random() % 3 + 1; edits != 0; --edits) {
        auto const at = random() % edited.size();
        if (random() % 2 == 0)
          edited.erase(at, random() % 4);
        else
          edited.insert(at, 1, edited[random() % edited.size()]);
      }
      auto const read = parse(edited, "t.litmus");
      tests += read.has_value();
      errors += !read.has_value();
      if (!read)
        REQUIRE(read.error().what.starts_with("t.litmus:"));
    }
    CHECK(tests > 1'000);
    CHECK(errors > 1'000);
  }
}
