// SPDX-License-Identifier: Apache-2.0
// A build without MPI: there is never an object, so nothing but open() and find_job() is reached.
#include <quarry/assert.hpp>
#include <quarry/net/mpi.hpp>

namespace quarry::net {
namespace {

error no_mpi() {
  return make_error(net_errc::bad_environment,
                    "mpi: this build has no MPI; install it (apt install libopenmpi-dev "
                    "openmpi-bin), configure again with -Dmpi=enabled and build");
}

} // namespace

struct mpi::state {};

mpi::mpi(std::unique_ptr<state> s) : state_(std::move(s)) {}
mpi::~mpi() = default;

bool mpi::is_available() noexcept {
  return false;
}
result<job> mpi::find_job(std::chrono::milliseconds) {
  return no_mpi();
}
result<std::unique_ptr<mpi>> mpi::open(job const&) {
  return no_mpi();
}

pe mpi::self() const {
  return pe{0};
}
std::uint32_t mpi::pe_count() const {
  return 0;
}
std::chrono::milliseconds mpi::timeout() const {
  return job{}.timeout;
}
result<bool> mpi::try_send(pe, std::span<std::byte const>, std::span<std::byte const>) {
  return no_mpi();
}
result<std::size_t> mpi::poll(sink const&) {
  return no_mpi();
}
bool mpi::has_input() {
  return false;
}
bool mpi::has_room(pe) {
  return true;
}
void mpi::wait(std::chrono::nanoseconds) {}
void mpi::interrupt() {}
bool mpi::is_flushed() {
  return true;
}
result<void> mpi::finish() {
  return no_mpi();
}
std::uint64_t mpi::wire_bytes() const {
  return 0;
}

} // namespace quarry::net
