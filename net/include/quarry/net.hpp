// SPDX-License-Identifier: Apache-2.0
#pragma once

// Who takes part
#include <quarry/net/error.hpp>
#include <quarry/net/job.hpp>
#include <quarry/net/pe.hpp>

// How messages go
#include <quarry/net/in_process.hpp>
#include <quarry/net/loopback.hpp>
#include <quarry/net/mpi.hpp>
#include <quarry/net/transport.hpp>
#include <quarry/net/transport_port.hpp>
#include <quarry/net/wire.hpp>

// Where they go
#include <quarry/net/symmetric_heap.hpp>

// OpenSHMEM
#include <quarry/net/shmem.hpp>

// ComP-Net
#include <quarry/net/comp_net.hpp>

// Gravel
#include <quarry/net/gravel.hpp>
#include <quarry/net/gravel_direct.hpp>
#include <quarry/net/gravel_endpoint.hpp>
#include <quarry/net/gravel_message.hpp>
#include <quarry/net/gravel_style.hpp>
