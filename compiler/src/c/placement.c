/* -- FLUSH and ATOMIC_WRITE, which only ibv_wr_* has -- */

#define PLACE_FLUSH ((enum ibv_wr_opcode)14)		/* IBV_WR_FLUSH, since rdma-core 45 */
#define PLACE_PERSIST ((enum ibv_wr_opcode)114)		/* the same, also for persistence */
#define PLACE_ATOMIC_WRITE ((enum ibv_wr_opcode)15)	/* IBV_WR_ATOMIC_WRITE, since rdma-core 44 */

static int is_placement(enum ibv_wr_opcode opcode)
{
	return opcode == PLACE_FLUSH || opcode == PLACE_PERSIST || opcode == PLACE_ATOMIC_WRITE;
}

/* The functions are behind wr_abort. Headers of older versions do not name them. */
typedef void atomic_write_function(struct ibv_qp_ex *, uint32_t, uint64_t, const void *);
typedef void flush_function(struct ibv_qp_ex *, uint32_t, uint64_t, size_t, uint8_t, uint8_t);

static void *function_behind_abort(struct ibv_qp_ex *qp, size_t number)
{
	void *found;

	memcpy(&found, (char *)qp + offsetof(struct ibv_qp_ex, wr_abort) + number * sizeof found, sizeof found);
	return found;
}

static int place(struct ibv_qp *queue_pair, const struct ibv_send_wr *request)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(queue_pair);
	uint64_t address = request->wr.rdma.remote_addr, value;
	uint32_t key = request->wr.rdma.rkey;

	if (!qp)
		return EOPNOTSUPP;
	ibv_wr_start(qp);
	qp->wr_id = request->wr_id;
	qp->wr_flags = request->send_flags;
	if (request->opcode == PLACE_ATOMIC_WRITE) {
		atomic_write_function *atomic_write = (atomic_write_function *)function_behind_abort(qp, 1);

		value = __atomic_load_n((uint64_t *)(uintptr_t)request->sg_list->addr, __ATOMIC_RELAXED);
		atomic_write(qp, key, address, &value);
	} else {
		flush_function *flush = (flush_function *)function_behind_abort(qp, 2);

		/* IBV_FLUSH_GLOBAL, and IBV_FLUSH_PERSISTENT; of the whole region, IBV_FLUSH_MR */
		flush(qp, key, address, 0, request->opcode == PLACE_PERSIST ? 3 : 1, 1);
	}
	return ibv_wr_complete(qp);
}

/* Like ibv_create_qp. */
static struct ibv_qp *create_queue_pair(struct ibv_context *context, struct ibv_pd *pd, struct ibv_qp_init_attr *wanted)
{
	struct ibv_qp_init_attr_ex all = {
		.send_cq = wanted->send_cq, .recv_cq = wanted->recv_cq, .cap = wanted->cap, .qp_type = wanted->qp_type,
		.pd = pd, .comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		/* those of ibv_post_send, IBV_QP_EX_WITH_FLUSH, IBV_QP_EX_WITH_ATOMIC_WRITE */
		.send_ops_flags = 0x7f | (PLACEMENTS & 1 ? 1 << 11 : 0) | (PLACEMENTS & 4 ? 1 << 12 : 0),
	};

	return ibv_create_qp_ex(context, &all);
}

/* What the device lacks of the memory placement extensions, or NULL. */
static const char *lacks_placement(struct ibv_context *context)
{
	struct ibv_device_attr_ex device;
	uint64_t has = ibv_query_device_ex(context, NULL, &device) ? 0 : device.device_cap_flags_ex;

	return PLACEMENTS & 1 && !(has >> 38 & 1) ? "FLUSH" : PLACEMENTS & 2 && !(has >> 39 & 1) ? "FLUSH for persistence" :
	       PLACEMENTS & 4 && !(has >> 40 & 1) ? "ATOMIC_WRITE" : NULL;
}

