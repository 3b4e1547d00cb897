/* -- OpenSHMEM: every node is a PE, and the words are symmetric memory -- */

/* x^2 := y. The PE may write y again after shmem_quiet. */
UNUSED static void put(struct thread *t, int node, int local, int remote)
{
	delay(t);
	shmem_putmem_nbi(word_at(t, remote), word_at(t, local), sizeof(uint64_t), node);
	t->issued[node]++;
}

/* y := x^2. The PE may use y after shmem_quiet. */
UNUSED static void get(struct thread *t, int node, int local, int remote)
{
	delay(t);
	shmem_getmem_nbi(word_at(t, local), word_at(t, remote), sizeof(uint64_t), node);
	t->issued[node]++;
}

/* Atomics that return a value block until it is there. */
UNUSED static void compare_and_swap(struct thread *t, int node, int local, int remote, uint64_t expected,
				    uint64_t desired)
{
	delay(t);
	*word_at(t, local) = shmem_ulonglong_atomic_compare_swap((unsigned long long *)word_at(t, remote), expected,
								 desired, node);
	t->issued[node]++;
}

UNUSED static void fetch_and_add(struct thread *t, int node, int local, int remote, uint64_t addend)
{
	delay(t);
	*word_at(t, local) = shmem_ulonglong_atomic_fetch_add((unsigned long long *)word_at(t, remote), addend, node);
	t->issued[node]++;
}

/* Poll: there is no completion of one operation, so all of this PE complete. Without an operation that no Poll has
 * answered for, the test would wait forever. */
UNUSED static int poll_one(struct thread *t, int node)
{
	delay(t);
	if (t->polled[node] == t->issued[node])
		return 0;
	shmem_quiet();
	t->polled[node]++;
	return 1;
}

/* Wait: the same. */
UNUSED static void wait_for_id(struct thread *t, int id)
{
	(void)id;
	delay(t);
	shmem_quiet();
}

/* Rfence: later puts and atomics to a PE are delivered after earlier ones. It does not order gets, so a thread that has
 * some calls shmem_quiet. */
UNUSED static void remote_fence(struct thread *t, int node)
{
	(void)node;
	delay(t);
	shmem_fence();
}

/* GFence: all operations of this PE are complete, and visible at their targets. */
UNUSED static void flush(struct thread *t, int node)
{
	(void)node;
	delay(t);
	shmem_quiet();
}

UNUSED static void cpu_fence(struct thread *t)
{
	delay(t);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* In loops, the values of puts have several words that are used in turn: until the put is complete, its word must stay
 * as it is. */
struct turn { unsigned next; };

UNUSED static int next_copy(struct thread *t, int node, struct turn *turn)
{
	(void)t;
	(void)node;
	if (turn->next && turn->next % COPIES == 0)
		shmem_quiet();
	return (int)(turn->next++ % COPIES);
}

/* Puts and gets need no calls of their target; a busy CPU has other things to do. */
static void make_progress(void)
{
	sched_yield();
}

/* -- all nodes together -- */

static uint64_t (*all_rows)[OBSERVED + 1];	/* symmetric; used at node 1 */
static uint64_t *shared;			/* symmetric: what node 1 chose */

static void stop_all(int code)
{
	shmem_global_exit(code);
	exit(code);
}

static void begin(int *argc, char ***argv)
{
	(void)argc;
	(void)argv;
	shmem_init();
	if (shmem_n_pes() != NODES)
		fail("expected %d processing elements, found %d: oshrun -n %d", NODES, shmem_n_pes(), NODES);
	this_node = shmem_my_pe();
	memory = shmem_align(LINE, (size_t)BATCH * WORDS * LINE);
	all_rows = shmem_malloc((size_t)NODES * BATCH * sizeof *all_rows);
	shared = shmem_malloc(sizeof settings);
	if (!memory || !all_rows || !shared)
		fail("no symmetric memory");
}

static void share_settings(void)
{
	memcpy(shared, &settings, sizeof settings);
	shmem_barrier_all();
	shmem_getmem(&settings, shared, sizeof settings, 0);
	shmem_barrier_all();
}

/* Orders nothing of the test: unlike shmem_barrier_all, it completes no operation. */
static void start_together(void)
{
	shmem_sync_all();
}

/* All operations of all nodes are complete, and everybody sees them. */
static void settle(void)
{
	shmem_barrier_all();
}

/* The rows of all nodes, at node 1. */
static void gather(uint64_t (*rows)[OBSERVED + 1], uint64_t (*all)[OBSERVED + 1], unsigned instances)
{
	shmem_putmem(all_rows + (size_t)this_node * instances, rows, instances * sizeof *rows, 0);
	shmem_barrier_all();
	if (this_node == 0)
		memcpy(all, all_rows, NODES * instances * sizeof *all);
	shmem_barrier_all();
}

static void end(void)
{
	shmem_finalize();
}
