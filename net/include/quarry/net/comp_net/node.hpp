// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <quarry/emu/agent_core.hpp>
#include <quarry/net/comp_net/configuration.hpp>
#include <quarry/net/comp_net/device.hpp>
#include <quarry/net/comp_net/ring.hpp>
#include <quarry/net/comp_net/ring_orders.hpp>
#include <quarry/net/pe.hpp>
#include <quarry/net/shmem/node.hpp>
#include <quarry/net/transport_port.hpp>
#include <quarry/result.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string_view>

namespace quarry::net::comp_net {

/// One pe of a ComP-Net job: an OpenSHMEM node, and, where the configuration says that kernels have
/// operations of their own, rings for a GPU's work-groups and a network service.
///
/// Source   ComP-Net §4.1 (cpnet_init), §5.1 (the five configurations)
class node {
public:
  struct options {
    std::string_view configuration = on_command_processor.name;
    std::uint32_t rings = 64; ///< the most work-groups of a launch that communicates
    std::uint32_t ring_entries = rings::usual_entries;
    std::uint32_t service_threads = 1; ///< they share the rings
    std::uint32_t polling_rounds = 4;  ///< until blocking operations are looked at
    std::size_t reduce_bytes = 256;    ///< of each pe, that a reduction moves at once
    std::optional<ring_orders> ring{}; ///< none: ring_orders at the configuration's scope
    shmem::node::options shmem{};      ///< what the rings' barriers need is added to its heap
  };

  /// comp_net_init: meets the other pes of the job and starts the service. `agent` outlives the
  /// node.
  ///
  /// Errors   as shmem::node::start()
  ///          throws std::invalid_argument – a configuration that does not exist, options outside
  ///          their limits
  [[nodiscard]] static result<node>
  start(emu::agent_core& agent, std::unique_ptr<transport_port> transport, options const& o,
        std::source_location where = std::source_location::current());
  node(node&&) noexcept;
  node& operator=(node&&) = delete;
  /// Ends the service. No kernel may be running.
  ~node();

  [[nodiscard]] pe self() const noexcept { return shmem().self(); }
  [[nodiscard]] std::uint32_t pe_count() const noexcept { return shmem().pe_count(); }
  [[nodiscard]] comp_net::configuration const& configuration() const noexcept;
  /// For the host: the heap, and all operations where kernels have none.
  [[nodiscard]] shmem::node& shmem() noexcept;
  [[nodiscard]] shmem::node const& shmem() const noexcept;
  /// For kernels: pass std::ref(node.device()).
  ///
  /// Errors   std::logic_error – the configuration has no device calls
  [[nodiscard]] comp_net::device& device();

  /// Leaves the job in order, together with all pes, when the work-groups that have contexts have
  /// destroyed them. Kernels that open one later end with a fault.
  ///
  /// Errors   as shmem::node::finish(); timeout – such kernels do not come to their end
  [[nodiscard]] result<void> finish();

private:
  struct parts;
  explicit node(std::unique_ptr<parts> p) noexcept;
  std::unique_ptr<parts> parts_;
};

} // namespace quarry::net::comp_net
