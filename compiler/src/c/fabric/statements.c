/* A time in which others may do something, and in which what they do to this process's memory may be done. */
static void pause_for(uint64_t time)
{
	uint64_t end = nanoseconds() + time;

	do {
		make_progress();
		if (cpus_are_few)
			sched_yield();
	} while (nanoseconds() < end);
}

/* A random time before a statement. Each instance has its own bound, often 0. */
static void delay(struct thread *t)
{
	if (t->delay)
		pause_for(next_random(t) % t->delay);
}

/* At the end of each turn of a loop. */
UNUSED static int goes_on(struct thread *t)
{
	make_progress();
	if (++t->loops % 256)
		return 1;
	if (!t->looping)
		t->looping = nanoseconds();
	return nanoseconds() - t->looping < LOOP_PATIENCE * 1000000000ull;
}

/* The number of a word of this instance: the same at every node. */
static uint64_t place(struct thread *t, int word)
{
	return (uint64_t)t->instance * WORDS + (unsigned)word;
}

static uint64_t *word_at(struct thread *t, int word)
{
	return (uint64_t *)(memory + place(t, word) * LINE);
}

/* The operation that was called last has this work id. */
UNUSED static void has_id(struct thread *t, int node, int id)
{
	t->ids[id][node] = 1;
}

