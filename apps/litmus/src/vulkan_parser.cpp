// SPDX-License-Identifier: Apache-2.0
#include "dialect.hpp"

#include <optional>

namespace quarry::litmus {
namespace {

using emu::order;
using emu::scope;

template<class T>
using word = std::pair<std::string_view, T>;

enum class domain : std::uint8_t { subgroup, work_group, queue_family, device };

constexpr std::array<word<domain>, 4> domains{{{"sg", domain::subgroup},
                                               {"wg", domain::work_group},
                                               {"qf", domain::queue_family},
                                               {"dv", domain::device}}};
constexpr std::array<word<order>, 3> orders{
    {{"acq", order::acquire}, {"rel", order::release}, {"acq_rel", order::acq_rel}}};
constexpr std::array<word<int>, 4> storage_classes{
    {{"sc0", 0}, {"sc1", 1}, {"sc2", 2}, {"sc3", 3}}};
constexpr std::array<word<int>, 4> storage_semantics{
    {{"semsc0", 0}, {"semsc1", 1}, {"semsc2", 2}, {"semsc3", 3}}};

/// A queue family is an agent. With one of them, the device is that agent, too: both name the same
/// threads. A subgroup's threads are wavefronts of their own, so its scope is the work-group's; but
/// only they meet at its barriers.
class vulkan_dialect final : public dialect {
public:
  bool read_alias(lexer& tokens, builder& names, token const& name) override {
    if (!tokens.accept("aliases"))
      return false;
    names.declare_alias(name, tokens.word("the name of a location"));
    return true;
  }

  placement read_placement(lexer& tokens) override {
    tokens.expect("sg", "and its number, such as sg 0");
    auto const subgroup = read_place(tokens, "the number of the subgroup");
    tokens.expect(",", "and the work-group, such as wg 0");
    tokens.expect("wg", "and its number, such as wg 0");
    auto const work_group = read_place(tokens, "the number of the work-group");
    tokens.expect(",", "and the queue family, such as qf 0");
    tokens.expect("qf", "and its number, such as qf 0");
    auto const family = read_place(tokens, "the number of the queue family");
    has_several_families_ = has_several_families_ || (family_ && *family_ != family);
    family_ = family;
    return {family, work_group, subgroup};
  }

  void read_instruction(mnemonic& name, lexer& tokens, builder& names) override {
    auto const kind = name.first();
    if (kind == "ld")
      read_load(name, tokens, names);
    else if (kind == "st")
      read_store(name, tokens, names);
    else if (kind == "rmw")
      read_update(name, tokens, names);
    else if (kind == "membar")
      read_fence(name, names);
    else if (kind == "cbar")
      read_cbar(name, tokens, names);
    else if (kind == "avdevice" || kind == "visdevice")
      throw unsupported_feature{name.text()};
    else
      name.fail_with("there is no such instruction");
  }

private:
  [[nodiscard]] static domain read_domain(mnemonic& name) {
    return name.expect(domains, "a scope");
  }
  [[nodiscard]] scope read_scope(mnemonic& name) const { return scope_of(read_domain(name)); }
  [[nodiscard]] scope scope_of(domain d) const {
    switch (d) {
    case domain::subgroup:
    case domain::work_group:
      return scope::work_group;
    case domain::queue_family:
      return scope::agent;
    case domain::device:
      break;
    }
    return has_several_families_ ? scope::system : scope::agent;
  }

  /// `.semsc0…` and `.semav`, `.semvis`: what the order is for. A cache knows no storage classes.
  static void skip_semantics(mnemonic& name, order o) {
    name.expect(storage_semantics, "storage class semantics");
    while (name.accept(storage_semantics))
      ;
    if (o != order::acquire)
      name.accept("semav");
    if (o != order::release)
      name.accept("semvis");
  }

  /// [.order] .scope .class [.semantics]; `only`: the one order that there is.
  [[nodiscard]] ordering read_atomic(mnemonic& name, std::optional<order> only) const {
    auto const o = name.accept(orders);
    if (o && only && *o != *only)
      name.fail_with(*only == order::acquire ? "a load has no order but acq"
                                             : "a store has no order but rel");
    auto const s = read_scope(name);
    name.expect(storage_classes, "a storage class");
    if (o)
      skip_semantics(name, *o);
    return {o.value_or(order::relaxed), s};
  }

  /// [.nonpriv | .`domain_word` .scope] .class; the scope if there is one.
  [[nodiscard]] std::optional<scope> read_plain(mnemonic& name,
                                                std::string_view domain_word) const {
    std::optional<scope> reached;
    if (!name.accept("nonpriv") && name.accept(domain_word))
      reached = read_scope(name);
    name.expect(storage_classes, "a storage class");
    return reached;
  }

  void read_load(mnemonic& name, lexer& tokens, builder& names) const {
    access_order how;
    if (name.accept("atom"))
      how = read_atomic(name, order::acquire);
    else if (auto const visible = read_plain(name, "vis")) // sees what its scope's level has
      how = ordering{order::relaxed, *visible};
    name.expect_end();
    auto const into = names.read_register();
    expect_comma(tokens);
    names.add(load{into, names.read_location(), how});
  }

  void read_store(mnemonic& name, lexer& tokens, builder& names) const {
    access_order how;
    if (name.accept("atom"))
      how = read_atomic(name, order::release);
    else // the release that must follow makes it available
      static_cast<void>(read_plain(name, "av"));
    name.expect_end();
    auto const to = names.read_location();
    expect_comma(tokens);
    names.add(store{to, names.read_operand(), how});
  }

  void read_update(mnemonic& name, lexer& tokens, builder& names) const {
    if (!name.accept("atom"))
      name.fail("atom");
    auto const how = read_atomic(name, std::nullopt);
    auto const operation = name.accept(arithmetic_names);
    name.expect_end();
    auto const into = names.read_register();
    expect_comma(tokens);
    auto const at = names.read_location();
    expect_comma(tokens);
    auto const what = names.read_operand();
    if (operation)
      names.add(update{into, at, update::fetch{*operation, what}, how});
    else
      names.add(update{into, at, update::exchange{what}, how});
  }

  void read_fence(mnemonic& name, builder& names) const {
    auto const o = name.expect(orders, "an order");
    auto const s = read_scope(name);
    skip_semantics(name, o);
    name.expect_end();
    names.add(fence{{o, s}});
  }

  void read_cbar(mnemonic& name, lexer& tokens, builder& names) const {
    auto const o = name.accept(orders);
    domain const far = read_domain(name);
    access_order how;
    if (o) {
      how = ordering{*o, scope_of(far)};
      skip_semantics(name, *o);
    }
    name.expect_end();
    auto read =
        read_barrier(tokens, names,
                     far == domain::subgroup ? barrier_group::subgroup : barrier_group::work_group);
    read.how = how;
    names.add(read);
  }

  std::optional<std::uint32_t> family_;
  bool has_several_families_ = false;
};

} // namespace

std::unique_ptr<dialect> make_vulkan_dialect() {
  return std::make_unique<vulkan_dialect>();
}

} // namespace quarry::litmus
