/* Requests and completions: posts of all kinds, and checks of what is polled. */

/* A region, mostly one of this domain. */
static struct region *any_region(unsigned pd) {
  struct region *region = &regions[below(SLOTS)];
  int is_any = errs(3);
  for (unsigned tries = 0; tries < SLOTS && !is_any && (!region->mr || region->pd != pd); tries++) {
    region = region + 1 < regions + SLOTS ? region + 1 : regions;
  }
  return region;
}

/* A piece of local memory; whether a request with it cannot succeed. */
static int any_piece(struct ibv_sge *sge, unsigned pd, unsigned length) {
  struct region *region = any_region(pd);
  *sge = (struct ibv_sge) { .length = errs(10) ? below(2048) : length };
  if (region->mr) {
    unsigned room = region->to - region->from, offset = 8 * below(room / 8 + 1);
    sge->addr = (uintptr_t) slot(region - regions) + region->from + offset, sge->lkey = region->mr->lkey;
    if (chance(90) && sge->length > room - offset) sge->length = room - offset;
  }
  if (errs(1)) sge->length = wild();
  if (errs(1)) sge->addr = random_word();
  if (region->mr && !errs(1)) return 0;
  sge->lkey = bad_key();
  return sge->length > 0;
}

/* Memory of the peer, which may be in the other process. */
static void any_target(unsigned pair, uint64_t *address, uint32_t *key, int *is_bad) {
  const struct told *from = &told[is_far(pair) ? !at.worker : at.worker];
  unsigned index = below(SLOTS), pd = from->domains[is_far(pair) ? pair : pair ^ 1];
  int is_any = errs(3);
  for (unsigned tries = 0; tries < SLOTS && !is_any; tries++) {
    if (from->keys[index] && from->domains_of_keys[index] == pd) break;
    index = (index + 1) % SLOTS;
  }
  *address = (from->addresses[index] + 7) / 8 * 8 + 8 * below(is_careful ? 2 : 64), *key = from->keys[index];
  if (errs(1)) *address = random_word();
  *is_bad = errs(1) || !*key;
  if (*is_bad) *key = bad_key();
}

static unsigned long total(const struct ibv_sge *pieces, int count) {
  unsigned long bytes = 0;
  for (int piece = 0; piece < count; piece++) bytes += pieces[piece].length;
  return bytes;
}

static int is_atomic(int opcode) { return opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
  opcode == IBV_WR_ATOMIC_FETCH_AND_ADD; }

enum { PIECES = 40, LIST = 4 };
static struct ibv_sge pieces[LIST][PIECES];
static uint64_t inline_data[160];

/* A request, and the error that it must give by itself (0: none). */
static int any_request(struct pair *pair, struct ibv_send_wr *wr, struct ibv_sge *list, int *cannot) {
  is_careful = pair->is_careful;
  int most = (int) pair->cap.max_send_sge, count = chance(60) && most ? 1 : (int) below(most + 1);
  if (chance(1)) count = (int) wild();
  int is_bad_piece[PIECES];
  for (int piece = 0; piece < count && piece < PIECES; piece++) is_bad_piece[piece] = any_piece(&list[piece],
    pair->pd, 8);
  *wr = (struct ibv_send_wr) { .sg_list = list, .num_sge = count, .opcode = chance(99) ? below(7) : wild(),
    .send_flags = below(2) ? IBV_SEND_SIGNALED : below(16) };
  if (chance(1)) wr->send_flags |= random_word();
  /* An atomic's result goes to the first piece, and the others do not matter. */
  *cannot = 0;
  int used = is_atomic(wr->opcode) && count > 1 ? 1 : count;
  for (int piece = 0; piece < used && piece < PIECES; piece++) *cannot |= is_bad_piece[piece];
  int is_bad = 0, has_target = wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM;
  uint64_t address;
  uint32_t key;
  any_target((unsigned) (pair - pairs), &address, &key, &is_bad);
  if (is_atomic(wr->opcode)) {
    wr->wr.atomic.remote_addr = address, wr->wr.atomic.rkey = key;
    wr->wr.atomic.compare_add = below(3), wr->wr.atomic.swap = below(3);
  } else if (has_target) {
    wr->wr.rdma.remote_addr = address, wr->wr.rdma.rkey = key;
  }
  unsigned long bytes = total(list, count < 0 || count > PIECES ? 0 : count);
  if (has_datagrams((unsigned) (pair - pairs))) {
    unsigned slot = (unsigned) (pair - pairs);
    if (chance(95)) wr->opcode = below(2) ? IBV_WR_SEND : IBV_WR_SEND_WITH_IMM;
    wr->wr.ud.ah = domains[pair->pd].addresses[is_far(slot)];
    wr->wr.ud.remote_qpn = peer_of(slot), wr->wr.ud.remote_qkey = chance(90) ? KEY : wild();
    has_target = *cannot = 0;
    for (int piece = 0; piece < count && piece < PIECES; piece++) *cannot |= is_bad_piece[piece];
    if (wr->opcode != IBV_WR_SEND && wr->opcode != IBV_WR_SEND_WITH_IMM) return EINVAL;
    if (!wr->wr.ud.ah || count < 0 || count > most) return EINVAL;
    if (!(wr->send_flags & IBV_SEND_INLINE)) return bytes > 4096 ? EINVAL : 0;
  }
  if ((unsigned) wr->opcode > 15) return EINVAL;
  if ((unsigned) wr->opcode > 6) return EOPNOTSUPP;
  if (count < 0 || count > most) return EINVAL;
  int fetches = wr->opcode == IBV_WR_RDMA_READ || is_atomic(wr->opcode);
  *cannot |= has_target && is_bad && bytes > 0;
  if (wr->send_flags & IBV_SEND_INLINE) {
    if (bytes > pair->cap.max_inline_data) return EINVAL;
    if (fetches) return EINVAL;
    for (int piece = 0; piece < count; piece++) list[piece].addr = (uintptr_t) inline_data;
    *cannot = has_target && is_bad && bytes > 0;
    return 0;
  }
  if (bytes > 1 << 30) return EINVAL;
  return is_atomic(wr->opcode) && (count == 0 || list[0].length < 8) ? EINVAL : 0;
}

static void remember(struct pair *pair, const struct ibv_send_wr *wr, int cannot) {
  int signaled = pair->signals_all || wr->send_flags & IBV_SEND_SIGNALED;
  pair->known[++pair->posted % KNOWN] =
    (uint8_t) ((signaled ? SIGNALED : 0) | (cannot ? CANNOT_SUCCEED : 0) | wr->opcode * OPCODE);
}

static int takes_requests(struct pair *pair) {
  return pair->state == IBV_QPS_RTS || pair->state == IBV_QPS_SQD || pair->state == IBV_QPS_ERR;
}

static int may_be_full(struct pair *pair, unsigned more) {
  return pair->posted - pair->completed + more > pair->cap.max_send_wr;
}

static void post_sends(void) {
  unsigned index = below(PAIRS), length = 1 + below(LIST);
  struct pair *pair = &pairs[index];
  if (!pair->qp || (pair->state != IBV_QPS_RTS && chance(90))) return;
  struct ibv_send_wr list[LIST], *bad = NULL;
  int codes[LIST], cannot[LIST];
  for (unsigned one = 0; one < length; one++) {
    codes[one] = any_request(pair, &list[one], pieces[one], &cannot[one]);
    list[one].wr_id = name(0, index, pair->serial, pair->posted + one + 1);
    list[one].next = one + 1 < length ? &list[one + 1] : NULL;
  }
  call("ibv_post_send");
  int code = ibv_post_send(pair->qp, list, &bad);
  unsigned taken = code ? (unsigned) (bad - list) : length;
  if (code && (!bad || bad < list || taken >= length)) fail("bad_wr is not in the list");
  for (unsigned one = 0; one < taken; one++) {
    if (codes[one]) fail("request %u: expected %s", one, strerror(codes[one]));
    if (!takes_requests(pair)) fail("it takes requests in state %d", pair->state);
    remember(pair, &list[one], cannot[one]);
  }
  if (!code || code == codes[taken] || (code == EINVAL && !takes_requests(pair))) return;
  if (code != ENOMEM || !may_be_full(pair, 1)) fail("%s, expected %s", strerror(code),
    strerror(codes[taken]));
}

/* FLUSH and ATOMIC_WRITE, for which `ibv_post_send` has nothing. */
enum { FLUSH = 14, ATOMIC_WRITE = 15 };
typedef void flushes(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t address, size_t length, uint8_t type,
  uint8_t level);

/* `wr_flush`, which is behind the end of the structure that headers before rdma-core 45 have. */
static flushes *function_for_flush(struct ibv_qp_ex *qp) {
  flushes *found;
  memcpy(&found, (char *) qp + offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(void *), sizeof found);
  return found;
}

/* Posts one of them; the error that it must give (0: none), and whether it cannot succeed. */
static int place(struct ibv_qp_ex *qp, unsigned index, struct ibv_send_wr *wr, int *cannot) {
  uint64_t address, word = below(3);
  uint32_t key;
  int is_bad;
  any_target(index, &address, &key, &is_bad);
  qp->wr_flags = wr->send_flags, *cannot = is_bad;
  if ((int) wr->opcode == ATOMIC_WRITE) {
    int is_null = chance(1);
    call("ibv_wr_atomic_write");
    ibv_wr_atomic_write(qp, key, address, is_null ? NULL : &word);
    return is_null ? EINVAL : 0;
  }
  unsigned type = chance(95) ? 1 + below(3) : wild(), level = chance(95) ? below(2) : wild();
  call("ibv_wr_flush");
  function_for_flush(qp)(qp, key, address, chance(90) ? below(64) : random_word(), (uint8_t) type,
    (uint8_t) level);
  return (uint8_t) (type - 1) > 2 || (uint8_t) level > 1 ? EINVAL : 0;
}

/* The same with `ibv_wr_*`. */
static void build_sends(void) {
  unsigned index = below(PAIRS), length = 1 + below(LIST);
  struct pair *pair = &pairs[index];
  if (!pair->qp || !pair->is_extended || (pair->state != IBV_QPS_RTS && chance(90))) return;
  call("ibv_qp_to_qp_ex");
  struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(pair->qp);
  expect(qp != NULL, "it failed");
  call("ibv_wr_start");
  ibv_wr_start(qp);
  struct ibv_send_wr list[LIST];
  int cannot[LIST], wanted = 0;
  for (unsigned one = 0; one < length; one++) {
    struct ibv_send_wr *wr = &list[one];
    struct ibv_sge *sges = pieces[one];
    int code = any_request(pair, wr, sges, &cannot[one]);
    if ((unsigned) wr->opcode > 6) {
      /* There is no call for it: an empty SEND instead, which can succeed, whatever the pieces were. */
      code = wr->num_sge < 0 || wr->num_sge > (int) pair->cap.max_send_sge ? EINVAL : 0;
      wr->opcode = IBV_WR_SEND, wr->num_sge = code ? wr->num_sge : 0, cannot[one] = 0;
    }
    qp->wr_id = name(0, index, pair->serial, pair->posted + one + 1);
    qp->wr_flags = wr->send_flags;
    if (!has_datagrams(index) && chance(40)) {
      wr->opcode = (enum ibv_wr_opcode) (below(2) ? FLUSH : ATOMIC_WRITE);
      code = place(qp, index, wr, &cannot[one]);
      if (!wanted) wanted = code;
      continue;
    }
    call("ibv_wr_*");
    switch (wr->opcode) {
      case IBV_WR_RDMA_WRITE: ibv_wr_rdma_write(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr); break;
      case IBV_WR_RDMA_WRITE_WITH_IMM:
        ibv_wr_rdma_write_imm(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, 5); break;
      case IBV_WR_SEND: ibv_wr_send(qp); break;
      case IBV_WR_SEND_WITH_IMM: ibv_wr_send_imm(qp, 5); break;
      case IBV_WR_RDMA_READ: ibv_wr_rdma_read(qp, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr); break;
      case IBV_WR_ATOMIC_CMP_AND_SWP:
        ibv_wr_atomic_cmp_swp(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr, 1, 2); break;
      default: ibv_wr_atomic_fetch_add(qp, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr, 1);
    }
    call("ibv_wr_set_*");
    if (has_datagrams(index)) ibv_wr_set_ud_addr(qp, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
      wr->wr.ud.remote_qkey);
    if (wr->num_sge >= 0 && wr->send_flags & IBV_SEND_INLINE) {
      struct ibv_data_buf buffers[PIECES];
      for (int piece = 0; piece < wr->num_sge && piece < PIECES; piece++) {
        buffers[piece] = (struct ibv_data_buf) { inline_data, sges[piece].length };
      }
      /* A list of inline pieces is bounded by its bytes only. */
      if (wr->num_sge > (int) pair->cap.max_send_sge) cannot[one] = 0;
      if (wr->num_sge > PIECES) wr->num_sge = 0, code = is_atomic(wr->opcode) ||
        wr->opcode == IBV_WR_RDMA_READ ?
        EINVAL : 0;
      unsigned long bytes = total(sges, wr->num_sge);
      code = bytes > pair->cap.max_inline_data || is_atomic(wr->opcode) || wr->opcode == IBV_WR_RDMA_READ ?
        EINVAL : 0;
      if (wr->num_sge == 1) ibv_wr_set_inline_data(qp, inline_data, sges[0].length);
      else ibv_wr_set_inline_data_list(qp, (size_t) wr->num_sge, buffers);
    } else if (wr->num_sge == 1) {
      ibv_wr_set_sge(qp, sges[0].lkey, sges[0].addr, sges[0].length);
      if (pair->cap.max_send_sge > 0) code = is_atomic(wr->opcode) && sges[0].length < 8 ? EINVAL : code;
    } else {
      ibv_wr_set_sge_list(qp, (size_t) wr->num_sge, sges);
    }
    int is_send = wr->opcode == IBV_WR_SEND || wr->opcode == IBV_WR_SEND_WITH_IMM;
    if (has_datagrams(index) && (!is_send || !wr->wr.ud.ah)) code = EINVAL;
    if (!wanted) wanted = code;
  }
  if (chance(10)) {
    call("ibv_wr_abort");
    ibv_wr_abort(qp);
    return;
  }
  call("ibv_wr_complete");
  int code = ibv_wr_complete(qp);
  if (!code && wanted) fail("expected %s", strerror(wanted));
  if (!code && !takes_requests(pair)) fail("it takes requests in state %d", pair->state);
  if (code && code != wanted && !(code == EINVAL && !takes_requests(pair)) &&
    !(code == ENOMEM && may_be_full(pair, length))) fail("%s, expected %s", strerror(code), strerror(wanted));
  for (unsigned one = 0; !code && one < length; one++) remember(pair, &list[one], cannot[one]);
}

static void post_receives(void) {
  int is_shared = chance(30);
  unsigned index = below(is_shared ? SRQS : PAIRS), length = 1 + below(LIST);
  struct pair *pair = is_shared ? NULL : &pairs[index];
  struct shared *one = is_shared ? &shared[index] : NULL;
  if (is_shared ? !one->srq : !pair->qp) return;
  is_careful = pair ? pair->is_careful : chance(CAREFUL);
  unsigned most = is_shared ? one->pieces : pair->cap.max_recv_sge, posted = is_shared ? one->posted :
    pair->receives_posted;
  struct ibv_recv_wr list[LIST], *bad = NULL;
  for (unsigned next = 0; next < length; next++) {
    int count = chance(97) ? (int) below(most + 1) : (int) wild();
    if (is_careful && most && !count) count = 1;
    for (int piece = 0; piece < count && piece < PIECES; piece++) {
      any_piece(&pieces[next][piece], is_shared ? one->pd : pair->pd, 2048);
    }
    list[next] = (struct ibv_recv_wr) { .sg_list = pieces[next], .num_sge = count,
      .wr_id = name(is_shared ? 2 : 1, index, is_shared ? one->serial : pair->serial, posted + next + 1),
      .next = next + 1 < length ? &list[next + 1] : NULL };
  }
  call(is_shared ? "ibv_post_srq_recv" : "ibv_post_recv");
  int code = is_shared ? ibv_post_srq_recv(one->srq, list, &bad) : ibv_post_recv(pair->qp, list, &bad);
  if (code && (!bad || bad < list || bad >= list + length)) fail("bad_wr is not in the list");
  unsigned taken = code ? (unsigned) (bad - list) : length;
  for (unsigned next = 0; next < taken; next++) {
    expect(list[next].num_sge >= 0 && list[next].num_sge <= (int) most, "too many pieces");
    if (is_shared) one->state[(one->posted + next + 1) % sizeof one->state] = 1;
  }
  if (is_shared) one->posted += taken;
  else pair->receives_posted += taken;
  if (!code) return;
  int too_many = list[taken].num_sge < 0 || list[taken].num_sge > (int) most;
  int refused = !is_shared && (pair->srq >= 0 || pair->state == IBV_QPS_RESET);
  int may_be_full = is_shared || pair->receives_posted - pair->receives_completed + 1 > pair->cap.max_recv_wr;
  if (!(code == EINVAL && (too_many || refused)) && !(code == ENOMEM && may_be_full)) fail("%s",
    strerror(code));
}

static int is_known(void *object, enum ibv_event_type type) {
  for (unsigned one = 0; one < PAIRS; one++) if (pairs[one].qp == object) return type != 0 && type != 15;
  for (unsigned one = 0; one < CQS; one++) if (queues[one].cq == object) return type == IBV_EVENT_CQ_ERR;
  for (unsigned one = 0; one < SRQS;
    one++) if (shared[one].srq == object) return type == IBV_EVENT_SRQ_LIMIT_REACHED;
  return 0;
}

/* Returns 0 if there is none. */
static int take_async_event(void) {
  struct ibv_async_event event;
  call("ibv_get_async_event");
  errno = 0;
  if (ibv_get_async_event(context, &event)) {
    if (errno != EAGAIN) fail("%s", strerror(errno));
    return 0;
  }
  if (!is_known(event.element.qp, event.event_type)) {
    fail("an event (%s) of an object that is not there", ibv_event_type_str(event.event_type));
  }
  for (unsigned one = 0; event.event_type == IBV_EVENT_CQ_ERR && one < CQS; one++) {
    if (queues[one].cq == event.element.cq) queues[one].has_overrun = 1;
  }
  call("ibv_ack_async_event");
  ibv_ack_async_event(&event);
  return 1;
}

/* Completions may be missing only from a queue that was too short. The event for it may still be on its way. */
static void is_missing(unsigned queue, const char *what, unsigned request) {
  for (int tries = 0; tries < 200 && !queues[queue].has_overrun; tries++) {
    while (take_async_event()) { }
    usleep(1000);
  }
  if (!queues[queue].has_overrun) fail("%s %u is missing", what, request);
}

/* How many completions there were: of each operation that succeeded, of receives, and of each failure. */
static unsigned long succeeded[16], datagrams, received, failures[IBV_WC_RNR_RETRY_EXC_ERR + 1];

/* Checks a completion: it is of a request that was posted, and each comes once, in order, with a fitting status. */
static void check_completion(unsigned queue, uint64_t id, enum ibv_wc_status status, int opcode,
  uint32_t number) {
  static const int opcodes[] = { IBV_WC_RDMA_WRITE, IBV_WC_RDMA_WRITE, IBV_WC_SEND, IBV_WC_SEND,
    IBV_WC_RDMA_READ,
    IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD, [FLUSH] = 8 /* IBV_WC_FLUSH */, [ATOMIC_WRITE] = IBV_WC_ATOMIC_WRITE };
  unsigned kind = id >> 60, index = id >> 52 & 255, serial = id >> 32 & 0xfffff, request = (uint32_t) id;
  expect(status <= IBV_WC_RNR_RETRY_EXC_ERR, "another status");
  if (kind == 1 && has_datagrams(index)) datagrams += status == IBV_WC_SUCCESS;
  if (kind > 0) received += status == IBV_WC_SUCCESS;
  failures[status]++;
  if (kind == 2) {
    expect(index < SRQS && shared[index].srq && (shared[index].serial & 0xfffff) == serial,
      "a queue that is gone");
    uint8_t *state = &shared[index].state[request % sizeof shared[index].state];
    expect(request <= shared[index].posted && *state == 1, "a shared receive that was not posted");
    *state = 0;
    return;
  }
  expect(kind < 2 && index < PAIRS && pairs[index].qp, "a completion of a queue pair that is gone");
  struct pair *pair = &pairs[index];
  expect((pair->serial & 0xfffff) == serial && pair->qp->qp_num == number,
    "a completion from before a reset");
  if (kind == 1) {
    expect(pair->receives == queue, "another queue");
    expect(request > pair->receives_completed && request <= pair->receives_posted, "receives out of order");
    if (request > pair->receives_completed + 1) is_missing(queue, "receive", pair->receives_completed + 1);
    pair->receives_completed = request;
    return;
  }
  expect(pair->sends == queue, "another queue");
  if (request <= pair->completed || request > pair->posted) {
    fail("request %u, of %u posted and %u completed", request, pair->posted, pair->completed);
  }
  uint8_t known = pair->known[request % KNOWN];
  /* After that, everything is flushed; but datagrams may be sent again. */
  int has_failed = pair->has_failed && !has_datagrams(index);
  for (unsigned before = pair->completed + 1; before < request && request - before < KNOWN; before++) {
    if (has_failed || pair->known[before % KNOWN] & SIGNALED) is_missing(queue, "request", before);
    if (pair->known[before % KNOWN] & CANNOT_SUCCEED &&
      !queues[queue].has_overrun) fail("request %u cannot have succeeded", before);
  }
  pair->completed = request;
  if (has_failed && !queues[queue].has_overrun) expect(status == IBV_WC_WR_FLUSH_ERR,
    "not flushed after an error");
  if (status == IBV_WC_SUCCESS) {
    expect(known & SIGNALED, "a completion that was not asked for");
    if (known & CANNOT_SUCCEED) fail("request %u, operation %u, cannot have succeeded", request,
      known / OPCODE);
    expect(opcode == opcodes[known / OPCODE], "another opcode");
    succeeded[known / OPCODE]++;
  } else {
    pair->has_failed = 1;
  }
}

static void poll(unsigned index) {
  struct queue *queue = &queues[index];
  if (!queue->cq) return;
  if (queue->is_extended && chance(50)) {
    struct ibv_cq_ex *cq = (struct ibv_cq_ex *) queue->cq;
    struct ibv_poll_cq_attr attr = { 0 };
    call("ibv_start_poll");
    int code = ibv_start_poll(cq, &attr);
    if (code == ENOENT) return;
    do {
      expect_code(code, 0);
      check_completion(index, cq->wr_id, cq->status, ibv_wc_read_opcode(cq), ibv_wc_read_qp_num(cq));
      call("ibv_next_poll");
    } while (chance(80) && (code = ibv_next_poll(cq)) != ENOENT);
    call("ibv_end_poll");
    ibv_end_poll(cq);
    return;
  }
  struct ibv_wc found[16];
  int most = (int) below(17);
  call("ibv_poll_cq");
  int count = ibv_poll_cq(queue->cq, most, found);
  expect(count >= 0 && count <= most, "another count");
  for (int one = 0; one < count; one++) {
    check_completion(index, found[one].wr_id, found[one].status, found[one].opcode, found[one].qp_num);
  }
}
