/* Events and completions, as loops of servers use them: nobody waits for the NIC longer than it says, a queue that is
 * gone leaves no event, and threads that poll one queue see each completion once, with its own fields. */
#include "../examples/verbs.h"
#include <poll.h>
#include <sched.h>
#include <unistd.h>

/* What `length` bytes of `words` are written to or read from. */
static int request(struct ibv_qp *qp, int opcode, unsigned long id, unsigned length) {
  struct ibv_sge piece = { .addr = (unsigned long) words, .length = length, .lkey = region->lkey };
  struct ibv_send_wr *bad, wr = { .wr_id = id, .sg_list = &piece, .num_sge = 1, .opcode = opcode,
    .wr.rdma = { .remote_addr = (unsigned long) (words + 64), .rkey = region->rkey } };
  return ibv_post_send(qp, &wr, &bad);
}

static int is_readable(int fd) {
  struct pollfd polled = { .fd = fd, .events = POLLIN };
  return poll(&polled, 1, 0) == 1;
}

/* Polls, asks for an event, polls, and waits for the event. */
static void wait_for(struct ibv_comp_channel *channel, struct ibv_cq *cq, int count) {
  struct ibv_wc wc;
  while (count > 0) {
    if (ibv_poll_cq(cq, 1, &wc) > 0) { count--; continue; }
    check(!ibv_req_notify_cq(cq, 0), "ibv_req_notify_cq");
    if (ibv_poll_cq(cq, 1, &wc) > 0) { count--; continue; }
    struct ibv_cq *of;
    void *given;
    check(!ibv_get_cq_event(channel, &of, &given), "ibv_get_cq_event");
    ibv_ack_cq_events(of, 1);
  }
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

/* A NIC that oversleeps does so in some of a hundred rounds, and for a tenth of a second. */
static void loop(void) {
  enum { ROUNDS = 1000, MOST = ROUNDS / 200 };
  int late = 0;
  for (int round = 0; round < ROUNDS; round++) {
    struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
    struct ibv_cq *cq = ibv_create_cq(context, 64, NULL, channel, 0);
    check(channel && cq, "ibv_create_cq");
    struct ibv_qp *here, *there;
    connect_both(cq, &here, &there);
    double began = now();
    for (int one = 0; one < 8; one++) check(!request(here, IBV_WR_RDMA_READ, one, 8), "ibv_post_send");
    wait_for(channel, cq, 8);
    late += now() - began > 0.05;
    usleep(1000);
    check(!ibv_destroy_qp(here) && !ibv_destroy_qp(there), "ibv_destroy_qp");
    check(!ibv_destroy_cq(cq) && !is_readable(channel->fd), "a queue that is gone leaves no event");
    check(!ibv_destroy_comp_channel(channel), "ibv_destroy_comp_channel");
  }
  if (late > MOST) { fprintf(stderr, "late in %d of %d rounds\n", late, ROUNDS); exit(1); }
}

/* Events of a completion queue and of a queue pair that are destroyed. */
static void channel(void) {
  struct ibv_comp_channel *channel = ibv_create_comp_channel(context);
  struct ibv_cq *cq = ibv_create_cq(context, 64, NULL, channel, 0);
  check(cq && !ibv_req_notify_cq(cq, 0), "ibv_create_cq");
  struct ibv_qp *here, *there;
  connect_both(cq, &here, &there);
  check(!request(here, IBV_WR_RDMA_WRITE, 1, 8), "ibv_post_send");
  while (!is_readable(channel->fd)) {}
  region->rkey++;
  check(!request(here, IBV_WR_RDMA_WRITE, 2, 8), "ibv_post_send");
  region->rkey--;
  while (!is_readable(context->async_fd)) {}
  check(!ibv_destroy_qp(here) && !ibv_destroy_qp(there) && !ibv_destroy_cq(cq), "ibv_destroy_cq");
  check(!is_readable(channel->fd) && !is_readable(context->async_fd), "objects that are gone leave no event");
}

enum { REQUESTS = 50000 };
static struct ibv_cq_ex *polled;
static atomic_int seen[REQUESTS], all, wrong;

/* Odd requests are reads, and each has a length of its own. */
static unsigned length_of(unsigned long id) { return 8 + 8 * (id % 8); }

static void *poller(void *nothing) {
  struct ibv_poll_cq_attr none = { 0 };
  while (atomic_load(&all) < REQUESTS) {
    if (ibv_start_poll(polled, &none)) continue;
    do {
      unsigned long id = polled->wr_id;
      int is_read = ibv_wc_read_opcode(polled) == IBV_WC_RDMA_READ;
      wrong += id >= REQUESTS || is_read != (int) (id % 2) || polled->status != IBV_WC_SUCCESS;
      wrong += is_read && ibv_wc_read_byte_len(polled) != length_of(id);
      if (id < REQUESTS) seen[id]++;
      all++;
    } while (!ibv_next_poll(polled));
    ibv_end_poll(polled);
  }
  return nothing;
}

static void pollers(void) {
  struct ibv_cq_init_attr_ex init = { .cqe = 4096, .wc_flags = IBV_WC_STANDARD_FLAGS };
  polled = ibv_create_cq_ex(context, &init);
  check(polled != NULL, "ibv_create_cq_ex");
  struct ibv_cq *cq = ibv_cq_ex_to_cq(polled);
  struct ibv_qp *here, *there;
  connect_both(cq, &here, &there);
  pthread_t threads[2];
  for (int one = 0; one < 2; one++) pthread_create(&threads[one], NULL, poller, NULL);
  for (unsigned long id = 0; id < REQUESTS;) {
    if (!request(here, id % 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE, id, length_of(id))) id++;
    else sched_yield();
  }
  for (int one = 0; one < 2; one++) pthread_join(threads[one], NULL);
  for (int id = 0; id < REQUESTS; id++) wrong += seen[id] != 1;
  if (wrong) { fprintf(stderr, "%d of %d completions are wrong\n", wrong, REQUESTS); exit(1); }
}

int main(int count, char **arguments) {
  start(count, arguments, "channel|loop|pollers");
  if (is(arguments, "channel")) channel();
  else if (is(arguments, "loop")) loop();
  else pollers();
  return 0;
}
