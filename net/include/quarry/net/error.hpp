// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/result.hpp>

#include <string>
#include <system_error>

namespace quarry::net {

/// What can go wrong between processing elements, each with a sentence in quarry::error::what that
/// names the pe, address, value or size concerned and what is allowed.
enum class net_errc {
  peer_lost = 1,         ///< a pe left, died or reset its connection without an orderly finish
  timeout,               ///< something did not happen within the job's timeout
  port_in_use,           ///< another process listens at this pe's own port
  bad_token,             ///< a connection did not know the job's token
  bad_handshake,         ///< a connection did not speak the protocol, or claimed an impossible rank
  version_mismatch,      ///< a connection spoke another version of the protocol
  bad_frame,             ///< an established peer sent a frame that cannot be one
  oversized_frame,       ///< an established peer sent a frame longer than the limit
  oversized_message,     ///< the caller asked to send a message longer than the limit
  no_such_pe,            ///< the caller named a pe outside the job
  already_finished,      ///< the caller went on sending after it started to finish
  forbidden_address,     ///< an endpoint that is not 127.0.0.1
  outside_heap,          ///< a remote address range that is not inside the symmetric heap
  misaligned,            ///< a remote address that is not aligned for its access
  heap_exhausted,        ///< the symmetric heap has less left than was asked for
  mismatched_job,        ///< the pes of a job have options, or handlers, that do not fit together
  mismatched_collective, ///< who should be in one collective is in different ones
  failed_handler,        ///< a message's handler threw
  bad_environment,       ///< a QUARRY_… variable is missing or has a value that is not allowed
};

/// The category of net_errc: name "quarry.net", one plain sentence an enumerator.
[[nodiscard]] std::error_category const& net_category() noexcept;

[[nodiscard]] std::error_code make_error_code(net_errc code) noexcept;

/// An error with `code`; `what` is the sentence that names the thing and the place.
[[nodiscard]] error make_error(net_errc code, std::string what);

} // namespace quarry::net

template<>
struct std::is_error_code_enum<quarry::net::net_errc> : std::true_type {};
