// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/study/channel_studies.hpp>

namespace quarry::study {

/// A reservation for each work-item, for each wavefront, and with padded elements: Figure 4-15.
[[nodiscard]] finding study_reservations(channel_study_request const& r);
[[nodiscard]] finding study_done_counts(channel_study_request const& r);
/// Figure 4-16.
[[nodiscard]] finding study_widths(channel_study_request const& r);
/// Figure 4-13.
[[nodiscard]] finding study_compute_units(channel_study_request const& r);

} // namespace quarry::study
