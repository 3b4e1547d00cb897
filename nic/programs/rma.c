/* One-sided communication by MPI: puts, gets and additions between all ranks, checked. */
#include <mpi.h>
#include <stdio.h>

enum { ROUNDS = 100, WORDS = 64, FIRST = 8 };

int main(int count, char **arguments) {
  int rank, size;
  long *base, one = 1, old, wrong = 0, sum = -1;
  MPI_Win window;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Win_allocate(WORDS * sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &window);
  for (int word = 0; word < WORDS; word++) base[word] = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, window);
  int next = (rank + 1) % size;
  for (int round = 0; round < ROUNDS; round++) {
    long value = 1000 * rank + round, got = -1;
    MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, window);
    MPI_Win_flush(0, window);
    MPI_Put(&value, 1, MPI_LONG, next, FIRST + rank, 1, MPI_LONG, window);
    MPI_Win_flush(next, window);
    MPI_Get(&got, 1, MPI_LONG, next, FIRST + rank, 1, MPI_LONG, window);
    MPI_Win_flush(next, window);
    wrong += got != value;
  }
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Get(&sum, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
  MPI_Win_flush(0, window);
  MPI_Win_unlock_all(window);
  printf("rank %d: %ld gets were wrong; the sum is %ld\n", rank, wrong, sum);
  MPI_Win_free(&window);
  MPI_Finalize();
  return wrong || sum != (long) ROUNDS * size;
}
