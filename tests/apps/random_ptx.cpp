// SPDX-License-Identifier: Apache-2.0
#include "random_ptx.hpp"

#include <algorithm>

namespace {

std::vector<std::vector<std::string>> const classic{
    {"Wx Wy", "Ry Rx"},          // MP
    {"Wx Ry", "Wy Rx"},          // SB
    {"Rx Wy", "Ry Wx"},          // LB
    {"Wx Wy", "Ry Wx"},          // S
    {"Wx Wy", "Wy Rx"},          // R
    {"Wx Wy", "Wy Wx"},          // 2+2W
    {"Wx", "Rx Rx"},             // CoRR
    {"Wx", "Rx Wx"},             // CoRW
    {"Wx", "Wx Rx"},             // CoWR
    {"Wx Wx", "Rx Rx"},          // CoWW
    {"Ux", "Ux"},                // two updates
    {"Wx Wy Wy", "Ry Ry Rx"},    // MP, longer patterns
    {"Wx Wy", "Uy", "Ry Rx"},    // MP through an update
    {"Wx", "Rx Wy", "Ry Rx"},    // WRC
    {"Wx", "Rx Ry", "Wy Rx"},    // RWC
    {"Wx", "Wx", "Rx Rx"},       // CoRR of two
    {"Wx", "Rx Rx", "Rx Rx"},    // CoRR by two
    {"Wx Wy", "Wy Wz", "Rz Rx"}, // Z6
    {"Wx Wy", "Ry Wz", "Rz Rx"}, // ISA2
};

std::vector<std::vector<std::string>> const handed_over{
    {"Wx Uy Wz", "Rz Rx"},          // beside the update
    {"Wx Uy Uz", "Rz Rx"},          // by another one
    {"Wx Uy", "Uy", "Ry Rx"},       // by way of somebody's update of it
    {"Wx Uy", "Uy Uz", "Rz Rx"},    // and of another word
    {"Wx Uy Wy", "Ry Rx"},          // by a later write of its own
    {"Wx Wy", "Rx", "Wx Ry Rx"},    // to who has written it, while somebody looks
    {"Wx Wy", "Rx Ry", "Wx Uy Rx"}, // the same, and looks again
    {"Wx Uy", "Ux", "Wx Uy Rx"},
    {"Wz Wx Wy", "Rz Ry Rz Rx"},       // twice, the second time behind a flag
    {"Wz", "Wx Wy", "Rz Ry Rz Rx"},    // by somebody else than the flag
    {"Uz", "Wx Wy Uz", "Rz Ry Uz Rx"}, // and by updates
    {"Wz Wx Wz", "Rx Rz Rz Rx"},       // two of one word
};

std::vector<std::vector<std::string>> const left_as_is{
    {"Ux Uy", "Ry Ux"},                                       // a bitmap and a doorbell
    {"Ux Uy", "Uy Ux"},                                       //
    {"Wx Uy", "Ry Ux Rx"},                                    // and looks again
    {"Wx Wy", "Uy Ux", "Rx"},                                 //
    {"Ux", "Ux Wy", "Ry Rx"},                                 // tells of what it has left
    {"Wx Ux", "Ux Wy", "Ry Ux"}, {"Wx", "Wx Ux Uy", "Uy Ux"}, // part of its own release
};

} // namespace

std::string random_ptx::next() {
  last_value_ = 0;
  observed_ = "x;y;z";
  auto const threads = which_ == shapes::handed_over  ? one_of(handed_over)
                       : which_ == shapes::left_as_is ? one_of(left_as_is)
                       : happens(60)                  ? one_of(classic)
                                                      : random_shape();
  std::string text = "PTX random\n{x=0; y=0; z=0;}\n" + places(threads.size());
  std::vector<std::vector<std::string>> programs;
  std::size_t rows = 0;
  for (std::size_t i = 0; i < threads.size(); ++i) {
    programs.push_back(program(i, threads[i]));
    rows = std::max(rows, programs[i].size());
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < programs.size(); ++i)
      text += (i == 0 ? " " : " | ") + (row < programs[i].size() ? programs[i][row] : "");
    text += " ;\n";
  }
  return text + "locations [" + observed_ + "]\nexists (x == 0)\n";
}

random_ptx::shape random_ptx::random_shape() {
  shape threads(2 + below(3));
  for (auto& accesses : threads) {
    auto const count = 1 + below(threads.size() == 2 ? 3 : 2);
    for (unsigned i = 0; i < count; ++i)
      accesses += {"RRRWWWU"[below(7)], "xxy"[below(3)], ' '};
  }
  return threads;
}

std::string random_ptx::places(std::size_t thread_count) {
  std::string header;
  widest_ = 0;
  auto const spread = below(3); // no further apart than that
  unsigned first_cta = 0;
  unsigned first_gpu = 0;
  for (std::size_t i = 0; i < thread_count; ++i) {
    auto const cta = spread == 0 ? 0 : below(2);
    auto const gpu = spread < 2 ? 0 : below(2);
    if (i == 0) {
      first_cta = cta;
      first_gpu = gpu;
    } else if (gpu != first_gpu) {
      widest_ = 2;
    } else if (cta != first_cta) {
      widest_ = std::max(widest_, 1U);
    }
    header += (i == 0 ? " P" : " | P") + std::to_string(i) + "@cta " + std::to_string(cta) +
              ",gpu " + std::to_string(gpu);
  }
  return header + " ;\n";
}

std::vector<std::string> random_ptx::program(std::size_t thread, std::string_view accesses) {
  std::vector<std::string> rows;
  last_register_ = 0;
  for (std::size_t at = 0; at + 1 < accesses.size(); at += 3) {
    if (!rows.empty() && happens(35))
      rows.push_back(fence());
    char const location = accesses[at + 1];
    bool const is_update = accesses[at] == 'U' || happens(10);
    rows.push_back(is_update             ? update(thread, location)
                   : accesses[at] == 'R' ? read(thread, location)
                                         : write(location));
  }
  if (happens(15)) // it orders nothing after it, but moves words
    rows.push_back(fence());
  return rows;
}

std::string random_ptx::fence() {
  return "fence" + strength({"acq_rel", "sc"});
}

std::string random_ptx::read(std::size_t thread, char location) {
  auto const how = happens(30) ? ".weak" : strength({"relaxed", "acquire"});
  return "ld" + how + " " + new_register(thread) + ", " + location;
}

std::string random_ptx::write(char location) {
  auto const how = happens(30) ? ".weak" : strength({"relaxed", "release"});
  return "st" + how + " " + location + ", " + new_value();
}

std::string random_ptx::update(std::size_t thread, char location) {
  auto const how = "atom" + strength({"relaxed", "acquire", "release", "acq_rel"});
  auto const at = " " + new_register(thread) + ", " + location + ", ";
  if (which_ == shapes::left_as_is && happens(50))
    return happens(30)
               ? how + ".add" + at + "0"
               : how + ".exch" + at + std::to_string(happens(60) ? 0 : below(last_value_ + 1));
  switch (below(3)) {
  case 0:
    return how + ".exch" + at + new_value();
  case 1:
    return how + ".add" + at + "16"; // what it was is still to be seen
  default: {
    auto const expected = std::to_string(below(last_value_ + 1));
    return how + ".cas" + at + expected + ", " + new_value();
  }
  }
}

std::string random_ptx::strength(std::vector<std::string> const& orders) {
  auto const& order = one_of(orders); // compilers choose in which order they call
  return "." + order + "." + scope();
}

std::string random_ptx::scope() {
  constexpr char const* names[] = {"cta", "gpu", "sys"};
  return names[happens(70) ? widest_ : below(3)];
}

std::string random_ptx::new_register(std::size_t thread) {
  auto const name = "r" + std::to_string(last_register_++);
  observed_ += ";P" + std::to_string(thread) + ":" + name;
  return name;
}
