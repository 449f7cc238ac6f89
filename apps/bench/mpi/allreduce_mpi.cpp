// SPDX-License-Identifier: Apache-2.0
// allreduce_mpi BYTES TIMES: MPI_Allreduce of floats in place, again and again; rank 0 prints the
// seconds that one took. Exit status 1: a sum was wrong.
#include <mpi.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (argc != 3) {
    std::fputs("usage: allreduce_mpi BYTES TIMES\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  int const count = std::atoi(argv[1]) / static_cast<int>(sizeof(float));
  int const times = std::atoi(argv[2]);
  std::vector<float> v(static_cast<std::size_t>(count));
  bool is_right = true;
  auto const sum = [&] {
    v.back() = 1;
    MPI_Allreduce(MPI_IN_PLACE, v.data(), count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    is_right = is_right && v.back() == static_cast<float>(ranks);
  };
  for (int i = 0; i < 1 + times / 10; ++i)
    sum();
  MPI_Barrier(MPI_COMM_WORLD);
  double const begun = MPI_Wtime();
  for (int i = 0; i < times; ++i)
    sum();
  double const seconds = (MPI_Wtime() - begun) / times;
  if (rank == 0)
    std::printf("%.9f\n", seconds);
  MPI_Finalize();
  return is_right ? 0 : 1;
}
