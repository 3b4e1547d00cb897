/* As much of libibverbs as programs made by `litmus compile --target verbs-c` use, without a NIC: all queue pairs are in
 * one process, and a thread carries out their requests in random turns. It does less out of order than the models
 * allow: per queue pair, sources are read in order, then targets are accessed in order, and requests complete in
 * order. A write may complete before it reaches its target. What no NIC would take, it refuses aloud. */
#define _GNU_SOURCE
#include <infiniband/verbs.h>
#undef ibv_query_port
#undef ibv_reg_mr

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 256
#define MOST 1024

struct request {
	struct ibv_send_wr work;
	uint64_t *local, *remote, value;
};

struct queue {
	struct ibv_qp qp;	/* first, so that a pointer to it is one to the queue */
	uint32_t peer;
	unsigned depth;
	struct request requests[DEPTH];
	/* How many are posted; how many of these have read their source, reached their target, completed. */
	uint64_t posted, sent, applied, completed;
};

struct completions {
	struct ibv_cq cq;
	struct ibv_wc all[DEPTH];
	uint64_t added, taken;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct queue *queues[MOST];
static struct ibv_mr *regions[MOST];
static unsigned queue_count, region_count;
static struct ibv_device device = { .node_type = IBV_NODE_CA, .transport_type = IBV_TRANSPORT_IB, .name = "fake0" };
/* One without reliable connections comes first. */
static struct ibv_device other = { .node_type = IBV_NODE_USNIC, .transport_type = IBV_TRANSPORT_USNIC, .name = "usnic0" };
static struct ibv_device *devices[] = { &other, &device, NULL };

static void refuse(const char *what)
{
	fprintf(stderr, "fake_verbs: %s\n", what);
	exit(3);
}

/* A word in a registered region with that key. */
static uint64_t *word(uint64_t address, uint32_t key)
{
	struct ibv_mr *region = key >= 1 && key <= region_count ? regions[key - 1] : NULL;

	if (!region || address % 8 || address < (uintptr_t)region->addr ||
	    address + 8 > (uintptr_t)region->addr + region->length)
		refuse("an access outside of registered memory");
	return (uint64_t *)(uintptr_t)address;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *work, struct ibv_send_wr **bad)
{
	struct queue *queue = (struct queue *)qp;
	struct queue *peer = queue->peer >= 1 && queue->peer <= queue_count ? queues[queue->peer - 1] : NULL;
	int is_plain = work->opcode == IBV_WR_RDMA_WRITE || work->opcode == IBV_WR_RDMA_READ;
	struct request *request;

	(void)bad;
	if (qp->state != IBV_QPS_RTS || !peer || peer->peer != qp->qp_num)
		refuse("a request to a queue pair that is not connected");
	if ((work->send_flags & ~(unsigned)IBV_SEND_FENCE) != IBV_SEND_SIGNALED || work->num_sge != 1 ||
	    work->sg_list->length != 8)
		refuse("a request that is inline, unsignaled, or not of a word");
	pthread_mutex_lock(&lock);
	if (queue->posted - queue->completed >= queue->depth)
		refuse("more requests than the send queue holds");
	request = &queue->requests[queue->posted % DEPTH];
	request->work = *work;
	request->local = word(work->sg_list->addr, work->sg_list->lkey);
	request->remote = is_plain ? word(work->wr.rdma.remote_addr, work->wr.rdma.rkey)
				   : word(work->wr.atomic.remote_addr, work->wr.atomic.rkey);
	queue->posted++;
	pthread_mutex_unlock(&lock);
	return 0;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *found)
{
	struct completions *completions = (struct completions *)cq;
	int count = 0;

	pthread_mutex_lock(&lock);
	while (count < most && completions->taken < completions->added)
		found[count++] = completions->all[completions->taken++ % DEPTH];
	pthread_mutex_unlock(&lock);
	return count;
}

static uint64_t load(const uint64_t *at)
{
	return __atomic_load_n(at, __ATOMIC_RELAXED);
}

static void store(uint64_t *at, uint64_t value)
{
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
}

static void apply(struct request *request)
{
	uint64_t old = load(request->remote);

	switch (request->work.opcode) {
	case IBV_WR_RDMA_WRITE:
		store(request->remote, request->value);
		break;
	case IBV_WR_RDMA_READ:
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		store(request->remote, old + request->work.wr.atomic.compare_add);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		if (old == request->work.wr.atomic.compare_add)
			store(request->remote, request->work.wr.atomic.swap);
		break;
	default:
		refuse("an operation that tests do not have");
	}
	if (request->work.opcode != IBV_WR_RDMA_WRITE)
		request->value = old;
}

static void complete(struct queue *queue, struct request *request)
{
	struct completions *completions = (struct completions *)queue->qp.send_cq;

	if (request->work.opcode != IBV_WR_RDMA_WRITE)
		store(request->local, request->value);
	if (completions->added - completions->taken >= (uint64_t)completions->cq.cqe)
		refuse("more completions than the completion queue holds");
	completions->all[completions->added++ % DEPTH] =
		(struct ibv_wc){ .wr_id = request->work.wr_id, .status = IBV_WC_SUCCESS, .qp_num = queue->qp.qp_num };
}

/* One step of one of the three kinds, if there is any to do. */
static void step(struct queue *queue, unsigned kind)
{
	struct request *next;

	if (kind == 0 && queue->sent < queue->posted) {
		next = &queue->requests[queue->sent % DEPTH];
		/* Stronger than a fence must be: it waits for earlier writes too. */
		if ((next->work.send_flags & IBV_SEND_FENCE) && queue->completed < queue->sent)
			return;
		if (next->work.opcode == IBV_WR_RDMA_WRITE)
			next->value = load(next->local);
		queue->sent++;
	} else if (kind == 1 && queue->applied < queue->sent) {
		apply(&queue->requests[queue->applied++ % DEPTH]);
	} else if (kind == 2 && queue->completed < queue->sent) {
		next = &queue->requests[queue->completed % DEPTH];
		if (next->work.opcode == IBV_WR_RDMA_WRITE ? 0 : queue->applied <= queue->completed)
			return;
		/* The ring must not lose a write that is not applied yet. */
		if (queue->completed - queue->applied > DEPTH / 4 && queue->completed > queue->applied)
			return;
		complete(queue, next);
		queue->completed++;
	}
}

static void *work(void *unused)
{
	uint64_t random = 88172645463325252u;

	(void)unused;
	for (;;) {
		pthread_mutex_lock(&lock);
		for (unsigned turn = 0; turn < 4 * queue_count; turn++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			step(queues[(random >> 8) % queue_count], (unsigned)(random % 3));
		}
		pthread_mutex_unlock(&lock);
		sched_yield();
	}
	return NULL;
}

struct ibv_device **ibv_get_device_list(int *count)
{
	*count = 2;
	return devices;
}

void ibv_free_device_list(struct ibv_device **list)
{
	(void)list;
}

const char *ibv_get_device_name(struct ibv_device *of)
{
	return of->name;
}

struct ibv_context *ibv_open_device(struct ibv_device *of)
{
	static int is_working;
	struct ibv_context *context = calloc(1, sizeof *context);
	pthread_t worker;

	context->device = of;
	context->ops.post_send = post_send;
	context->ops.poll_cq = poll_cq;
	pthread_mutex_lock(&lock);
	if (!is_working++ && pthread_create(&worker, NULL, work, NULL))
		refuse("no thread");
	pthread_mutex_unlock(&lock);
	return context;
}

int ibv_close_device(struct ibv_context *context)
{
	free(context);
	return 0;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *found)
{
	(void)context;
	*found = (struct ibv_device_attr){ .atomic_cap = IBV_ATOMIC_HCA, .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 16 };
	return 0;
}

int ibv_query_port(struct ibv_context *context, uint8_t port, struct _compat_ibv_port_attr *found)
{
	struct ibv_port_attr attributes = {
		.state = IBV_PORT_ACTIVE, .active_mtu = IBV_MTU_1024, .gid_tbl_len = 3,
		.link_layer = IBV_LINK_LAYER_ETHERNET,
	};

	(void)context;
	if (port != 1)
		return EINVAL;
	memcpy(found, &attributes, offsetof(struct ibv_port_attr, port_cap_flags2));
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port, uint32_t index, struct ibv_gid_entry *entry,
		      uint32_t flags, size_t size)
{
	(void)context, (void)flags, (void)size;
	if (index == 1)
		return ENODATA;
	*entry = (struct ibv_gid_entry){ .gid_index = index, .port_num = port, .gid_type = IBV_GID_TYPE_ROCE_V2 };
	entry->gid.raw[0] = 0xfe;
	entry->gid.raw[1] = 0x80;
	return 0;
}

struct ibv_pd *ibv_alloc_pd(struct ibv_context *context)
{
	struct ibv_pd *pd = calloc(1, sizeof *pd);

	pd->context = context;
	return pd;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
	struct ibv_mr *region = calloc(1, sizeof *region);

	(void)access;
	*region = (struct ibv_mr){ .context = pd->context, .pd = pd, .addr = address, .length = length };
	pthread_mutex_lock(&lock);
	regions[region_count++] = region;
	region->lkey = region->rkey = region_count;
	pthread_mutex_unlock(&lock);
	return region;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova, unsigned int access)
{
	(void)iova;
	return ibv_reg_mr(pd, address, length, (int)access);
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int depth, void *user, struct ibv_comp_channel *channel,
			     int vector)
{
	struct completions *completions = calloc(1, sizeof *completions);

	(void)user, (void)channel, (void)vector;
	completions->cq.context = context;
	completions->cq.cqe = depth;
	return &completions->cq;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *wanted)
{
	struct queue *queue = calloc(1, sizeof *queue);

	if (wanted->qp_type != IBV_QPT_RC || wanted->sq_sig_all || wanted->cap.max_send_wr > DEPTH / 2)
		refuse("a queue pair that tests do not want");
	queue->depth = wanted->cap.max_send_wr;
	queue->qp = (struct ibv_qp){ .context = pd->context, .send_cq = wanted->send_cq, .state = IBV_QPS_RESET };
	pthread_mutex_lock(&lock);
	queues[queue_count++] = queue;
	queue->qp.qp_num = queue_count;
	pthread_mutex_unlock(&lock);
	return &queue->qp;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *to, int mask)
{
	if (!(mask & IBV_QP_STATE) || to->qp_state != qp->state + 1)
		return EINVAL;
	if (to->qp_state == IBV_QPS_RTR)
		((struct queue *)qp)->peer = to->dest_qp_num;
	qp->state = to->qp_state;
	return 0;
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
	return status == IBV_WC_SUCCESS ? "success" : "error";
}
