/* Two clients increment a number in memory on one server; a lock on another server protects it. A client
 * takes the lock by compare-and-swap, reads the number, writes it back, and releases the lock.
 *
 *   waited   it releases when the write has completed: the write may become visible later, and the next
 *            client reads an old number
 *   flushed  it reads the number again before it releases: the read waits for the write */
#include "verbs.h"

enum { LOCK, NUMBER = 8, OF_CLIENT = 16 };
static unsigned long rounds[2];
static int is_flushed;

static void *client(void *argument) {
  int me = *(int *) argument;
  word *own = &words[OF_CLIENT + 8 * me];
  struct ibv_qp *for_lock = connection(), *for_number = connection();
  for (; !is_over(); rounds[me]++) {
    do {
      post_atomic(for_lock, IBV_WR_ATOMIC_CMP_AND_SWP, &own[0], &words[LOCK], 0, 1);
      await(for_lock, 1);
    } while (own[0] != 0);
    post(for_number, IBV_WR_RDMA_READ, &own[1], &words[NUMBER], 8, 0);
    await(for_number, 1);
    own[1]++;
    post(for_number, IBV_WR_RDMA_WRITE, &own[1], &words[NUMBER], 8, 0);
    await(for_number, 1);
    if (is_flushed) {
      post(for_number, IBV_WR_RDMA_READ, &own[2], &words[NUMBER], 8, 0);
      await(for_number, 1);
    }
    post_atomic(for_lock, IBV_WR_ATOMIC_CMP_AND_SWP, &own[0], &words[LOCK], 1, 0);
    await(for_lock, 1);
  }
  /* The last write is visible before the number is compared. */
  post(for_number, IBV_WR_RDMA_READ, &own[2], &words[NUMBER], 8, 0);
  await(for_number, 1);
  return NULL;
}

int main(int count, char **arguments) {
  start(count, arguments, "waited|flushed");
  is_flushed = is(arguments, "flushed");
  pthread_t threads[2];
  int numbers[2] = { 0, 1 };
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, client, &numbers[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  unsigned long all = rounds[0] + rounds[1];
  return report(all - words[NUMBER], all, "were lost");
}
