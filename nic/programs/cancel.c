/* Threads that wait for events and are canceled, as servers do in the end: the program goes on, and so does its NIC.
 * And memory that is deregistered while the NIC reads into it: the request fails, or the data is there. */
#include "../examples/verbs.h"
#include <unistd.h>

enum waits { FOR_COMPLETIONS, FOR_EVENTS, BY_POLLS, ALL_WAITS };
static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;

static void *wait_for_ever(void *how) {
  for (;;) {
    struct ibv_cq *of;
    struct ibv_async_event event;
    struct ibv_wc wc;
    void *given;
    switch (*(enum waits *) how) {
    case FOR_COMPLETIONS: ibv_get_cq_event(channel, &of, &given); break;
    case FOR_EVENTS: ibv_get_async_event(context, &event); break;
    default: ibv_poll_cq(cq, 1, &wc); pthread_testcancel();
    }
  }
  return NULL;
}

static void cancel(enum waits how) {
  pthread_t thread;
  void *result;
  check(!pthread_create(&thread, NULL, wait_for_ever, &how), "pthread_create");
  usleep(20000);
  check(!pthread_cancel(thread) && !pthread_join(thread, &result), "pthread_cancel");
  check(result == PTHREAD_CANCELED, "the thread is canceled");
}

static void read_and_deregister(int delay) {
  static word into[512] __attribute__((aligned(4096)));
  struct ibv_mr *own = ibv_reg_mr(domain, into, sizeof into, IBV_ACCESS_LOCAL_WRITE);
  struct ibv_qp *qp = connection();
  check(own != NULL, "ibv_reg_mr");
  struct ibv_sge piece = { .addr = (unsigned long) into, .length = 8, .lkey = own->lkey };
  struct ibv_send_wr *bad, wr = { .sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_READ,
    .wr.rdma = { .remote_addr = (unsigned long) words, .rkey = region->rkey } };
  into[0] = 0;
  words[0] = 42;
  check(!ibv_post_send(qp, &wr, &bad), "ibv_post_send");
  usleep(delay);
  check(!ibv_dereg_mr(own), "ibv_dereg_mr");
  struct ibv_wc wc;
  while (!ibv_poll_cq(qp->send_cq, 1, &wc)) {}
  check(wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_LOC_PROT_ERR, "the status");
  check((wc.status == IBV_WC_SUCCESS) == (into[0] == 42), "the data is there if the request succeeds");
}

int main(void) {
  char *own[] = { "cancel", "all" };
  start(2, own, "all");
  channel = ibv_create_comp_channel(context);
  cq = ibv_create_cq(context, 16, NULL, channel, 0);
  check(channel && cq, "ibv_create_cq");
  for (int how = 0; how < ALL_WAITS; how++) cancel((enum waits) how);
  for (int delay = 0; delay < 100; delay++) read_and_deregister(delay);
  return 0;
}
