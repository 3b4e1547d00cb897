/* -- messages: each consumes a receive, in the order in which these were posted -- */

/* Takes completions of receives, if there are any. Those of earlier instances are of no interest. */
static void look(struct thread *t, int link)
{
	struct inbox *in = &t->node->inboxes[link];
	struct ibv_wc done[16];
	int count = ibv_poll_cq(t->node->second[link]->recv_cq, 16, done);

	if (count < 0)
		fail("ibv_poll_cq for receives of thread %d failed", t->number + 1);
	for (int i = 0; i < count; i++) {
		if (done[i].status != IBV_WC_SUCCESS)
			fail("receive %" PRIu64 " of thread %d failed: %s (vendor error %#x)", done[i].wr_id, t->number + 1,
			     ibv_wc_status_str(done[i].status), done[i].vendor_err);
		in->completed++;
		if (done[i].wr_id < in->earlier || in->came == RECEIVES)
			continue;
		in->arrived[in->came].is_empty = done[i].opcode == IBV_WC_RECV && done[i].byte_len == 0;
		in->arrived[in->came].has_immediate = (done[i].wc_flags & IBV_WC_WITH_IMM) != 0;
		in->arrived[in->came++].immediate = ntohl(done[i].imm_data);
	}
}

/* Posts the next receive of this instance, if there is one. */
static void accept_next(struct thread *t, int link)
{
	struct node *n = t->node;
	struct inbox *in = &n->inboxes[link];
	uint64_t own = in->posted - in->earlier, turns = 0, start = 0;
	struct ibv_sge buffer = { .length = 8, .lkey = n->region->lkey };
	struct ibv_recv_wr *bad, receive = { .wr_id = in->posted, .sg_list = &buffer, .num_sge = 1 };

	if (own >= queue_pairs[link].receives)
		return;
	while (in->posted - in->completed >= RECEIVES_AT_ONCE) {
		look(t, link);
		if (!patience(&turns, &start, PATIENCE * SECOND))
			fail("thread %d has waited %d s for messages", t->number + 1, PATIENCE);
	}
	buffer.addr = (uintptr_t)n->memory + word_offset(t->instance, queue_pairs[link].buffers[own]);
	errno = ibv_post_recv(n->second[link], &receive, &bad);
	if (errno)
		fail("ibv_post_recv by thread %d: %m", t->number + 1);
	in->posted++;
}

UNUSED static void post_receive(struct thread *t, int link)
{
	delay(t);
	accept_next(t, link);
}

/* Waits for the next completion of a receive of this instance: its immediate, or BOTTOM. */
UNUSED static uint64_t poll_receive(struct thread *t, int link)
{
	struct inbox *in = &t->node->inboxes[link];
	uint64_t turns = 0, start = 0;
	unsigned next = in->polled++;

	delay(t);
	/* One thread posts and polls, so no receive is posted while it waits. */
	if (next >= in->posted - in->earlier)
		end_instance(t, BLOCKED);
	for (look(t, link); in->came <= next; look(t, link))
		if (!patience(&turns, &start, instance_patience(t)))
			end_instance(t, GIVEN_UP);
	/* A message without data says how the sender has ended: no other one comes. */
	if (in->arrived[next].is_empty)
		end_instance(t, in->arrived[next].immediate == FINISHED ? BLOCKED : (enum status)in->arrived[next].immediate);
	return in->arrived[next].has_immediate ? in->arrived[next].immediate : BOTTOM;
}

/* A message for which there is no receive would wait for ever. */
static void send_message(struct thread *t, int link, struct request what)
{
	struct end *end = &t->node->ends[link];

	delay(t);
	if (end->sent >= queue_pairs[link].receives)
		end_instance(t, BLOCKED);
	end->sent++;
	post(t, link, what);
}

UNUSED static void rdma_send(struct thread *t, int link, int local)
{
	send_message(t, link, between(t, IBV_WR_SEND, local, 0, 1));
}

UNUSED static void rdma_send_imm(struct thread *t, int link, int local, uint64_t immediate)
{
	struct request what = between(t, IBV_WR_SEND_WITH_IMM, local, 0, 1);

	what.immediate = (uint32_t)immediate;
	send_message(t, link, what);
}

UNUSED static void rdma_write_imm(struct thread *t, int link, int local, int remote, uint64_t immediate)
{
	struct request what = between(t, IBV_WR_RDMA_WRITE_WITH_IMM, local, remote, 1);

	what.immediate = (uint32_t)immediate;
	send_message(t, link, what);
}

static void begin_messages(struct thread *t)
{
	for (int link = 0; link < QUEUE_PAIRS; link++) {
		if (thread_of_link(link) == t->number)
			t->node->ends[link].sent = 0;
		if (queue_pairs[link].receives && queue_pairs[link].receiver == t->number) {
			struct inbox *in = &t->node->inboxes[link];

			in->earlier = in->posted;
			in->came = in->polled = 0;
		}
	}
}

/* All instances share the receives: those that were not posted are posted, and a message without data, which says how
 * the instance ended here, takes each that is left. */
static void end_messages(struct thread *t)
{
	for (int link = 0; link < QUEUE_PAIRS; link++)
		if (queue_pairs[link].receives && queue_pairs[link].receiver == t->number)
			while (t->node->inboxes[link].posted - t->node->inboxes[link].earlier < queue_pairs[link].receives)
				accept_next(t, link);
	for (int link = 0; link < QUEUE_PAIRS; link++)
		if (thread_of_link(link) == t->number)
			for (struct end *end = &t->node->ends[link]; end->sent < queue_pairs[link].receives; end->sent++) {
				t->kind = UNSIGNALED;
				end->fence = 0;
				post(t, link, (struct request){ .opcode = IBV_WR_SEND_WITH_IMM, .immediate = t->status });
			}
}
