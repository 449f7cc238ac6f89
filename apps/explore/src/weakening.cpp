// SPDX-License-Identifier: Apache-2.0
#include <quarry/explore/weakening.hpp>

namespace quarry::exploration {

using emu::access;
using emu::order;
using emu::scope;

std::string weakening::name() const {
  std::string text = entry;
  text += '=';
  text += from.how != to.how ? emu::to_string(to.how) : emu::to_string(to.far);
  if (also != nullptr) {
    text += '+';
    text += also->name();
  }
  return text;
}

std::vector<access> weaker(access a) {
  std::vector<access> all;
  switch (a.how) {
  case order::relaxed:
    break;
  case order::acquire:
  case order::release:
    all.push_back({order::relaxed, a.far});
    break;
  case order::acq_rel:
    all.push_back({order::acquire, a.far});
    all.push_back({order::release, a.far});
    break;
  case order::seq_cst:
    all.push_back({order::acq_rel, a.far});
    break;
  }
  if (a.far > scope::work_item)
    all.push_back({a.how, static_cast<scope>(static_cast<int>(a.far) - 1)});
  return all;
}

std::vector<weakening> of_entries(std::vector<weakening> all,
                                  std::initializer_list<std::string_view> names) {
  std::erase_if(all, [&](weakening const& w) {
    return std::find(names.begin(), names.end(), w.entry) == names.end();
  });
  return all;
}

} // namespace quarry::exploration
