/* Queue pairs: what the worker knows of each, and calls that make, change and destroy them. */

/* One wrong request ends a connection, so most queue pairs are careful: what they ask is small, and wrong less
 * often. This is of the pair whose request, receive or attributes are being made. */
enum { CAREFUL = 70 };
static int is_careful;
static int errs(unsigned percent) { return !is_careful && chance(percent); }

/* What is remembered of a request, by its number. */
enum { KNOWN = 8192, SIGNALED = 1, CANNOT_SUCCEED = 2, OPCODE = 4 };

static struct pair {
  struct ibv_qp *qp;
  struct ibv_qp_cap cap;
  unsigned pd, sends, receives, serial;
  int srq, signals_all, is_extended, is_careful, has_failed;
  /* Its port, which its address must name. */
  uint8_t port;
  /* The state that was set last. The NIC may have moved it to the error state since. */
  enum ibv_qp_state state;
  /* How many requests were posted, and the last of them whose completion was polled. */
  unsigned posted, completed, receives_posted, receives_completed;
  uint8_t known[KNOWN];
} pairs[PAIRS];

/* The names of requests: 0 for sends, 1 for receives, 2 for shared receives. */
static uint64_t name(unsigned kind, unsigned index, unsigned serial, unsigned number) {
  return (uint64_t) kind << 60 | (uint64_t) index << 52 | (uint64_t) (serial & 0xfffff) << 32 | number;
}

static void forget_requests(struct pair *pair) {
  pair->serial = ++serials;
  pair->posted = pair->completed = pair->receives_posted = pair->receives_completed = 0;
  pair->has_failed = 0;
}

/* Whether a queue pair and its usual peer send datagrams. */
static int has_datagrams(unsigned index) { return (index / 2) % 2 == 1; }

static void make_pair(void) {
  unsigned index = below(PAIRS), pd = below(PDS), sends = below(CQS), receives = below(CQS);
  int srq = chance(30) ? (int) below(SRQS) : -1;
  struct pair *pair = &pairs[index];
  if (pair->qp || !domains[pd].pd || !queues[sends].cq || !queues[receives].cq || (srq >= 0 &&
    !shared[srq].srq)) return;
  int is_wild = chance(10);
  struct ibv_qp_cap cap = { .max_send_wr = 1 + below(64), .max_recv_wr = below(64), .max_send_sge = below(5),
    .max_recv_sge = below(5), .max_inline_data = below(256) };
  if (is_wild) cap = (struct ibv_qp_cap) { wild(), wild(), wild(), wild(), wild() };
  int is_fine = cap.max_send_wr <= 16384 && cap.max_recv_wr <= 16384 && cap.max_send_sge <= 32 &&
    cap.max_recv_sge <= 32 && cap.max_inline_data <= 1024;
  enum ibv_qp_type usual = has_datagrams(index) ? IBV_QPT_UD : IBV_QPT_RC,
    type = chance(97) ? usual : (enum ibv_qp_type) wild();
  if (type == IBV_QPT_UD || type == IBV_QPT_RC) type = usual;
  struct ibv_qp_init_attr_ex attr = { .send_cq = queues[sends].cq, .recv_cq = queues[receives].cq, .cap = cap,
    .srq = srq >= 0 ? shared[srq].srq : NULL, .qp_type = type, .sq_sig_all = below(2), .pd = domains[pd].pd,
    .comp_mask = IBV_QP_INIT_ATTR_PD };
  *pair = (struct pair) { .pd = pd, .sends = sends, .receives = receives, .srq = srq, .signals_all = attr.sq_sig_all,
    .is_extended = chance(40), .is_careful = chance(CAREFUL) };
  errno = 0;
  if (pair->is_extended) {
    attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |
      IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |
      IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
    if (!has_datagrams(index)) attr.send_ops_flags |= 3 << 11; /* FLUSH and ATOMIC_WRITE */
    if (chance(5)) { attr.send_ops_flags |= (uint64_t) 1 << (below(2) ? 7 + below(4) : 13 + below(44)); is_fine = 0; }
    call("ibv_create_qp_ex");
    pair->qp = ibv_create_qp_ex(context, &attr);
    cap = attr.cap;
  } else {
    struct ibv_qp_init_attr old = { .send_cq = attr.send_cq, .recv_cq = attr.recv_cq, .srq = attr.srq,
      .cap = cap,
      .qp_type = type, .sq_sig_all = attr.sq_sig_all };
    call("ibv_create_qp");
    pair->qp = ibv_create_qp(domains[pd].pd, &old);
    cap = old.cap;
  }
  if (!pair->qp && type == usual && (is_fine || !errno)) fail("%s", strerror(errno));
  if (pair->qp && (!is_fine || type != usual)) fail("type %d: expected an error", type);
  if (!pair->qp) return;
  pair->cap = cap;
  forget_requests(pair);
  domains[pd].users++, queues[sends].users++, queues[receives].users++;
  if (srq >= 0) shared[srq].users++;
  told[at.worker].pairs[index] = pair->qp->qp_num;
  told[at.worker].domains[index] = pd;
}

static void end_pair(unsigned index) {
  struct pair *pair = &pairs[index];
  if (!pair->qp) return;
  call("ibv_destroy_qp");
  expect_code(ibv_destroy_qp(pair->qp), 0);
  pair->qp = NULL;
  domains[pair->pd].users--, queues[pair->sends].users--, queues[pair->receives].users--;
  if (pair->srq >= 0) shared[pair->srq].users--;
  told[at.worker].pairs[index] = 0;
}

/* The state that the NIC says. */
static enum ibv_qp_state state_of(struct pair *pair) {
  struct ibv_qp_attr attr;
  struct ibv_qp_init_attr init;
  const char *before = at.doing;
  call("ibv_query_qp");
  expect_code(ibv_query_qp(pair->qp, &attr, IBV_QP_STATE, &init), 0);
  expect(init.cap.max_send_wr == pair->cap.max_send_wr && init.send_cq == queues[pair->sends].cq,
    "not as created");
  int has_failed = has_datagrams((unsigned) (pair - pairs)) && attr.qp_state == IBV_QPS_SQE ?
    pair->state >= IBV_QPS_RTS : attr.qp_state == IBV_QPS_ERR;
  int may_have_failed = pair->state >= IBV_QPS_RTR && has_failed;
  if (attr.qp_state != pair->state && !may_have_failed) fail("state %d after %d was set", attr.qp_state,
    pair->state);
  at.doing = before;
  return attr.qp_state;
}

enum { KEY = 9 };

/* Whether a queue pair's usual peer is in the other process. Otherwise, it is the next or last one of this
 * process. */
static int is_far(unsigned index) { return index >= PAIRS / 2; }

static uint32_t peer_of(unsigned index) {
  uint32_t number = is_far(index) ? told[!at.worker].pairs[index] : told[at.worker].pairs[index ^ 1];
  return chance(97) ? number : wild() & (chance(50) ? 0xffffff : 0xffffffff);
}

static struct ibv_qp_attr any_attributes(unsigned index, int is_sound) {
  is_careful = pairs[index].is_careful;
  union ibv_gid gid;
  struct ibv_port_attr port;
  uint8_t number = is_sound ? 1 : (uint8_t) wild();
  call("ibv_query_port");
  int code = ibv_query_port(context, number, &port);
  expect_code(code, number == 1 || number == 2 ? 0 : EINVAL);
  call("ibv_query_gid");
  if (ibv_query_gid(context, number, 0, &gid)) expect(code && errno == EINVAL, "it failed");
  struct ibv_qp_attr attr = { .qkey = chance(97) ? KEY : wild(), .port_num = number, .path_mtu = IBV_MTU_1024,
    .dest_qp_num = peer_of(index) & 0xffffff,
    .qp_access_flags = chance(90) ? 15 | PLACEMENTS : below(16) | below(4) << 8, .max_rd_atomic = errs(10) ? 0 : 4,
      .max_dest_rd_atomic = is_careful || chance(90) ? 4 : below(4),
    .min_rnr_timer = chance(90) ? 1 + below(8) : below(32), .timeout = chance(90) ? 1 + below(14) : below(32),
    .retry_cnt = below(8), .rnr_retry = below(8),
    .ah_attr = { .dlid = chance(97) ? told[is_far(index) ? !at.worker : at.worker].lid : below(5),
      .port_num = number } };
  if (!is_far(index) && chance(30)) {
    attr.ah_attr.is_global = 1;
    attr.ah_attr.grh.dgid = gid;
  }
  if (!is_sound) {
    uint32_t *words = (uint32_t *) &attr;
    for (unsigned count = below(6); count > 0; count--) words[below(sizeof attr / 4)] = wild();
  }
  return attr;
}

static void change_pair(void) {
  static const int datagrams[] = { [IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
    [IBV_QPS_RTR] = 0, [IBV_QPS_RTS] = IBV_QP_SQ_PSN };
  static const int connected[] = {
    [IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
    [IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
      IBV_QP_MIN_RNR_TIMER,
    [IBV_QPS_RTS] = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC };
  unsigned index = below(PAIRS);
  /* Mostly one that is not connected. */
  for (unsigned tries = below(PAIRS); tries && pairs[index].state == IBV_QPS_RTS && !pairs[index].has_failed;
    tries--) {
    index = (index + 1) % PAIRS;
  }
  struct pair *pair = &pairs[index];
  if (!pair->qp) return;
  const int *masks = has_datagrams(index) ? datagrams : connected;
  int goes_on = chance(97);
  /* A queue pair waits for its peer, mostly. */
  if (goes_on && pair->state == IBV_QPS_INIT && !peer_of(index) && chance(99)) return;
  struct ibv_qp_attr attr = any_attributes(index, goes_on);
  int mask = IBV_QP_STATE | (chance(70) ? masks[below(4)] : (int) random_word());
  attr.qp_state = chance(95) ? below(8) : wild();
  if (goes_on && pair->state < IBV_QPS_RTS) {
    attr.qp_state = pair->state + 1;
    mask = IBV_QP_STATE | masks[attr.qp_state];
  } else if (goes_on && (pair->state == IBV_QPS_ERR || pair->has_failed ? chance(60) : chance(1))) {
    attr.qp_state = pair->state == IBV_QPS_ERR || chance(70) ? IBV_QPS_RESET : IBV_QPS_ERR;
    if (has_datagrams(index) && chance(50) && state_of(pair) == IBV_QPS_SQE) attr.qp_state = IBV_QPS_RTS;
    mask = IBV_QP_STATE;
  } else if (goes_on) {
    return;
  }
  if (goes_on && attr.qp_state == IBV_QPS_RTR) attr.ah_attr.port_num = pair->port;
  call("ibv_modify_qp");
  int code = ibv_modify_qp(pair->qp, &attr, mask), has_state = mask & IBV_QP_STATE;
  if (!code && mask & IBV_QP_PORT) pair->port = attr.port_num;
  if (code && goes_on && state_of(pair) != IBV_QPS_ERR && state_of(pair) != IBV_QPS_SQE) fail("%s", strerror(code));
  if (code != 0 && code != EINVAL) fail("%s", strerror(code));
  if (!code && has_state) {
    pair->state = attr.qp_state;
    if (attr.qp_state == IBV_QPS_RESET) forget_requests(pair);
    state_of(pair);
    pair = &pairs[index ^ 1];
    if (attr.qp_state != IBV_QPS_RESET || is_far(index) || !pair->qp || chance(20)) return;
    /* Its peer begins anew, too. */
    call("ibv_modify_qp");
    expect_code(ibv_modify_qp(pair->qp, &attr, IBV_QP_STATE), 0);
    pair->state = IBV_QPS_RESET;
    forget_requests(pair);
  }
}
