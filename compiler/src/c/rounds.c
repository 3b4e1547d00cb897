
/* ---- Rounds: start together, run a batch of instances, look at the memory, count ------------------------------ */

static uint64_t *line_of(struct node *n, uint64_t line)
{
	return (uint64_t *)(n->memory + line * LINE);
}

/* Waits for all threads of all nodes. Each writes the number of the barrier into a word at every node. That goes over
 * queue pairs of their own, so that requests of the test stay under way: nobody waits for them. */
static void start_together(struct thread *t)
{
	struct node *n = t->node;
	uint64_t turns = 0, start = 0, round = ++t->round;
	uint64_t line = ROUND + (unsigned)t->number * ROUNDS + round % ROUNDS;

	for (int other = 0; other < NODES; other++)
		if (other != n->number && round > ROUNDS)
			await(t, barrier_link(t->number, other), round - ROUNDS, ANY);
	__atomic_store_n(line_of(n, line), round, __ATOMIC_RELAXED);
	__atomic_store_n(line_of(n, ARRIVAL + (unsigned)t->number), round, __ATOMIC_RELAXED);
	for (int other = 0; other < NODES; other++)
		if (other != n->number)
			post(t, barrier_link(t->number, other), (struct request){
				.opcode = IBV_WR_RDMA_WRITE, .words = 1, .local = line * LINE,
				.remote = (ARRIVAL + (unsigned)t->number) * LINE,
			});
	for (unsigned other = 0; other < THREADS; other++)
		while (__atomic_load_n(line_of(n, ARRIVAL + other), __ATOMIC_RELAXED) < round)
			if (!patience(&turns, &start, PATIENCE * SECOND))
				fail("thread %d has waited %d s for thread %d to start", t->number + 1, PATIENCE,
				     other + 1);
}

/* What an instance that has ended early said of a next request is not about those of others. */
static void forget_flags(struct thread *t)
{
	t->kind = SIGNALED;
	t->turn = NULL;
	for (int link = 0; link < QUEUE_PAIRS; link++)
		if (thread_of_link(link) == t->number && !is_shared(link))
			t->node->ends[link].fence = 0;
}

static void run_instance(struct thread *t)
{
	static const char shifts[] = { 64, 64, 0, 2, 4, 6 };	/* a third of the instances have no delays */
	int shift = shifts[next_random(t) % sizeof shifts];

	t->delay = shift == 64 ? 0 : settings.delay >> shift;
	t->looping = t->loops = 0;
	t->row = t->rows[t->instance];
	memset(t->ids, 0, sizeof t->ids);
	memset(t->row, 0, sizeof t->rows[0]);
	/* What earlier instances have not polled is not this one's. */
	for (int link = 0; link < QUEUE_PAIRS; link++)
		if (thread_of_link(link) == t->number)
			t->node->ends[link].polls.polled = t->node->ends[link].polls.counted;
#if MESSAGES
	begin_messages(t);
#endif
	t->is_running = 1;
	if (!setjmp(t->out))
		t->status = threads[t->number].run(t);
	t->is_running = 0;
	forget_flags(t);
#if MESSAGES
	end_messages(t);
#endif
	t->row[OBSERVED] = t->status;
	t->given_up += t->status == GIVEN_UP;
}

static void *run_batch(void *argument)
{
	struct thread *t = argument;
	struct node *n = t->node;

	this_node = n->number;
	t->batch++;
	for (t->instance = 0; t->instance < t->instances; t->instance++) {
		if (t->instance % settings.per_round == 0)
			start_together(t);
		run_instance(t);
	}
	/* The response to a READ pushes the writes before it into the target's memory. */
	for (int link = 0; link < QUEUE_PAIRS; link++)
		if (thread_of_link(link) == t->number ||
		    (is_shared(link) && threads[thread_of_link(link)].node == n->number)) {
			/* It is of no instance, so no Poll may take its completion. */
			t->kind = UNSIGNALED_BUT_AWAITED;
			post(t, link, (struct request){
				.opcode = IBV_WR_RDMA_READ, .words = 1, .remote = FLUSH * LINE,
				.local = (FLUSHED + (unsigned)t->number) * LINE,
			});
			await(t, link, t->posted, ANY);
		}
	return NULL;
}

/* All the threads of a node. When it returns, they have nothing under way. */
static void run_threads(struct node *n, struct thread *all, unsigned instances)
{
	pthread_t running[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (threads[i].node == n->number) {
			all[i].instances = instances;
			errno = pthread_create(&running[i], NULL, run_batch, &all[i]);
			if (errno)
				fail("pthread_create: %m");
		}
	for (int i = 0; i < THREADS; i++)
		if (threads[i].node == n->number)
			pthread_join(running[i], NULL);
}

static void reset_memory(struct node *n)
{
	for (unsigned instance = 0; instance < BATCH; instance++)
		for (int word = 0; word < WORDS; word++)
			*(uint64_t *)(n->memory + word_offset(instance, word)) = initial[n->number][word];
}

/* What this node observed; nodes observe different things, and the others' are 0. */
static void observe(struct node *n, struct thread *all, unsigned instances, uint64_t (*rows)[OBSERVED + 1])
{
	memset(rows, 0, instances * sizeof *rows);
	for (unsigned i = 0; i < instances; i++) {
		for (int t = 0; t < THREADS; t++) {
			if (threads[t].node != n->number)
				continue;
			for (int k = 0; k < OBSERVED; k++)
				rows[i][k] |= all[t].rows[i][k];
			if (all[t].rows[i][OBSERVED] > rows[i][OBSERVED])
				rows[i][OBSERVED] = all[t].rows[i][OBSERVED];
		}
		for (int k = 0; k < OBSERVED; k++)
			if (observed[k].node == n->number)
				rows[i][k] = *(uint64_t *)(n->memory + word_offset(i, observed[k].word));
	}
}

