// SPDX-License-Identifier: Apache-2.0
#pragma once

// ComP-Net: a kernel's network operations, one a work-group, through the command processor
#include <quarry/net/comp_net/command.hpp>
#include <quarry/net/comp_net/ring.hpp>
#include <quarry/net/comp_net/ring_orders.hpp>
