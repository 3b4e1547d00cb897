
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
			await(t, barrier_link(t->number, other), round - ROUNDS);
	__atomic_store_n(line_of(n, line), round, __ATOMIC_RELAXED);
	__atomic_store_n(line_of(n, ARRIVAL + (unsigned)t->number), round, __ATOMIC_RELAXED);
	for (int other = 0; other < NODES; other++)
		if (other != n->number)
			post(t, barrier_link(t->number, other), IBV_WR_RDMA_WRITE, line * LINE,
			     (ARRIVAL + (unsigned)t->number) * LINE, 0, 0, 0);
	for (unsigned other = 0; other < THREADS; other++)
		while (__atomic_load_n(line_of(n, ARRIVAL + other), __ATOMIC_RELAXED) < round)
			if (!patience(&turns, &start, PATIENCE))
				fail("thread %d has waited %d s for thread %d to start", t->number + 1, PATIENCE,
				     other + 1);
}

static void run_instance(struct thread *t)
{
	static const char shifts[] = { 64, 64, 0, 2, 4, 6 };	/* a third of the instances have no delays */
	enum status status;
	int shift = shifts[next_random(t) % sizeof shifts];

	t->delay = shift == 64 ? 0 : settings.delay >> shift;
	t->looping = t->loops = 0;
	t->row = t->rows[t->instance];
	memset(t->ids, 0, sizeof t->ids);
	memset(t->row, 0, sizeof t->rows[0]);
	/* What earlier instances have not polled is not this one's. */
	for (int link = 0; link < QUEUE_PAIRS; link++)
		if (thread_of_link(link) == t->number) {
			t->node->ends[link].polled = t->node->ends[link].counted;
			t->node->ends[link].fence = 0;
		}
	status = threads[t->number].run(t);
	t->row[OBSERVED] = status;
	if (status == GIVEN_UP && ++t->given_up > 10)
		fail("thread %d has looped for %d s in each of %u instances", t->number + 1, LOOP_PATIENCE, t->given_up);
}

static void *run_batch(void *argument)
{
	struct thread *t = argument;
	struct node *n = t->node;

	this_node = n->number;
	for (t->instance = 0; t->instance < t->instances; t->instance++) {
		if (t->instance % settings.per_round == 0)
			start_together(t);
		run_instance(t);
	}
	/* The response to a READ pushes the writes before it into the target's memory. */
	for (int link = 0; link < QUEUE_PAIRS; link++)
		if (thread_of_link(link) == t->number) {
			post(t, link, IBV_WR_RDMA_READ, (FLUSHED + (unsigned)t->number) * LINE, FLUSH * LINE, 0, 0, 0);
			await(t, link, n->ends[link].posted);
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

/* -- the histogram, at node 0 -- */

struct state { uint64_t values[OBSERVED + 1], count; };

static struct state *states;
static size_t state_count;
static uint64_t unfinished[GIVEN_UP + 1];	/* per status, instances without an outcome */

static int compare_states(const void *one, const void *other)
{
	for (int k = 0; k < OBSERVED; k++) {
		uint64_t a = ((const uint64_t *)one)[k], b = ((const uint64_t *)other)[k];

		if (a != b)
			return a < b ? -1 : 1;
	}
	return 0;
}

static void count_state(const uint64_t *values)
{
	size_t low = 0, high = state_count;

	while (low < high) {
		size_t middle = (low + high) / 2;
		int order = compare_states(values, states[middle].values);

		if (order == 0) {
			states[middle].count++;
			return;
		}
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	states = realloc(states, (state_count + 1) * sizeof *states);
	if (!states)
		fail("no memory for %zu states", state_count + 1);
	memmove(&states[low + 1], &states[low], (state_count - low) * sizeof *states);
	memcpy(states[low].values, values, sizeof states[low].values);
	states[low].count = 1;
	state_count++;
}

static void count_batch(uint64_t (*rows)[OBSERVED + 1], unsigned instances)
{
	for (unsigned i = 0; i < instances; i++) {
		enum status status = FINISHED;
		uint64_t values[OBSERVED + 1] = { 0 };

		for (int node = 0; node < NODES; node++) {
			const uint64_t *row = rows[(unsigned)node * instances + i];

			for (int k = 0; k < OBSERVED; k++)
				values[k] |= row[k];
			if (row[OBSERVED] > status)
				status = (enum status)row[OBSERVED];
		}
		if (status == FINISHED)
			count_state(values);
		else
			unfinished[status]++;
	}
}

static void print_claims(void)
{
	for (const struct claim *claim = claims; claim->text; claim++) {
		uint64_t positive = 0, negative = 0;
		int holds;

		for (size_t i = 0; i < state_count; i++)
			*(claim->holds(states[i].values) ? &positive : &negative) += states[i].count;
		holds = claim->kind == ALLOWED ? positive > 0 : claim->kind == FORBIDDEN ? !positive : !negative;
		printf("\n%s\nWitnesses\nPositive: %" PRIu64 " Negative: %" PRIu64 "\n", holds ? "Ok" : "No", positive,
		       negative);
		printf("Condition %s (%s)\nObservation %s %s %" PRIu64 " %" PRIu64 "\n", claim->text, kind_names[claim->kind],
		       TEST, !positive ? "Never" : negative ? "Sometimes" : "Always", positive, negative);
	}
}

/* As litmus7 prints it. Returns how many states the model forbids. */
static size_t print_histogram(double seconds)
{
	size_t forbidden = 0;

	printf("Test %s%s%s\n", TEST, claims[0].text ? " " : "", claims[0].text ? kind_names[claims[0].kind] : "");
	printf("Histogram (%zu states)\n", state_count);
	for (size_t i = 0; i < state_count; i++) {
		int is_forbidden = JUDGED && !bsearch(states[i].values, allowed, ALLOWED_STATES, sizeof allowed[0],
						      compare_states);

		printf("%-8" PRIu64 "%s", states[i].count, is_forbidden ? "*>" : ":>");
		for (int k = 0; k < OBSERVED; k++)
			printf("%s=%" PRIu64 ";%s", observed[k].name, states[i].values[k], k + 1 < OBSERVED ? " " : "");
		printf("%s%s\n", is_forbidden ? " forbidden by " : "", is_forbidden ? MODEL : "");
		forbidden += is_forbidden ? 1 : 0;
	}
	for (int status = ASSUMED_FALSE; status <= GIVEN_UP; status++)
		if (unfinished[status])
			printf("%-8" PRIu64 "%s\n", unfinished[status],
			       status == ASSUMED_FALSE ? "do not count: an assumption was false" :
			       status == BLOCKED ? "blocked" : "given up in a loop");
	print_claims();
	printf("\n");
	if (JUDGED)
		printf("Model %s: %zu of %zu observed states forbidden\n", MODEL, forbidden, state_count);
	else
		printf("Not judged: %s\n", NOT_JUDGED);
	printf("Time %s %.2f\nParameters seed %" PRIu64 ", %" PRIu64 " instances, %" PRIu64 " per round, delays to %"
	       PRIu64 " ns\n", TEST, seconds, settings.seed, settings.iterations, settings.per_round, settings.delay);
	return forbidden;
}

/* -- a node, from beginning to end -- */

static void *checked_calloc(size_t count, size_t size)
{
	void *memory = calloc(count, size);

	if (!memory)
		fail("no memory");
	return memory;
}

static void *run_node(void *argument)
{
	struct node *n = argument;
	struct thread *all = checked_calloc(THREADS, sizeof *all);
	uint64_t (*rows)[OBSERVED + 1] = checked_calloc(NODES * BATCH, sizeof *rows);
	unsigned instances;

	this_node = n->number;
	open_node(n);
	connect_node(n);
	broadcast(n, &settings, sizeof settings);
	for (int i = 0; i < THREADS; i++) {
		all[i] = (struct thread){ .node = n, .number = i };
		all[i].random = (settings.seed + (unsigned)i + 1) * 0x9e3779b97f4a7c15u | 1;
		all[i].rows = checked_calloc(BATCH, sizeof *rows);
	}
	for (uint64_t done = 0; done < settings.iterations; done += instances) {
		instances = settings.iterations - done < BATCH ? (unsigned)(settings.iterations - done) : BATCH;
		reset_memory(n);
		tcp_barrier(n);
		run_threads(n, all, instances);
		tcp_barrier(n);
		observe(n, all, instances, rows);
		gather(n, rows, rows, instances * sizeof *rows);
		if (n->number == 0)
			count_batch(rows, instances);
	}
	tcp_barrier(n);	/* so that nobody goes while others may need its acknowledgements */
	return NULL;
}

static void usage(FILE *out, const char *name)
{
	fprintf(out, "%s is the litmus test %s: %d threads on %d nodes\n\n"
		"%s [options]                       all nodes in this process, through the device\n"
		"%s [options] NODE HOST1 [HOST2 …]  node NODE (1 to %d) of the test; start each once, in any order.\n"
		"    HOST1[:PORT] is where node 1 listens (TCP, port %s unless given); the other nodes connect to it.\n"
		"    Without it, node 1 listens on loopback, for nodes of its own host.\n"
		"    Their hosts may be named too, so that all nodes have the same command line.\n\n"
		"Options; node 1's -n, -r, -D and -s hold for all nodes\n"
		"  -d DEVICE  RDMA device (the first with an active port)\n"
		"  -i PORT    its port (1)\n"
		"  -x INDEX   GID index (the best of RoCE v2; none on InfiniBand)\n"
		"  -n COUNT   instances of the test (%" PRIu64 ")\n"
		"  -r COUNT   instances from one start barrier to the next (%" PRIu64 ")\n"
		"  -l ADDRESS where node 1 listens, if HOST1 means another address to it; 0.0.0.0 for all\n"
		"  -D NS      random delays between statements, up to that (%" PRIu64 ")\n"
		"  -s SEED    of the random delays (the time)\n"
		"  -v         say more\n"
		"  -h         this\n\n"
		"Exit code: 0, or 1 if the model forbids a state that was seen, or 2 if something is wrong.\n",
		name, TEST, THREADS, NODES, name, name, NODES, TCP_PORT, settings.iterations, settings.per_round,
		settings.delay);
	exit(out == stdout ? 0 : 2);
}

static uint64_t number(const char *text, uint64_t least, uint64_t most)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || *end || end == text || *text == '-' || value < least || value > most)
		fail("expected a number from %" PRIu64 " to %" PRIu64 ", found %s", least, most, text);
	return value;
}

static void read_options(int argc, char **argv)
{
	for (int option; (option = getopt(argc, argv, "d:i:x:l:n:r:D:s:vh")) != -1;)
		switch (option) {
		case 'd': device_name = optarg; break;
		case 'i': port_number = (int)number(optarg, 1, 255); break;
		case 'x': wanted_gid = (int)number(optarg, 0, 255); break;
		case 'l': listen_host = optarg; break;
		case 'n': settings.iterations = number(optarg, 1, UINT64_MAX / 2); break;
		case 'r': settings.per_round = number(optarg, 1, UINT64_MAX); break;
		case 'D': settings.delay = number(optarg, 0, 1000000); break;
		case 's': settings.seed = number(optarg, 0, UINT64_MAX); break;
		case 'v': verbose = 1; break;
		case 'h': usage(stdout, argv[0]); break;
		default: usage(stderr, argv[0]);
		}
}

/* All nodes in this process. */
static void run_all(void)
{
	static struct node nodes[NODES];
	pthread_t running[NODES];
	struct sockaddr_in at;
	socklen_t size = sizeof at;
	char port[8];
	int listener = listen_at("127.0.0.1", "0");

	if (getsockname(listener, (struct sockaddr *)&at, &size))
		fail("getsockname: %m");
	snprintf(port, sizeof port, "%u", ntohs(at.sin_port));
	for (int i = 0; i < NODES; i++) {
		nodes[i] = (struct node){ .number = i, .listener = listener, .host = "127.0.0.1", .port = port };
		errno = pthread_create(&running[i], NULL, run_node, &nodes[i]);
		if (errno)
			fail("pthread_create: %m");
	}
	for (int i = 0; i < NODES; i++)
		pthread_join(running[i], NULL);
}

static void run_one(int count, char **words)
{
	static struct node node;
	char *colon;

	node.number = (int)number(words[0], 1, NODES) - 1;
	this_node = node.number;
	if (count > NODES + 1 || (count < 2 && node.number))
		fail("expected the host of node 1, and no more hosts than nodes");
	node.host = count < 2 ? "127.0.0.1" : words[1];
	node.port = TCP_PORT;
	colon = strchr(node.host, ':');
	if (colon && !strchr(colon + 1, ':')) {	/* not an address of IPv6 */
		*colon = 0;
		node.port = colon + 1;
	}
	if (node.number == 0)
		node.listener = listen_at(listen_host ? listen_host : node.host, node.port);
	run_node(&node);
}

int main(int argc, char **argv)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN), here = 0;
	int is_first = 1;
	uint64_t start;

	/* mlx5 would deliver short responses in the completion, and ibv_poll_cq would copy them: then the CPU, not the
	 * NIC, would write the results of READs and atomics. */
	setenv("MLX5_SCATTER_TO_CQE", "0", 1);
	settings.seed = (uint64_t)time(NULL);
	read_options(argc, argv);
	if (optind < argc)
		is_first = number(argv[optind], 1, NODES) == 1;
	for (int i = 0; i < THREADS; i++)
		here += optind == argc || threads[i].node + 1 == atoi(argv[optind]);
	cpus_are_few = cpus <= here;
	start = nanoseconds();
	if (optind == argc)
		run_all();
	else
		run_one(argc - optind, argv + optind);
	if (!is_first)
		return 0;
	return print_histogram((double)(nanoseconds() - start) / 1e9) ? 1 : 0;
}
