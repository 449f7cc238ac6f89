// SPDX-License-Identifier: Apache-2.0
#pragma once

// ComP-Net: a kernel's network operations, one a work-group, through the command processor
#include <quarry/net/comp_net/collective_calls.hpp>
#include <quarry/net/comp_net/command.hpp>
#include <quarry/net/comp_net/configuration.hpp>
#include <quarry/net/comp_net/context.hpp>
#include <quarry/net/comp_net/context_handle.hpp>
#include <quarry/net/comp_net/device.hpp>
#include <quarry/net/comp_net/heap_wait.hpp>
#include <quarry/net/comp_net/leader.hpp>
#include <quarry/net/comp_net/node.hpp>
#include <quarry/net/comp_net/ring.hpp>
#include <quarry/net/comp_net/ring_orders.hpp>
