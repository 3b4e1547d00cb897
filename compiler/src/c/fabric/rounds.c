
/* ---- Rounds: start together, run a batch of instances, look at the memory, count ------------------------------ */

static void reset_memory(void)
{
	for (unsigned instance = 0; instance < BATCH; instance++)
		for (int word = 0; word < WORDS; word++)
			*(uint64_t *)(memory + ((uint64_t)instance * WORDS + (unsigned)word) * LINE) =
				initial[this_node][word];
}

static void run_instance(struct thread *t)
{
	static const char shifts[] = { 64, 64, 0, 2, 4, 6 };	/* a third of the instances have no delays */
	enum status status;
	int shift = shifts[next_random(t) % sizeof shifts];

	t->delay = shift == 64 ? 0 : settings.delay >> shift;
	t->looping = t->loops = 0;
	memset(t->ids, 0, sizeof t->ids);
	/* What earlier instances have not polled is not this one's. */
	memset(t->issued, 0, sizeof t->issued);
	memset(t->polled, 0, sizeof t->polled);
	memset(t->row, 0, (OBSERVED + 1) * sizeof *t->row);
	status = threads[t->number].run(t);
	t->row[OBSERVED] = status;
	if (status == GIVEN_UP && ++t->given_up > 10)
		fail("thread %d has looped for %d s in each of %u instances", t->number + 1, LOOP_PATIENCE, t->given_up);
}

/* When it returns, no node has anything under way. */
static void run_batch(struct thread *t, unsigned instances, uint64_t (*rows)[OBSERVED + 1])
{
	for (t->instance = 0; t->instance < instances; t->instance++) {
		t->row = rows[t->instance];
		if (t->instance % settings.per_round == 0) {
			start_together();
			/* Operations take longer than loads and stores: in half of the rounds, not all begin at once. */
			if (settings.delay && next_random(t) >> 63)
				pause_for(next_random(t) % (settings.delay * SPREAD));
		}
		run_instance(t);
	}
	settle();
	for (unsigned i = 0; i < instances; i++)
		for (int k = 0; k < OBSERVED; k++)
			if (observed[k].node == this_node)
				rows[i][k] = *(uint64_t *)(memory +
							   ((uint64_t)i * WORDS + (unsigned)observed[k].word) * LINE);
}

