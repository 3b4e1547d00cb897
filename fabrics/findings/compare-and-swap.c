// One process calls MPI_Compare_and_swap on another one. With the default of Open MPI 4.1.4 for one machine
// (osc rdma over vader), that is a segmentation fault (docs/findings.md).
//
//   mpicc -Wall -Wextra compare-and-swap.c -o cas && mpirun -n 2 ./cas
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char **argv) {
  int rank;
  uint64_t *memory, new = 1, old = 0, result = 7;
  MPI_Win window;

  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Win_allocate(sizeof *memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &window);
  MPI_Win_lock_all(0, window);
  *memory = 0;
  MPI_Win_sync(window);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    MPI_Compare_and_swap(&new, &old, &result, MPI_UINT64_T, 1, 0, window);
    MPI_Win_flush(1, window);
    printf("the old value is %d\n", (int)result);
  }
  MPI_Win_unlock_all(window);
  MPI_Win_free(&window);
  MPI_Finalize();
}
