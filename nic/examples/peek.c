/* A server's CPU writes data, then a flag. A client reads the flag and the data by RDMA, and takes the data
 * if the flag is there.
 *
 *   together  it posts both reads at once: the NIC may read the data before the flag
 *   waited    it posts the second when the first has completed */
#include "verbs.h"

enum { DATA, FLAG = 8, OWN = 16 };
static _Atomic int is_done;

static void *server(void *unused) {
  for (unsigned long round = 1; !is_done; round++) {
    words[DATA] = round;
    words[FLAG] = round;
  }
  return unused;
}

int main(int count, char **arguments) {
  start(count, arguments, "together|waited");
  int is_waited = is(arguments, "waited");
  struct ibv_qp *qp = connection();
  pthread_t thread;
  pthread_create(&thread, NULL, server, NULL);
  unsigned long wrong = 0, rounds = 0;
  for (; !is_over(); rounds++) {
    post(qp, IBV_WR_RDMA_READ, &words[OWN], &words[FLAG], 8, 0);
    if (is_waited) await(qp, 1);
    post(qp, IBV_WR_RDMA_READ, &words[OWN + 1], &words[DATA], 8, 0);
    await(qp, is_waited ? 1 : 2);
    wrong += words[OWN + 1] < words[OWN];
  }
  is_done = 1;
  pthread_join(thread, NULL);
  return report(wrong, rounds, "took data that was older than its flag");
}
