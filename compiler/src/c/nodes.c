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
