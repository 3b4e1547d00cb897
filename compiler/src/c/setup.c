
/* ---- Setup: TCP between the nodes, and queue pairs --------------------------------------------------------- */

#define MAGIC 0x6c69746du	/* also tells whether both ends have the same byte order */
/* What peers may do to memory. Headers before rdma-core 45 have no names for the last two. */
#define RIGHTS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | (NEEDS_ATOMICS ? IBV_ACCESS_REMOTE_ATOMIC : 0) | \
		(PLACEMENTS & 1 ? 1 << 8 : 0) | (PLACEMENTS & 2 ? 1 << 9 : 0))

static const char *device_name, *listen_host;
static int port_number = 1, wanted_gid = -1;

static int node_of_link(int link)
{
	return is_of_test(link) ? queue_pairs[link].node : (link - QUEUE_PAIRS) % NODES;
}

static int thread_of_link(int link)
{
	return is_of_test(link) ? queue_pairs[link].thread : (link - QUEUE_PAIRS) / NODES;
}

static int barrier_link(int thread, int node)
{
	return QUEUE_PAIRS + thread * NODES + node;
}

/* A thread reaches the barrier words of its own node without the NIC. */
static int is_used(int link)
{
	return link < QUEUE_PAIRS || threads[thread_of_link(link)].node != node_of_link(link);
}

/* -- TCP: node 0 listens, and all the others connect to it -- */

static void send_to(struct node *n, int other, const void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t count = send(n->sockets[other], (const char *)data + done, size - done, MSG_NOSIGNAL);

		if (count < 0 && errno != EINTR)
			fail("sending to node %d by TCP: %m", other + 1);
		done += count > 0 ? (size_t)count : 0;
	}
}

static void receive_from(struct node *n, int other, void *data, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t count = recv(n->sockets[other], (char *)data + done, size - done, 0);

		if (count == 0)
			fail("node %d has gone", other + 1);
		if (count < 0 && errno != EINTR)
			fail("receiving from node %d by TCP: %s", other + 1,
			     errno == EAGAIN ? "nothing for a minute" : strerror(errno));
		done += count > 0 ? (size_t)count : 0;
	}
}

/* All nodes' data, each of the same size, at node 0. */
static void gather(struct node *n, const void *mine, void *all, size_t size)
{
	if (n->number)
		send_to(n, 0, mine, size);
	else
		for (int other = 1; other < NODES; other++)
			receive_from(n, other, (char *)all + (size_t)other * size, size);
}

/* The same data, from node 0, at all nodes. */
static void broadcast(struct node *n, void *data, size_t size)
{
	if (n->number)
		receive_from(n, 0, data, size);
	else
		for (int other = 1; other < NODES; other++)
			send_to(n, other, data, size);
}

static void tcp_barrier(struct node *n)
{
	char here = 1, all[NODES];

	gather(n, &here, all, 1);
	broadcast(n, &here, 1);
}

static struct addrinfo *addresses(const char *host, const char *port)
{
	struct addrinfo *found, hints = { .ai_socktype = SOCK_STREAM };
	int error = getaddrinfo(host, port, &hints, &found);

	if (error)
		fail("%s port %s: %s", host, port, gai_strerror(error));
	return found;
}

static int is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in6 *ipv6 = (const struct sockaddr_in6 *)address;

	if (address->sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&ipv6->sin6_addr);
	return address->sa_family == AF_INET &&
	       ntohl(((const struct sockaddr_in *)address)->sin_addr.s_addr) >> 24 == 127;
}

static int listen_at(const char *host, const char *port)
{
	struct addrinfo *at = addresses(host, port);
	int on = 1, listener = socket(at->ai_family, SOCK_STREAM, 0);

	if (listener < 0)
		fail("socket: %m");
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(listener, at->ai_addr, at->ai_addrlen) || listen(listener, 64))
		fail("listening on %s, TCP port %s: %m (-l names the address)", host, port);
	/* Many a host has an entry of its own name with an address of loopback. */
	if (strcmp(host, "localhost") && strncmp(host, "127.", 4) && strcmp(host, "::1") && is_loopback(at->ai_addr))
		fprintf(stderr, "%s: %s is an address of loopback, so other hosts do not reach it; -l names another\n",
			TEST, host);
	freeaddrinfo(at);
	return listener;
}

static void set_socket(struct node *n, int other, int descriptor)
{
	struct timeval minute = { .tv_sec = 60 };
	int on = 1;

	setsockopt(descriptor, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &minute, sizeof minute);
	n->sockets[other] = descriptor;
}

/* The other nodes may be started later: tries for 30 s. */
static void connect_to_first(struct node *n)
{
	for (int tries = 0; tries < 300; tries++, usleep(100000)) {
		struct addrinfo *all = addresses(n->host, n->port);

		for (struct addrinfo *at = all; at; at = at->ai_next) {
			int descriptor = socket(at->ai_family, SOCK_STREAM, 0);

			if (descriptor >= 0 && !connect(descriptor, at->ai_addr, at->ai_addrlen)) {
				freeaddrinfo(all);
				set_socket(n, 0, descriptor);
				send_to(n, 0, &n->contacts[n->number], sizeof n->contacts[0]);
				return;
			}
			if (descriptor >= 0)
				close(descriptor);
		}
		freeaddrinfo(all);
	}
	fail("no connection to node 1 at %s port %s for 30 s", n->host, n->port);
}

static void accept_others(struct node *n)
{
	for (int missing = NODES - 1; missing > 0;) {
		struct pollfd waiting = { .fd = n->listener, .events = POLLIN };
		struct timeval second = { .tv_sec = 1 };
		struct contact contact;
		const char *wrong;
		int descriptor;

		if (poll(&waiting, 1, 30000) == 0)
			fail("%d of %d other nodes have not connected within 30 s", missing, NODES - 1);
		descriptor = accept(n->listener, NULL, NULL);
		if (descriptor < 0)
			continue;
		setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
		wrong = recv(descriptor, &contact, sizeof contact, MSG_WAITALL) != sizeof contact || contact.magic != MAGIC
			? "is no node of any test" : contact.program != PROGRAM ? "runs another program"
			: contact.node < 1 || contact.node >= NODES ? "has the number of no node"
			: n->contacts[contact.node].magic ? "is a node that is there already" : NULL;
		if (wrong) {
			fprintf(stderr, "%s: a TCP connection is refused: it %s\n", TEST, wrong);
			close(descriptor);
			continue;
		}
		n->contacts[contact.node] = contact;
		set_socket(n, (int)contact.node, descriptor);
		missing--;
	}
}

/* -- the device -- */

/* Why a device cannot run the test: the rest of a sentence that its name begins. NULL if it can. */
static const char *why_not(struct ibv_context *context)
{
	struct ibv_device_attr device;
	struct ibv_port_attr port;

	if (context->device->transport_type != IBV_TRANSPORT_IB)
		return "is not InfiniBand or RoCE, and other devices have no reliable connections without rdma_cm";
	if (ibv_query_device(context, &device) || !device.max_qp_rd_atom || !device.max_qp_init_rd_atom)
		return "has no remote reads";
	if (ibv_query_port(context, (uint8_t)port_number, &port) || port.state != IBV_PORT_ACTIVE)
		return "has no active port of that number";
	return NULL;
}

/* The device named, or else the first that can run the test. */
static struct ibv_context *open_device(void)
{
	int count = 0;
	struct ibv_device **list = ibv_get_device_list(&count);
	struct ibv_context *context = NULL;

	if (!list || count == 0)
		fail("there is no RDMA device (%s)", list ? "ibv_get_device_list finds none" : strerror(errno));
	for (int i = 0; i < count && !context; i++) {
		const char *why, *name = ibv_get_device_name(list[i]);

		if (device_name && strcmp(name, device_name))
			continue;
		context = ibv_open_device(list[i]);
		why = context ? why_not(context) : "cannot be opened";
		if (!why)
			break;
		/* Without a name, the next one may do. The last one says why, if none does. */
		if (device_name || i == count - 1)
			fail("%s %s%s", name, why, device_name || count == 1 ? "" : ", and no other device can run this");
		if (verbose)
			fprintf(stderr, "%s %s\n", name, why);
		if (context)
			ibv_close_device(context);
		context = NULL;
	}
	ibv_free_device_list(list);
	if (!context)
		fail("there is no RDMA device %s", device_name);
	return context;
}

/* What a GID is worth: one of RoCE v2 that is made of an IPv4 address goes farthest. */
static int gid_rank(const struct ibv_gid_entry *entry)
{
	static const uint8_t none[16], ipv4[12] = { [10] = 0xff, [11] = 0xff };
	const uint8_t *raw = entry->gid.raw;

	if (!memcmp(raw, none, 16))
		return 0;
	if (entry->gid_type != IBV_GID_TYPE_ROCE_V2)
		return 1;
	if (raw[0] == 0xfe && raw[1] == 0x80)
		return 2;	/* only on the link */
	return memcmp(raw, ipv4, 12) ? 3 : 4;
}

static void choose_gid(struct node *n, const struct ibv_port_attr *port)
{
	struct contact *me = &n->contacts[n->number];
	struct ibv_gid_entry entry;
	int best = 0;

	me->is_global = port->link_layer == IBV_LINK_LAYER_ETHERNET || wanted_gid >= 0 ||
		(port->flags & IBV_QPF_GRH_REQUIRED);
	if (!me->is_global)
		return;
	for (int i = 0; i < port->gid_tbl_len; i++) {
		if (ibv_query_gid_ex(n->context, (uint32_t)port_number, (uint32_t)i, &entry, 0))
			continue;	/* empty */
		if (wanted_gid >= 0 ? i == wanted_gid : gid_rank(&entry) > best) {
			best = gid_rank(&entry);
			n->gid_index = i;
			me->gid_type = entry.gid_type;
			memcpy(me->gid, entry.gid.raw, 16);
		}
	}
	if (!best)
		fail("%s port %d has no usable GID%s", ibv_get_device_name(n->context->device), port_number,
		     wanted_gid >= 0 ? " of that index" : "; does its network interface have an address?");
}

static void open_node(struct node *n)
{
	struct contact *me = &n->contacts[n->number];
	struct ibv_device_attr device;
	struct ibv_port_attr port;
	size_t size = (size_t)MEMORY_LINES * LINE;
	const char *name;

	n->context = open_device();
	name = ibv_get_device_name(n->context->device);
	errno = ibv_query_device(n->context, &device);
	if (errno)
		fail("ibv_query_device of %s: %m", name);
	errno = ibv_query_port(n->context, (uint8_t)port_number, &port);
	if (errno)
		fail("ibv_query_port %d of %s: %m", port_number, name);
	if (NEEDS_ATOMICS && device.atomic_cap == IBV_ATOMIC_NONE)
		fail("%s has no atomics, which this test needs", name);
#if PLACEMENTS
	if (lacks_placement(n->context))
		fail("%s has no %s, which this test needs", name, lacks_placement(n->context));
#endif
	n->pd = ibv_alloc_pd(n->context);
	if (!n->pd)
		fail("ibv_alloc_pd on %s: %m", name);
	n->memory = aligned_alloc(LINE, size);
	if (!n->memory)
		fail("%zu bytes of memory: %m", size);
	memset(n->memory, 0, size);
	/* No IBV_ACCESS_RELAXED_ORDERING: the models do not speak of it. */
	n->region = ibv_reg_mr(n->pd, n->memory, size,
			       IBV_ACCESS_LOCAL_WRITE | RIGHTS);
	if (!n->region)
		fail("ibv_reg_mr of %zu bytes on %s: %m (see ulimit -l)", size, name);
	*me = (struct contact){
		.magic = MAGIC, .node = (uint32_t)n->number, .program = PROGRAM, .address = (uintptr_t)n->memory,
		.key = n->region->rkey, .mtu = port.active_mtu, .lid = port.lid,
		.psn = (uint32_t)(nanoseconds() >> 10) & 0xffffff,
		.reads_out = (uint32_t)device.max_qp_init_rd_atom, .reads_in = (uint32_t)device.max_qp_rd_atom,
	};
	choose_gid(n, &port);
	if (verbose)
		fprintf(stderr, "node %d: %s firmware %s, port %d, GID index %d, READs and atomics %d out, %d in\n",
			n->number + 1, name, device.fw_ver, port_number, n->gid_index, device.max_qp_init_rd_atom,
			device.max_qp_rd_atom);
}

/* -- queue pairs -- */

/* A queue pair with a completion queue of its own, in the state INIT. */
static struct ibv_qp *new_queue_pair(struct node *n, int link)
{
	const char *name = ibv_get_device_name(n->context->device);
	struct ibv_cq *cq = ibv_create_cq(n->context, RECEIVES_AT_ONCE, NULL, NULL, 0);
	struct ibv_qp_init_attr wanted = {
		.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_RC, .sq_sig_all = 0,
		.cap = { .max_send_wr = DEPTH, .max_recv_wr = RECEIVES ? RECEIVES_AT_ONCE : 1, .max_send_sge = 1, .max_recv_sge = 1,
			 .max_inline_data = INLINE_BYTES },
	};
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = (uint8_t)port_number,
		.qp_access_flags = RIGHTS,
	};
	struct ibv_qp *qp;

	if (!cq)
		fail("ibv_create_cq on %s: %m", name);
#if PLACEMENTS
	qp = create_queue_pair(n->context, n->pd, &wanted);
#else
	qp = ibv_create_qp(n->pd, &wanted);
#endif
	if (!qp)
		fail("ibv_create_qp on %s for thread %d to node %d: %m", name, thread_of_link(link) + 1,
		     node_of_link(link) + 1);
	errno = ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	if (errno)
		fail("ibv_modify_qp to INIT on %s port %d: %m", name, port_number);
	return qp;
}

static uint32_t smaller(uint32_t one, uint32_t other)
{
	return one < other ? one : other;
}

/* To RTR and RTS, by what both nodes can do. */
static void connect_queue_pair(struct node *n, struct ibv_qp *qp, int other, uint32_t number)
{
	const struct contact *me = &n->contacts[n->number], *you = &n->contacts[other];
	const char *name = ibv_get_device_name(n->context->device);
	struct ibv_qp_attr to = {
		.qp_state = IBV_QPS_RTR, .path_mtu = (enum ibv_mtu)smaller(me->mtu, you->mtu), .dest_qp_num = number,
		.rq_psn = you->psn,
		.max_dest_rd_atomic = (uint8_t)smaller(255, smaller(me->reads_in, you->reads_out)), .min_rnr_timer = RECEIVES ? 1 : 12,
		.ah_attr = { .port_num = (uint8_t)port_number, .dlid = you->lid, .is_global = (uint8_t)me->is_global,
			     .grh = { .sgid_index = (uint8_t)n->gid_index, .hop_limit = 64 } },
	};

	memcpy(to.ah_attr.grh.dgid.raw, you->gid, 16);
	errno = ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (errno)
		fail("ibv_modify_qp to RTR on %s, connecting to node %d: %m", name, other + 1);
	to = (struct ibv_qp_attr){
		.qp_state = IBV_QPS_RTS, .timeout = 17, .retry_cnt = 7, .rnr_retry = 7, .sq_psn = me->psn,
		.max_rd_atomic = (uint8_t)smaller(255, smaller(me->reads_out, you->reads_in)),
	};
	errno = ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			      IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
	if (errno)
		fail("ibv_modify_qp to RTS on %s, connecting to node %d: %m", name, other + 1);
}

#if SHARED
/* Prepares an end for several threads, if they share it. A thread that holds it may hold it once more. */
static void share(struct end *end, int link)
{
	pthread_mutexattr_t again;

	if (!is_shared(link))
		return;
	end->of_instance = calloc(BATCH, sizeof *end->of_instance);
	if (!end->of_instance || pthread_mutexattr_init(&again) || pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE) ||
	    pthread_mutex_init(&end->lock, &again))
		fail("no memory for a queue pair that threads share");
}
#endif

/* Makes all queue pairs, tells the others of them, and connects them. */
static void connect_node(struct node *n)
{
	struct contact *me = &n->contacts[n->number];

	for (int link = 0; link < LINKS; link++) {
		if (!is_used(link))
			continue;
		if (threads[thread_of_link(link)].node == n->number) {
			struct ibv_qp *qp = new_queue_pair(n, link);

			n->ends[link] = (struct end){ .qp = qp, .cq = qp->send_cq };
#if SHARED
			share(&n->ends[link], link);
#endif
			me->first[link] = qp->qp_num;
		}
		if (node_of_link(link) == n->number) {
			n->second[link] = new_queue_pair(n, link);
			me->second[link] = n->second[link]->qp_num;
		}
	}
	if (n->number)
		connect_to_first(n);
	else
		accept_others(n);
	broadcast(n, n->contacts, sizeof n->contacts);
	for (int other = 0; other < NODES; other++)
		if (n->contacts[other].gid_type != me->gid_type || n->contacts[other].is_global != me->is_global)
			fail("node %d has another type of GID; choose with -x", other + 1);
	for (int link = 0; link < LINKS; link++) {
		int from = threads[thread_of_link(link)].node, to = node_of_link(link);

		if (n->ends[link].qp)
			connect_queue_pair(n, n->ends[link].qp, to, n->contacts[to].second[link]);
		if (n->second[link])
			connect_queue_pair(n, n->second[link], from, n->contacts[from].first[link]);
	}
	tcp_barrier(n);
}
