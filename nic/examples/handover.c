/* Hands data over with a flag: one thread writes both by RDMA, another waits for the flag and reads the data.
 *
 *   apart    the flag goes over another queue pair than the data: it may be seen first
 *   waited   it goes when the data's completion is there: still, it may be seen first
 *   flushed  it goes when a read of the data has completed, too: the read waits for the write
 *   along    both go over one queue pair, which keeps writes in their order */
#include "verbs.h"

enum { DATA, FLAG, SOURCE, READ, SEEN = 8 };
static unsigned long stale, rounds;

static void *reader(void *unused) {
  for (unsigned long round = 1;; round++) {
    while (words[FLAG] < round) { }
    if (words[FLAG] != round) return unused;
    if (words[DATA] != round && stale++ == 0) printf("round %lu: the flag is here, the data is not\n", round);
    words[SEEN] = round;
  }
}

int main(int count, char **arguments) {
  start(count, arguments, "apart|waited|flushed|along");
  int is_waited = is(arguments, "waited"), is_flushed = is(arguments, "flushed");
  struct ibv_qp *for_data = connection(), *for_flag = is(arguments, "along") ? for_data : connection();
  pthread_t thread;
  pthread_create(&thread, NULL, reader, NULL);
  while (!is_over()) {
    words[SOURCE] = ++rounds;
    post(for_data, IBV_WR_RDMA_WRITE, &words[SOURCE], &words[DATA], 8, 0);
    if (is_waited || is_flushed) await(for_data, 1);
    if (is_flushed) {
      post(for_data, IBV_WR_RDMA_READ, &words[READ], &words[DATA], 8, 0);
      await(for_data, 1);
    }
    post(for_flag, IBV_WR_RDMA_WRITE, &words[SOURCE], &words[FLAG], 8, 0);
    await(for_flag, 1);
    if (!is_waited && !is_flushed) await(for_data, 1);
    while (words[SEEN] != rounds) { }
  }
  words[FLAG] = -1ul;
  pthread_join(thread, NULL);
  return report(stale, rounds, "read data that was not there");
}
