// SPDX-License-Identifier: Apache-2.0
#include "dialect.hpp"

#include <fmt/format.h>

namespace quarry::litmus {
namespace {

using emu::order;
using emu::scope;

template<class T>
using word = std::pair<std::string_view, T>;

constexpr std::array<word<scope>, 3> scopes{
    {{"cta", scope::work_group}, {"gpu", scope::agent}, {"sys", scope::system}}};
constexpr std::array<word<access_order>, 3> load_orders{
    {{"weak", access_order{}},
     {"relaxed", access_order{{order::relaxed, scope::system}}},
     {"acquire", access_order{{order::acquire, scope::system}}}}};
constexpr std::array<word<access_order>, 3> store_orders{
    {{"weak", access_order{}},
     {"relaxed", access_order{{order::relaxed, scope::system}}},
     {"release", access_order{{order::release, scope::system}}}}};
constexpr std::array<word<order>, 4> update_orders{{{"relaxed", order::relaxed},
                                                    {"acquire", order::acquire},
                                                    {"release", order::release},
                                                    {"acq_rel", order::acq_rel}}};
constexpr std::array<word<order>, 2> fence_orders{
    {{"acq_rel", order::acq_rel}, {"sc", order::seq_cst}}};
/// membar is fence.sc under its old name.
constexpr std::array<word<scope>, 3> membar_scopes{
    {{"cta", scope::work_group}, {"gl", scope::agent}, {"sys", scope::system}}};
constexpr std::array<word<bool>, 2> barrier_modes{{{"sync", true}, {"arrive", false}}};

enum class proxy : bool { alias, other };
constexpr std::array<word<proxy>, 6> proxies{{{"alias", proxy::alias},
                                              {"constant", proxy::other},
                                              {"texture", proxy::other},
                                              {"surface", proxy::other},
                                              {"async", proxy::other},
                                              {"tensormap", proxy::other}}};

constexpr std::string_view a_scope = "a scope";

class ptx_dialect final : public dialect {
public:
  bool read_alias(lexer& tokens, builder& names, token const& name) override {
    if (!tokens.accept("@"))
      return false;
    constexpr std::string_view a_proxy = "a proxy: generic, constant, texture, surface";
    token const& proxy = tokens.word(a_proxy);
    if (!proxy.is("generic") && !proxy.is("constant") && !proxy.is("texture") &&
        !proxy.is("surface"))
      tokens.fail_at(proxy, a_proxy);
    tokens.expect("aliases", "and a location, after the proxy");
    if (!proxy.is("generic")) {
      names.declare(name); // so that its uses are no errors
      throw unsupported_feature{fmt::format("{} proxy", proxy.text)};
    }
    names.declare_alias(name, tokens.word("the name of a location"));
    return true;
  }

  placement read_placement(lexer& tokens) override {
    tokens.expect("cta", "and its number, such as cta 0");
    auto const work_group = read_place(tokens, "the number of the cta");
    tokens.expect(",", "and the gpu, such as gpu 0");
    tokens.expect("gpu", "and its number, such as gpu 0");
    auto const agent = read_place(tokens, "the number of the gpu");
    return {agent, work_group};
  }

  void read_instruction(mnemonic& name, lexer& tokens, builder& names) override {
    auto const kind = name.first();
    if (kind == "ld" || kind == "st" || kind == "atom" || kind == "red")
      refuse_vector(name);
    if (kind == "ld")
      read_load(name, tokens, names);
    else if (kind == "st")
      read_store(name, tokens, names);
    else if (kind == "atom")
      read_atom(name, tokens, names);
    else if (kind == "red")
      read_red(name, tokens, names);
    else if (kind == "fence" || kind == "membar")
      read_fence(name, names);
    else if (kind == "bar")
      read_bar(name, tokens, names);
    else
      refuse(name);
  }

private:
  [[noreturn]] static void refuse(mnemonic const& name) {
    for (std::string_view const proxy : {"tld", "suld", "cold", "sust", "suatom", "sured"})
      if (name.first() == proxy)
        throw unsupported_feature{name.text()};
    name.fail_with("there is no such instruction");
  }

  /// Several registers at once.
  static void refuse_vector(mnemonic const& name) {
    for (std::string_view const vector : {"v2", "v4", "v8"})
      if (name.has(vector))
        throw unsupported_feature{name.text()};
  }

  /// The order, and the scope that comes with it unless the access is weak.
  static access_order read_access(mnemonic& name, std::array<word<access_order>, 3> const& orders) {
    auto how = name.expect(orders, "an order");
    if (how)
      how->scope = name.expect(scopes, a_scope);
    name.expect_end();
    return how;
  }

  static void read_load(mnemonic& name, lexer& tokens, builder& names) {
    if (name.at_end()) { // a move
      auto const into = names.read_register();
      expect_comma(tokens);
      names.add(compute{into, arithmetic::add, names.read_operand(), 0});
      return;
    }
    auto const how = read_access(name, load_orders);
    auto const into = names.read_register();
    expect_comma(tokens);
    names.add(load{into, names.read_location(), how});
  }

  static void read_store(mnemonic& name, lexer& tokens, builder& names) {
    auto const how = read_access(name, store_orders);
    auto const to = names.read_location();
    expect_comma(tokens);
    names.add(store{to, names.read_operand(), how});
  }

  static ordering read_ordering(mnemonic& name) {
    auto const order = name.expect(update_orders, "an order");
    return {order, name.expect(scopes, a_scope)};
  }

  static void read_atom(mnemonic& name, lexer& tokens, builder& names) {
    auto const how = read_ordering(name);
    bool const is_exchange = name.accept("exch");
    bool const is_compare = !is_exchange && name.accept("cas");
    auto const operation = is_exchange || is_compare
                               ? arithmetic::add
                               : name.expect(arithmetic_names, "cas, exch or an operation");
    name.expect_end();
    auto const into = names.read_register();
    expect_comma(tokens);
    auto const at = names.read_location();
    expect_comma(tokens);
    auto const first = names.read_operand();
    if (is_exchange) {
      names.add(update{into, at, update::exchange{first}, how});
    } else if (is_compare) {
      expect_comma(tokens);
      names.add(update{into, at, update::compare_exchange{first, names.read_operand()}, how});
    } else {
      names.add(update{into, at, update::fetch{operation, first}, how});
    }
  }

  static void read_red(mnemonic& name, lexer& tokens, builder& names) {
    auto const how = read_ordering(name);
    auto const operation = name.expect(arithmetic_names, "an operation");
    name.expect_end();
    auto const at = names.read_location();
    expect_comma(tokens);
    names.add(update{std::nullopt, at, update::fetch{operation, names.read_operand()}, how});
  }

  static void read_fence(mnemonic& name, builder& names) {
    if (name.first() == "membar") {
      names.add(fence{{order::seq_cst, name.expect(membar_scopes, a_scope)}});
    } else if (name.accept("proxy")) {
      // Between aliases of one location there is nothing to order.
      if (name.expect(proxies, "a proxy") == proxy::other)
        throw unsupported_feature{name.text()};
    } else {
      auto const order = name.expect(fence_orders, "an order");
      names.add(fence{{order, name.expect(scopes, a_scope)}});
    }
    name.expect_end();
  }

  static void read_bar(mnemonic& name, lexer& tokens, builder& names) {
    if (!name.accept("cta"))
      name.fail("cta");
    bool const waits = name.expect(barrier_modes, "sync or arrive");
    name.expect_end();
    auto read = read_barrier(tokens, names);
    read.waits = waits;
    read.how = ordering{waits ? order::acq_rel : order::release, scope::work_group};
    names.add(read);
  }
};

} // namespace

std::unique_ptr<dialect> make_ptx_dialect() {
  return std::make_unique<ptx_dialect>();
}

} // namespace quarry::litmus
