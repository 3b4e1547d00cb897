/* -- MPI: every node is a process, all memory is one window, and everything is in one epoch of passive target -- */

static MPI_Win window;
static MPI_Comm all_nodes;

/* Operands of atomics, which must stay as they are until the atomic is complete at its origin. */
static uint64_t operands[4096];

UNUSED static uint64_t *operand(uint64_t value)
{
	static unsigned next;

	if (next == sizeof operands / sizeof operands[0]) {
		MPI_Win_flush_local_all(window);
		next = 0;
	}
	operands[next] = value;
	return &operands[next++];
}

/* x^2 := y. The process may write y again after a flush; x is there after MPI_Win_flush. */
UNUSED static void put(struct thread *t, int node, int local, int remote)
{
	delay(t);
	MPI_Put(word_at(t, local), 1, MPI_UINT64_T, node, (MPI_Aint)place(t, remote), 1, MPI_UINT64_T, window);
	t->issued[node]++;
}

/* y := x^2. The process may use y after a flush. */
UNUSED static void get(struct thread *t, int node, int local, int remote)
{
	delay(t);
	MPI_Get(word_at(t, local), 1, MPI_UINT64_T, node, (MPI_Aint)place(t, remote), 1, MPI_UINT64_T, window);
	t->issued[node]++;
}

UNUSED static void compare_and_swap(struct thread *t, int node, int local, int remote, uint64_t expected,
				    uint64_t desired)
{
	delay(t);
	MPI_Compare_and_swap(operand(desired), operand(expected), word_at(t, local), MPI_UINT64_T, node,
			     (MPI_Aint)place(t, remote), window);
	t->issued[node]++;
}

UNUSED static void fetch_and_add(struct thread *t, int node, int local, int remote, uint64_t addend)
{
	delay(t);
	MPI_Fetch_and_op(operand(addend), word_at(t, local), MPI_UINT64_T, node, (MPI_Aint)place(t, remote), MPI_SUM,
			 window);
	t->issued[node]++;
}

/* Poll: there is no completion of one operation, so all earlier ones towards the node complete at their origin. Without
 * an operation that no Poll has answered for, the test would wait forever. */
UNUSED static int poll_one(struct thread *t, int node)
{
	delay(t);
	if (t->polled[node] == t->issued[node])
		return 0;
	MPI_Win_flush_local(node, window);
	t->polled[node]++;
	return 1;
}

/* Wait: the same, for every node that an operation with this work id went to. */
UNUSED static void wait_for_id(struct thread *t, int id)
{
	delay(t);
	for (int node = 0; node < NODES; node++)
		if (t->ids[id][node])
			MPI_Win_flush_local(node, window);
}

/* Rfence and GFence: all earlier operations towards the node complete, at their origin and at their target. */
UNUSED static void flush(struct thread *t, int node)
{
	delay(t);
	MPI_Win_flush(node, window);
}

/* Mfence: what this process stored is visible to others, and it sees what others have completed. */
UNUSED static void cpu_fence(struct thread *t)
{
	delay(t);
	MPI_Win_sync(window);
}

/* In loops, the values of puts have several words that are used in turn: until the put is complete at its origin, its
 * word must stay as it is. */
struct turn { unsigned next; };

UNUSED static int next_copy(struct thread *t, int node, struct turn *turn)
{
	(void)t;
	if (turn->next && turn->next % COPIES == 0)
		MPI_Win_flush_local(node, window);
	return (int)(turn->next++ % COPIES);
}

/* MPI may do what others ask of a process only while it calls MPI. This call has no other effect. */
static void make_progress(void)
{
	int there;

	MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, all_nodes, &there, MPI_STATUS_IGNORE);
}

/* -- all nodes together -- */

static void stop_all(int code)
{
	MPI_Abort(MPI_COMM_WORLD, code);
	exit(code);
}

static void begin(int *argc, char ***argv)
{
	int nodes, rank, *model, is_there;

	MPI_Init(argc, argv);
	MPI_Comm_size(MPI_COMM_WORLD, &nodes);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (nodes != NODES) {
		if (rank)	/* one process says it; the others wait for its end */
			MPI_Barrier(MPI_COMM_WORLD);
		fail("expected %d processes, found %d: mpirun -n %d", NODES, nodes, NODES);
	}
	this_node = rank;
	MPI_Comm_dup(MPI_COMM_WORLD, &all_nodes);
	MPI_Win_allocate((MPI_Aint)BATCH * WORDS * LINE, LINE, MPI_INFO_NULL, all_nodes, &memory, &window);
	MPI_Win_get_attr(window, MPI_WIN_MODEL, &model, &is_there);
	if (!is_there || *model != MPI_WIN_UNIFIED)
		fail("the memory model of this window is not MPI_WIN_UNIFIED, which this test is about");
	MPI_Win_lock_all(0, window);
}

/* What node 1 chose. */
static void share_settings(void)
{
	MPI_Bcast(&settings, sizeof settings, MPI_BYTE, 0, all_nodes);
}

/* Orders nothing of the test: a barrier completes no operation of a window. */
static void start_together(void)
{
	MPI_Barrier(all_nodes);
}

/* All operations of all nodes are complete, and everybody sees them. */
static void settle(void)
{
	MPI_Win_flush_all(window);
	MPI_Win_sync(window);
	MPI_Barrier(all_nodes);
	MPI_Win_sync(window);
}

/* The rows of all nodes, at node 1. */
static void gather(uint64_t (*rows)[OBSERVED + 1], uint64_t (*all)[OBSERVED + 1], unsigned instances)
{
	int count = (int)(instances * (OBSERVED + 1));

	MPI_Gather(rows, count, MPI_UINT64_T, all, count, MPI_UINT64_T, 0, all_nodes);
}

static void end(void)
{
	MPI_Win_unlock_all(window);
	MPI_Win_free(&window);
	MPI_Comm_free(&all_nodes);
	MPI_Finalize();
}
