/* All objects except queue pairs: what the worker has, and calls that make, change and destroy them. */
static struct ibv_context *context;
/* `addresses`: of this process's device, and of the other's. */
static struct { struct ibv_pd *pd; struct ibv_ah *addresses[2]; int users; } domains[PDS];
static struct { struct ibv_comp_channel *channel; int users; } channels[CHANNELS];
/* `arms`: how often an event was asked for and has not come. */
static struct queue { struct ibv_cq *cq; int users, channel, is_extended, has_overrun; unsigned arms,
  unacknowledged; } queues[CQS];
static struct shared { struct ibv_srq *srq; int users; unsigned pd, most, pieces, serial, posted;
  uint8_t state[4096]; }
  shared[SRQS];
static unsigned serials;
static unsigned long events;

static void make_domain(void) {
  unsigned index = below(PDS);
  if (domains[index].pd) return;
  call("ibv_alloc_pd");
  domains[index].pd = ibv_alloc_pd(context);
  expect(domains[index].pd != NULL, "it failed");
}

static void end_domain(unsigned index) {
  if (!domains[index].pd) return;
  call("ibv_dealloc_pd");
  int code = ibv_dealloc_pd(domains[index].pd);
  expect_code(code, domains[index].users ? EBUSY : 0);
  if (!code) domains[index].pd = NULL;
}

static void make_address(void) {
  unsigned index = below(PDS), is_other = below(2);
  if (!domains[index].pd || domains[index].addresses[is_other]) return;
  struct ibv_ah_attr attr = { .dlid = chance(95) ? told[is_other ? !at.worker : at.worker].lid : wild(),
    .port_num = chance(95) ? 1 : wild(), .is_global = chance(30) };
  if (chance(5)) attr.grh.sgid_index = wild();
  int is_fine = (attr.port_num == 1 || attr.port_num == 2) && (!attr.is_global || attr.grh.sgid_index == 0);
  call("ibv_create_ah");
  errno = 0;
  struct ibv_ah *made = ibv_create_ah(domains[index].pd, &attr);
  if (!made != !is_fine || (!made && !errno)) fail("%s", made ? "expected an error" : strerror(errno));
  domains[index].addresses[is_other] = made;
  domains[index].users += made != NULL;
}

static void end_address(unsigned index, unsigned is_other) {
  if (!domains[index].addresses[is_other]) return;
  call("ibv_destroy_ah");
  expect_code(ibv_destroy_ah(domains[index].addresses[is_other]), 0);
  domains[index].addresses[is_other] = NULL;
  domains[index].users--;
}

/* IBV_ACCESS_FLUSH_GLOBAL and IBV_ACCESS_FLUSH_PERSISTENT, which headers before rdma-core 45 do not have. */
enum { PLACEMENTS = 3 << 8 };

/* Any flags, and whether they can be had. */
static int flags_of_region(int *flags) {
  static const int usual[] = { 0, 1, 3, 5, 7, 9, 13, 15, 4 };
  *flags = chance(85) ? 15 | PLACEMENTS : chance(90) ? usual[below(9)] : (int) wild();
  int known = 0x3ff | 0x3ff00000, changes = *flags & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
  return !(*flags & ~known) && !(*flags & (IBV_ACCESS_ON_DEMAND | IBV_ACCESS_ZERO_BASED)) &&
    (!changes || *flags & IBV_ACCESS_LOCAL_WRITE);
}

static void tell_region(unsigned index) {
  struct region *region = &regions[index];
  told[at.worker].keys[index] = region->mr ? region->mr->rkey : 0;
  told[at.worker].domains_of_keys[index] = region->pd;
  told[at.worker].addresses[index] = (uintptr_t) slot(index) + region->from;
}

static void make_region(void) {
  unsigned index = below(SLOTS), pd = below(PDS);
  struct region *region = &regions[index];
  if (region->mr || !domains[pd].pd) return;
  turn_slot(index);
  unsigned from = chance(50) ? 8 * below(SLOT / 16) : below(SLOT - 64);
  unsigned to = from + 1 + below(SLOT - from);
  int flags, is_fine = flags_of_region(&flags);
  unsigned char *start = slot(index) + from;
  size_t length = to - from;
  if (chance(3)) { length = 0; is_fine = 0; }
  if (chance(3)) { start = memory - 64; is_fine = 0; }
  if (chance(3)) { length += (size_t) SLOTS * SLOT; is_fine = 0; }
  call("ibv_reg_mr");
  errno = 0;
  region->mr = ibv_reg_mr(domains[pd].pd, start, length, flags);
  if (!region->mr) {
    if (is_fine || !errno) fail("flags 0x%x, %zu bytes: %s", flags, length, strerror(errno));
    return;
  }
  if (!is_fine) fail("flags 0x%x, %zu bytes: expected an error", flags, length);
  region->from = from, region->to = to, region->pd = pd;
  region->is_written = flags & IBV_ACCESS_LOCAL_WRITE;
  domains[pd].users++;
  tell_region(index);
}

static void change_region(void) {
  unsigned index = below(SLOTS), pd = below(PDS);
  struct region *region = &regions[index];
  if (!region->mr || !domains[pd].pd) return;
  int flags, is_fine = flags_of_region(&flags), what = chance(80) ? 1 + (int) below(7) : (int) wild();
  call("ibv_rereg_mr");
  int code = ibv_rereg_mr(region->mr, what, domains[pd].pd, slot(index), SLOT, flags);
  if (what & ~7 || !what || (what & IBV_REREG_MR_CHANGE_ACCESS && !is_fine)) expect(code,
    "expected an error");
  else if (code) fail("what %d, flags 0x%x: %d, %s", what, flags, code, strerror(errno));
  if (code) return;
  if (what & IBV_REREG_MR_CHANGE_TRANSLATION) region->from = 0, region->to = SLOT;
  if (what & IBV_REREG_MR_CHANGE_ACCESS) region->is_written |= flags & IBV_ACCESS_LOCAL_WRITE;
  if (what & IBV_REREG_MR_CHANGE_PD) {
    domains[region->pd].users--;
    domains[region->pd = pd].users++;
  }
  tell_region(index);
}

static void end_region(unsigned index) {
  struct region *region = &regions[index];
  if (!region->mr) return;
  call("ibv_dereg_mr");
  expect_code(ibv_dereg_mr(region->mr), 0);
  region->mr = NULL;
  domains[region->pd].users--;
  tell_region(index);
  turn_slot(index);
}

static void make_channel(void) {
  unsigned index = below(CHANNELS);
  if (channels[index].channel) return;
  call("ibv_create_comp_channel");
  channels[index].channel = ibv_create_comp_channel(context);
  expect(channels[index].channel != NULL, "it failed");
  do_not_wait(channels[index].channel->fd);
}

static void end_channel(unsigned index) {
  if (!channels[index].channel) return;
  call("ibv_destroy_comp_channel");
  int code = ibv_destroy_comp_channel(channels[index].channel);
  expect_code(code, channels[index].users ? EBUSY : 0);
  if (!code) channels[index].channel = NULL;
}

static void make_queue(void) {
  struct queue *queue = &queues[below(CQS)];
  int channel = chance(60) ? (int) below(CHANNELS) : -1, vector = chance(95) ? 0 : (int) wild();
  if (queue->cq || (channel >= 0 && !channels[channel].channel)) return;
  int entries = chance(90) ? 16 + (int) below(512) : (int) wild();
  struct ibv_comp_channel *waits = channel >= 0 ? channels[channel].channel : NULL;
  int is_fine = entries > 0 && entries <= 4194303 && vector == 0;
  *queue = (struct queue) { .channel = channel, .is_extended = chance(30) };
  errno = 0;
  if (queue->is_extended) {
    struct ibv_cq_init_attr_ex attr = { .cqe = entries, .channel = waits, .comp_vector = vector,
      .wc_flags = chance(90) ? below(IBV_WC_STANDARD_FLAGS + 1) : random_word(), .comp_mask = chance(90) ?
        0 : wild() };
    is_fine = is_fine && !(attr.wc_flags & ~(uint64_t) IBV_WC_STANDARD_FLAGS) && !attr.comp_mask;
    if (attr.comp_mask == 1 && !(attr.wc_flags & ~(uint64_t) IBV_WC_STANDARD_FLAGS)) is_fine = entries > 0 &&
      entries <= 4194303 && vector == 0;
    call("ibv_create_cq_ex");
    struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);
    queue->cq = cq ? ibv_cq_ex_to_cq(cq) : NULL;
  } else {
    call("ibv_create_cq");
    queue->cq = ibv_create_cq(context, entries, queue, waits, vector);
  }
  if (!queue->cq != !is_fine || (!queue->cq && !errno)) {
    fail("%d entries, vector %d: %s", entries, vector, queue->cq ? "expected an error" : strerror(errno));
  }
  if (queue->cq && channel >= 0) channels[channel].users++;
}

static void resize_queue(void) {
  struct queue *queue = &queues[below(CQS)];
  if (!queue->cq) return;
  int entries = chance(80) ? 16 + (int) below(512) : (int) wild();
  call("ibv_resize_cq");
  int code = ibv_resize_cq(queue->cq, entries);
  if (entries <= 0 || entries > 4194303) expect_code(code, EINVAL);
  else expect(code == 0 || code == EINVAL, "another error");
}

static void end_queue(unsigned index) {
  struct queue *queue = &queues[index];
  if (!queue->cq) return;
  if (queue->unacknowledged) {
    call("ibv_ack_cq_events");
    ibv_ack_cq_events(queue->cq, queue->unacknowledged);
    queue->unacknowledged = 0;
  }
  call("ibv_destroy_cq");
  int code = ibv_destroy_cq(queue->cq);
  expect_code(code, queue->users ? EBUSY : 0);
  if (code) return;
  queue->cq = NULL;
  if (queue->channel >= 0) channels[queue->channel].users--;
}

static void arm_queue(void) {
  struct queue *queue = &queues[below(CQS)];
  if (!queue->cq) return;
  call("ibv_req_notify_cq");
  expect_code(ibv_req_notify_cq(queue->cq, below(2)), 0);
  queue->arms++;
}

static void take_event(void) {
  unsigned index = below(CHANNELS);
  if (!channels[index].channel) return;
  struct ibv_cq *cq;
  void *known;
  call("ibv_get_cq_event");
  errno = 0;
  if (ibv_get_cq_event(channels[index].channel, &cq, &known)) {
    if (errno != EAGAIN) fail("%s", strerror(errno));
    return;
  }
  for (unsigned other = 0; other < CQS; other++) {
    struct queue *queue = &queues[other];
    if (queue->cq != cq || queue->channel != (int) index) continue;
    expect(queue->arms > 0, "an event that nobody asked for");
    queue->arms--;
    queue->unacknowledged++, events++;
    if (chance(50)) {
      call("ibv_ack_cq_events");
      ibv_ack_cq_events(cq, queue->unacknowledged);
      queue->unacknowledged = 0;
    }
    return;
  }
  fail("an event of a queue that is not there");
}

static void make_shared(void) {
  unsigned index = below(SRQS), pd = below(PDS);
  struct shared *one = &shared[index];
  if (one->srq || !domains[pd].pd) return;
  struct ibv_srq_init_attr attr = { .attr = { .max_wr = chance(90) ? 1 + below(64) : wild(),
    .max_sge = chance(90) ? below(5) : wild() } };
  int is_fine = attr.attr.max_wr <= 16384 && attr.attr.max_sge <= 32;
  call("ibv_create_srq");
  errno = 0;
  one->srq = ibv_create_srq(domains[pd].pd, &attr);
  if (!one->srq != !is_fine || (!one->srq && !errno)) fail("%s", one->srq ? "expected an error" :
    strerror(errno));
  if (!one->srq) return;
  one->pd = pd, one->most = attr.attr.max_wr, one->pieces = attr.attr.max_sge;
  one->serial = ++serials, one->posted = 0;
  memset(one->state, 0, sizeof one->state);
  domains[pd].users++;
}

static void change_shared(void) {
  struct shared *one = &shared[below(SRQS)];
  if (!one->srq) return;
  struct ibv_srq_attr attr = { .srq_limit = chance(80) ? below(one->most) : wild() };
  int mask = chance(80) ? IBV_SRQ_LIMIT : (int) wild();
  call("ibv_modify_srq");
  int code = ibv_modify_srq(one->srq, &attr, mask);
  if (mask == IBV_SRQ_LIMIT) expect_code(code, attr.srq_limit > one->most ? EINVAL : 0);
  else expect(code == 0 || code == EINVAL || code == EOPNOTSUPP, "another error");
  call("ibv_query_srq");
  expect_code(ibv_query_srq(one->srq, &attr), 0);
  expect(attr.max_wr == one->most, "another size");
}

static void end_shared(unsigned index) {
  struct shared *one = &shared[index];
  if (!one->srq) return;
  call("ibv_destroy_srq");
  int code = ibv_destroy_srq(one->srq);
  expect_code(code, one->users ? EBUSY : 0);
  if (code) return;
  one->srq = NULL;
  domains[one->pd].users--;
}
