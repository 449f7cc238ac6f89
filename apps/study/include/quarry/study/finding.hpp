// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/study/chart.hpp>
#include <quarry/study/table.hpp>

namespace quarry::study {

/// A table and its picture.
struct finding {
  table figures;
  chart picture;
};

} // namespace quarry::study
