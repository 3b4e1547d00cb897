static void stop_all(int code)
{
	exit(code);
}

/* Stands in every waiting loop. Whether to go on waiting. */
static int patience(uint64_t *turns, uint64_t *start, uint64_t most)
{
	if (cpus_are_few)
		sched_yield();
	if (++*turns % (most < SECOND ? 8 : 256))
		return 1;
	if (!*start)
		*start = nanoseconds();
	return nanoseconds() - *start < most;
}

/* A random time before a statement. Each instance has its own bound, often 0. Where CPUs are few, only another thread
 * that runs instead makes a difference. */
static void delay(struct thread *t)
{
	uint64_t end;

	if (!t->delay)
		return;
	if (cpus_are_few && next_random(t) >> 63)
		sched_yield();
	end = nanoseconds() + next_random(t) % t->delay;
	while (nanoseconds() < end)
		;
}

/* Where a word of an instance is, counted from the beginning of its node's memory. */
static uint64_t word_offset(unsigned instance, int word)
{
	return (FIRST_WORD + (uint64_t)instance * INSTANCE_LINES) * LINE + (unsigned)word * 8;
}

static uint64_t *word_at(struct thread *t, int word)
{
	return (uint64_t *)(t->node->memory + word_offset(t->instance, word));
}

/* -- the CPU's instructions that MPI and OpenSHMEM have not -- */

UNUSED static uint64_t cpu_cas(struct thread *t, int word, uint64_t expected, uint64_t desired)
{
	delay(t);
	__atomic_compare_exchange_n(word_at(t, word), &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return expected;
}

UNUSED static uint64_t cpu_faa(struct thread *t, int word, uint64_t addend)
{
	delay(t);
	return __atomic_fetch_add(word_at(t, word), addend, __ATOMIC_SEQ_CST);
}

UNUSED static uint64_t cpu_exchange(struct thread *t, int word, uint64_t value)
{
	delay(t);
	return __atomic_exchange_n(word_at(t, word), value, __ATOMIC_SEQ_CST);
}

UNUSED static void cpu_fence(struct thread *t)
{
	delay(t);
#ifdef __x86_64__
	__asm__ volatile ("mfence" ::: "memory");
#else
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* -- the NIC: it reads the words of a put itself, unless the put is inline -- */

/* Whether threads of this node share the queue pair. Then a thread holds it for as long as it uses its end. */
static int is_shared(int link)
{
	return SHARED && is_of_test(link) && queue_pairs[link].is_shared;
}

#if SHARED
static void hold(struct thread *t, int link)
{
	if (is_shared(link))
		pthread_mutex_lock(&t->node->ends[link].lock);
}

static void release(struct thread *t, int link)
{
	if (is_shared(link))
		pthread_mutex_unlock(&t->node->ends[link].lock);
}

/* The completions that this instance's Polls may take. */
static struct polls *polls_of(struct thread *t, int link)
{
	struct end *end = &t->node->ends[link];
	struct polls *polls = is_shared(link) ? &end->of_instance[t->instance] : &end->polls;

	if (is_shared(link) && polls->batch != t->batch)
		*polls = (struct polls){ .batch = t->batch };
	return polls;
}
#else
#define hold(t, link) ((void)(t), (void)(link))
#define release(t, link) ((void)(t), (void)(link))
#define polls_of(t, link) (&(t)->node->ends[link].polls)
#endif

/* Takes completions from the queue, if there are any. */
static void reap(struct thread *t, int link)
{
	struct end *end = &t->node->ends[link];
	struct ibv_wc done[16];
	int count;

	hold(t, link);
	count = ibv_poll_cq(end->cq, 16, done);
	if (count < 0)
		fail("ibv_poll_cq for thread %d to node %d failed", t->number + 1, node_of_link(link) + 1);
	for (int i = 0; i < count; i++)
		if (done[i].status != IBV_WC_SUCCESS)
			fail("request %" PRIu64 " of thread %d to node %d failed: %s (vendor error %#x)", done[i].wr_id,
			     t->number + 1, node_of_link(link) + 1, ibv_wc_status_str(done[i].status),
			     done[i].vendor_err);
	/* Counted, since some devices complete requests out of order. A completion also stands for the unsignaled
	 * requests before its own. */
	for (int i = 0; i < count; i++) {
		uint64_t stands_for = end->stands_for[done[i].wr_id % DEPTH];

		end->completed += stands_for;
		while (stands_for-- > 0)
			end->is_done[(done[i].wr_id - stands_for) % DEPTH] = 1;
	}
	while (end->is_done[end->first % DEPTH])
		end->is_done[end->first++ % DEPTH] = 0;
	release(t, link);
}

/* Ends an instance that cannot go on. */
__attribute__((noreturn)) static void end_instance(struct thread *t, enum status status)
{
	t->status = status;
	longjmp(t->out, 1);
}

/* How long an instance may loop, or wait for messages, in ns. If several were given up, others will be. */
static uint64_t instance_patience(const struct thread *t)
{
	return t->given_up < 3 ? LOOP_PATIENCE * SECOND : SECOND / 1000;
}

/* How long a thread waits for a completion of a link, in ns. A message may wait for a receive that never comes, and all
 * that is behind it as well: then the instance is given up. */
static uint64_t limit(const struct thread *t, int link)
{
	return t->is_running && is_of_test(link) && queue_pairs[link].receives ? instance_patience(t) : PATIENCE * SECOND;
}

__attribute__((noreturn)) static void waited_too_long(struct thread *t, int link)
{
	if (limit(t, link) < PATIENCE * SECOND)
		end_instance(t, GIVEN_UP);
	fail("thread %d has waited %d s for a completion from node %d", t->number + 1, PATIENCE, node_of_link(link) + 1);
}

/* Which requests are counted: all that have completed, or those before the first that has not. */
enum counted { ANY, FIRST };

static uint64_t completed(struct thread *t, int link, enum counted which)
{
	const struct end *end = &t->node->ends[link];
	uint64_t number;

	hold(t, link);
	number = which == FIRST ? end->first : end->completed;
	release(t, link);
	return number;
}

/* Waits until that many requests have completed. */
static void await(struct thread *t, int link, uint64_t number, enum counted which)
{
	uint64_t turns = 0, start = 0;

	while (completed(t, link, which) < number) {
		reap(t, link);
		if (!patience(&turns, &start, limit(t, link)))
			waited_too_long(t, link);
	}
}

/* A request, from and to places that are given as offsets in the nodes' memory. */
struct request {
	enum ibv_wr_opcode opcode;
	uint64_t local, remote;
	unsigned words;			/* 0: a message without data, or a FLUSH */
	uint64_t compare_add, swap;
	uint32_t immediate;
	unsigned flags;			/* of enum ibv_send_flags */
};

static int is_atomic(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* Hands a request to the NIC. */
static void post(struct thread *t, int link, struct request what)
{
	struct end *end = &t->node->ends[link];
	const struct contact *target = &t->node->contacts[node_of_link(link)];
	struct ibv_sge sge = {
		.addr = (uintptr_t)t->node->memory + what.local, .length = 8 * what.words,
		.lkey = t->node->region->lkey,
	};
	struct ibv_send_wr *bad, request = {
		.sg_list = &sge, .num_sge = what.words > 0, .opcode = what.opcode, .imm_data = htonl(what.immediate),
	};
	int signaled;

	hold(t, link);
	/* Requests without a completion fill the queue, and nothing would say that there is space again. */
	signaled = t->kind != UNSIGNALED || end->posted + 1 - end->signaled >= DEPTH / 2;
	request.wr_id = end->posted;
	request.send_flags = (signaled ? IBV_SEND_SIGNALED : 0) | what.flags | (end->fence ? IBV_SEND_FENCE : 0);
	if (is_atomic(what.opcode)) {
		request.wr.atomic.remote_addr = target->address + what.remote;
		request.wr.atomic.rkey = target->key;
		request.wr.atomic.compare_add = what.compare_add;
		request.wr.atomic.swap = what.swap;
	} else {
		request.wr.rdma.remote_addr = target->address + what.remote;
		request.wr.rdma.rkey = target->key;
	}
	if (end->posted >= DEPTH)
		await(t, link, end->posted - DEPTH + 1, FIRST);
	if (signaled) {
		end->stands_for[end->posted % DEPTH] = end->posted + 1 - end->signaled;
		end->signaled = end->posted + 1;
	}
#if PLACEMENTS
	errno = is_placement(what.opcode) ? place(end->qp, &request) : ibv_post_send(end->qp, &request, &bad);
#else
	errno = ibv_post_send(end->qp, &request, &bad);
#endif
	if (errno)
		fail("ibv_post_send by thread %d to node %d: %m", t->number + 1, node_of_link(link) + 1);
	t->posted = ++end->posted;
	if (t->kind == SIGNALED) {
		struct polls *polls = polls_of(t, link);

		polls->recent[polls->counted++ % DEPTH] = end->posted;
	}
	end->fence = 0;
	release(t, link);
	t->kind = SIGNALED;
	if (t->turn)
		*t->turn = t->posted;
	t->turn = NULL;
}

/* The next request has no completion of its own. Where its word is used again, its completion is awaited. */
UNUSED static void unsignaled(struct thread *t, int is_awaited)
{
	t->kind = is_awaited ? UNSIGNALED_BUT_AWAITED : UNSIGNALED;
}

/* A request of this instance: between a word here and one there, or as many from these on. */
static struct request between(struct thread *t, enum ibv_wr_opcode opcode, int local, int remote, unsigned words)
{
	return (struct request){
		.opcode = opcode, .words = words,
		.local = word_offset(t->instance, local), .remote = word_offset(t->instance, remote),
	};
}

UNUSED static void rdma_write(struct thread *t, int link, int local, int remote)
{
	delay(t);
	post(t, link, between(t, IBV_WR_RDMA_WRITE, local, remote, 1));
}

/* The CPU copies the value into the request, so the NIC reads no word. */
UNUSED static void rdma_write_inline(struct thread *t, int link, int local, int remote)
{
	struct request what = between(t, IBV_WR_RDMA_WRITE, local, remote, 1);

	delay(t);
	what.flags = IBV_SEND_INLINE;
	post(t, link, what);
}

UNUSED static void rdma_read(struct thread *t, int link, int local, int remote)
{
	delay(t);
	post(t, link, between(t, IBV_WR_RDMA_READ, local, remote, 1));
}

/* The same, of several words of an array. */
UNUSED static void rdma_write_words(struct thread *t, int link, int local, int remote, unsigned words)
{
	delay(t);
	post(t, link, between(t, IBV_WR_RDMA_WRITE, local, remote, words));
}

UNUSED static void rdma_read_words(struct thread *t, int link, int local, int remote, unsigned words)
{
	delay(t);
	post(t, link, between(t, IBV_WR_RDMA_READ, local, remote, words));
}

UNUSED static void rdma_cas(struct thread *t, int link, int local, int remote, uint64_t expected, uint64_t desired)
{
	struct request what = between(t, IBV_WR_ATOMIC_CMP_AND_SWP, local, remote, 1);

	delay(t);
	what.compare_add = expected;
	what.swap = desired;
	post(t, link, what);
}

UNUSED static void rdma_faa(struct thread *t, int link, int local, int remote, uint64_t addend)
{
	struct request what = between(t, IBV_WR_ATOMIC_FETCH_AND_ADD, local, remote, 1);

	delay(t);
	what.compare_add = addend;
	post(t, link, what);
}

#if PLACEMENTS
UNUSED static void rdma_flush(struct thread *t, int link)
{
	delay(t);
	post(t, link, (struct request){ .opcode = PLACE_FLUSH });
}

UNUSED static void rdma_persist(struct thread *t, int link)
{
	delay(t);
	post(t, link, (struct request){ .opcode = PLACE_PERSIST });
}

UNUSED static void rdma_atomic_write(struct thread *t, int link, int local, int remote)
{
	delay(t);
	post(t, link, between(t, PLACE_ATOMIC_WRITE, local, remote, 1));
}

#endif

/* In loops, such values have several words that are used in turn: a word that the NIC may still have to read must not
 * be overwritten, or else it would look like a weak outcome. */
struct turn { unsigned next; uint64_t posted[COPIES]; };

UNUSED static int next_copy(struct thread *t, int link, struct turn *turn)
{
	unsigned copy = turn->next++ % COPIES;

	await(t, link, turn->posted[copy], FIRST);
	t->turn = &turn->posted[copy];
	return (int)copy;
}

/* Rfence: the next request waits until the NIC has the responses to all earlier READs and atomics. */
UNUSED static void remote_fence(struct thread *t, int link)
{
	delay(t);
	hold(t, link);
	t->node->ends[link].fence = 1;
	release(t, link);
}

/* Poll: waits for the oldest signaled request of this instance that is not polled. Without any, it would wait
 * forever. Of the last DEPTH, those before have completed: no more are under way at once. */
UNUSED static int poll_one(struct thread *t, int link)
{
	struct polls *polls = &t->node->ends[link].polls;

	delay(t);
	if (polls->polled == polls->counted)
		return 0;
	if (polls->counted - polls->polled <= DEPTH)
		await(t, link, polls->recent[polls->polled % DEPTH], ANY);
	polls->polled++;
	return 1;
}

/* Takes the oldest completion that this instance has not taken, if it is there. */
static int take(struct thread *t, int link)
{
	struct polls *polls;
	int is_there = 0;

	hold(t, link);
	polls = polls_of(t, link);
	if (polls->polled < polls->counted) {
		reap(t, link);
		is_there = polls->counted - polls->polled > DEPTH ||
			   t->node->ends[link].completed >= polls->recent[polls->polled % DEPTH];
	}
	polls->polled += (unsigned)is_there;
	release(t, link);
	return is_there;
}

/* Poll of several queue pairs, or of one that threads share: the same, of any one of them that has a completion. A
 * program with one completion queue for them takes no other completions: nothing orders those of different queue
 * pairs. Whether other threads will post to a queue pair that they share is not known. */
UNUSED static int poll_any(struct thread *t, const int *links, int number)
{
	uint64_t turns = 0, start = 0;
	int index = 0, open = 0;

	delay(t);
	for (int at = 0; at < number; at++)
		open += is_shared(links[at]) ||
			t->node->ends[links[at]].polls.polled < t->node->ends[links[at]].polls.counted;
	if (!open)
		return 0;
	for (;;) {
		int link = links[index];

		index = (index + 1) % number;
		if (take(t, link))
			return 1;
		if (patience(&turns, &start, is_shared(link) ? instance_patience(t) : limit(t, link)))
			continue;
		if (is_shared(link))
			end_instance(t, GIVEN_UP);
		waited_too_long(t, link);
	}
}

/* The request posted last has this work id. */
UNUSED static void has_id(struct thread *t, int link, int id)
{
	t->ids[id][link] = t->posted;
}

/* Wait: all requests with this work id, on any queue pair, have completed, and those before them. */
UNUSED static void wait_for_id(struct thread *t, int id)
{
	delay(t);
	for (int link = 0; link < QUEUE_PAIRS; link++)
		await(t, link, t->ids[id][link], FIRST);
}

/* At the end of each turn of a loop. */
UNUSED static int goes_on(struct thread *t)
{
	return patience(&t->loops, &t->looping, instance_patience(t));
}
