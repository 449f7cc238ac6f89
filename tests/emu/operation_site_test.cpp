// SPDX-License-Identifier: Apache-2.0
#include <quarry/emu/operation_site.hpp>

#include <doctest/doctest.h>

#include <optional>
#include <source_location>
#include <string>
#include <vector>

namespace {

using namespace quarry::emu;
using kind = operation_kind;

std::vector<std::string> manners(std::vector<adjustment> const& those) {
  std::vector<std::string> all;
  for (adjustment const& a : those)
    all.push_back(std::string(to_string(a.how)) + " " + std::string(to_string(a.far)));
  return all;
}

operation_site site(kind what, std::optional<order> how, scope far) {
  return {std::source_location::current(), what, how, far};
}

using strings = std::vector<std::string>;

} // namespace

TEST_SUITE("emu.operation_site") {
  TEST_CASE("stronger operations: the smallest change first, the strongest last") {
    CHECK(manners(strengthened(site(kind::load, order::relaxed, scope::agent))) ==
          strings{"relaxed system", "acquire agent", "acquire system", "seq_cst agent",
                  "seq_cst system"});
    CHECK(manners(strengthened(site(kind::store, order::release, scope::system))) ==
          strings{"seq_cst system"});
    CHECK(manners(strengthened(site(kind::fence, order::acquire, scope::system))) ==
          strings{"acq_rel system", "seq_cst system"});
    CHECK(strengthened(site(kind::update, order::seq_cst, scope::system)).empty());
    // What they are in effect counts.
    CHECK(manners(strengthened(site(kind::store, order::acquire, scope::system))) ==
          strings{"release system", "seq_cst system"});
    CHECK(manners(strengthened(site(kind::load, order::release, scope::agent))) ==
          strings{"relaxed system", "acquire agent", "acquire system", "seq_cst agent",
                  "seq_cst system"});
    auto const of_plain = manners(strengthened(site(kind::store, std::nullopt, scope::work_item)));
    REQUIRE(of_plain.size() == 9);
    CHECK(of_plain.front() == "relaxed work_group");
    CHECK(of_plain.back() == "seq_cst system");
  }

  TEST_CASE("a load never releases, a store never acquires, and nothing loses a side it has") {
    for (order const o : {order::relaxed, order::acquire, order::release, order::acq_rel})
      for (kind const k : {kind::load, kind::store, kind::update})
        for (adjustment const& a : strengthened(site(k, o, scope::agent))) {
          CAPTURE(to_string(a));
          CHECK_FALSE((k == kind::load && (a.how == order::release || a.how == order::acq_rel)));
          CHECK_FALSE((k == kind::store && (a.how == order::acquire || a.how == order::acq_rel)));
          CHECK_FALSE((k == kind::update && o == order::release && a.how == order::acquire));
          CHECK(a.far >= scope::agent);
        }
  }

  TEST_CASE("weaker operations: one step of order or of scope") {
    CHECK(manners(narrowed(site(kind::load, order::acquire, scope::system))) ==
          strings{"relaxed system", "acquire agent"});
    CHECK(manners(narrowed(site(kind::update, order::acq_rel, scope::work_group))) ==
          strings{"acquire work_group", "release work_group"});
    CHECK(manners(narrowed(site(kind::fence, order::release, scope::agent))) ==
          strings{"release work_group"});
    CHECK(narrowed(site(kind::store, std::nullopt, scope::work_item)).empty());
    CHECK(narrowed(site(kind::store, order::relaxed, scope::work_group)).empty());
  }

  TEST_CASE("what a network does is mended by a call before it, which only hosts may wait for") {
    auto const mends = [](kind what, bool is_hosts) {
      operation_site s = site(what, std::nullopt, scope::system);
      s.is_hosts = is_hosts;
      strings all;
      for (adjustment const& a : strengthened(s)) {
        std::string const text = to_string(a);
        all.push_back(text.substr(text.find("with a ")));
      }
      CHECK(strongest(s).how == strengthened(s).back().how);
      return all;
    };
    std::string const fence = "with a fence() before it";
    std::string const quiet = "with a quiet() of every context before it";
    CHECK(mends(kind::remote, true) == strings{fence, quiet});
    CHECK(mends(kind::remote, false) == strings{fence});
    CHECK(mends(kind::collective, true) == strings{quiet});
    CHECK(narrowed(site(kind::remote, std::nullopt, scope::system)).empty());
  }

  TEST_CASE("a site is a line with what is done there") {
    auto const here = std::source_location::current();
    operation_site const a{here, kind::load, order::relaxed, scope::agent};
    CHECK(a == operation_site{here, kind::load, order::relaxed, scope::agent});
    CHECK_FALSE(a == operation_site{here, kind::store, order::relaxed, scope::agent});
    CHECK_FALSE(a == operation_site{here, kind::load, order::acquire, scope::agent});
    CHECK_FALSE(a == operation_site{here, kind::load, order::relaxed, scope::system});
    CHECK_FALSE(a == operation_site{std::source_location::current(), kind::load, order::relaxed,
                                    scope::agent});
    CHECK(to_string(adjustment{a, order::acquire, scope::system}) ==
          "operation_site_test.cpp:" + std::to_string(here.line()) +
              " load relaxed agent -> acquire system");
    CHECK(to_string(operation_site{here, kind::store, std::nullopt, scope::work_item}) ==
          "operation_site_test.cpp:" + std::to_string(here.line()) + " store plain");
  }
}
