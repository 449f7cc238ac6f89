// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace quarry::emu {

/// What a channel-flow graph is made of, to be looked at.
struct channel_drawing {
  struct channel {
    std::string name;
    std::uint32_t width; ///< elements
  };
  struct kernel {
    std::string name;
    std::size_t from;                ///< the channel that it consumes
    std::vector<std::size_t> into{}; ///< those that it was given to produce for
  };
  std::vector<channel> channels{};
  std::vector<kernel> kernels{};

  /// In Graphviz's language: channels are boxes, kernels circles, as in the thesis's Figure 4-4.
  [[nodiscard]] std::string to_dot() const;
};

} // namespace quarry::emu
