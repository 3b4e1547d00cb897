/* A client adds to a counter by remote fetch-and-add while the server's own CPU adds to it.
 *
 *   cpu  the server adds with an instruction of its CPU: atomic with other CPUs, not with the NIC
 *   nic  it adds by fetch-and-add over a connection to itself: atomic with those of the client */
#include "verbs.h"

enum { COUNTER, OLD = 8 };
static unsigned long rounds[2];
static int is_cpu;

static void add(struct ibv_qp *qp, int me) {
  post_atomic(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, &words[OLD + 8 * me], &words[COUNTER], 1, 0);
  await(qp, 1);
}

/* Until what was added is visible: a read waits for the writes of its queue pair. */
static void flush(struct ibv_qp *qp, int me) {
  post(qp, IBV_WR_RDMA_READ, &words[OLD + 8 * me], &words[COUNTER], 8, 0);
  await(qp, 1);
}

static void *server(void *unused) {
  struct ibv_qp *qp = connection();
  for (; !is_over(); rounds[1]++) {
    if (is_cpu) words[COUNTER]++;
    else add(qp, 1);
  }
  flush(qp, 1);
  return unused;
}

int main(int count, char **arguments) {
  start(count, arguments, "cpu|nic");
  is_cpu = is(arguments, "cpu");
  struct ibv_qp *qp = connection();
  pthread_t thread;
  pthread_create(&thread, NULL, server, NULL);
  for (; !is_over(); rounds[0]++) add(qp, 0);
  pthread_join(thread, NULL);
  flush(qp, 0);
  unsigned long all = rounds[0] + rounds[1];
  return report(all - words[COUNTER], all, "were lost");
}
