// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tests what the BPF collector may do with the capabilities of this process: its programs are
 * loaded, one is attached to a software event, a window goes through the test entry, the tables are
 * drained and the ring is read.
 *
 * Prints a line a step, "load: ok", and ends with status 0, or with 1 and one line that says why
 * not, as the daemon would.
 */
#define PP_KERNEL_TABLES /* as the program has them */

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../daemon/bpf/collect.h"
#include "collect.skel.h"

#include "../../daemon/bpf/collect_prepare.h"
#include "../../daemon/privilege.h"
#include "pathprof/machine.h"

#define BRANCHES 32
#define PID      4711

struct rights {
	struct collect_bpf *object;
	struct ring_buffer *ring;
	void *states;
	size_t states_bytes;
	int cpu, event_fd;
	unsigned int records, contexts, counts;
};

static int fail(int r, enum pathprof_ask ask, const char *what)
{
	struct pathprof_error error = {""};

	pathprof_explain_here(ask, r, what, &error);
	fprintf(stderr, "%s\n", error.text);
	return r;
}

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static int load(struct rights *rights)
{
	int cpus = libbpf_num_possible_cpus(), r;

	rights->object = collect_bpf__open();
	if (!rights->object || cpus <= 0)
		return fail(-errno, PATHPROF_ASK_BPF, "bpf: open");
	bpf_program__set_autoload(rights->object->progs.on_given, false);
	bpf_map__set_max_entries(rights->object->maps.states, (unsigned int)cpus);
	rights->object->data_cfg->pp_collect_config = (struct pp_collect_config){
		.compress = {.sampler = PP_SAMPLER_PERIODIC, .rate = 1},
		.hpt = {.bits = 9, .ways = 4, .policy = PP_HPT_TAIL},
		.kinds = ~0u,
		.profiles = PATHPROF_PROFILE_EDGES,
		.ip_max = ~0ull,
	};
	r = collect_bpf__load(rights->object);
	return r ? fail(r, PATHPROF_ASK_BPF, "bpf: load") : 0;
}

static int attach(struct rights *rights)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 10000000,
		.disabled = 1,
		.exclude_kernel = 1,
	};
	int fd =
		(int)syscall(SYS_perf_event_open, &attr, -1, rights->cpu, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return fail(-errno, PATHPROF_ASK_EVENT, "perf: event on a CPU");
	rights->event_fd = fd;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, bpf_program__fd(rights->object->progs.on_sample)))
		return fail(-errno, PATHPROF_ASK_BPF, "bpf: attach");
	return 0;
}

static int prepare(struct rights *rights)
{
	const size_t each = (sizeof(struct pp_collect_state) + 7) / 8 * 8;
	int fd = bpf_map__fd(rights->object->maps.states);

	rights->states_bytes = each * bpf_map__max_entries(rights->object->maps.states);
	rights->states =
		mmap(NULL, rights->states_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (rights->states == MAP_FAILED)
		return fail(-errno, PATHPROF_ASK_BPF, "bpf: map the states");
	pp_collect_prepare((void *)((char *)rights->states + each * (size_t)rights->cpu),
			   &rights->object->data_cfg->pp_collect_config, 1, (__u32)rights->cpu);
	return 0;
}

/* A loop of calls back to where it began: every branch ends a segment. */
static int give_window(struct rights *rights)
{
	struct pp_collect_given given = {
		.cnt = BRANCHES,
		.who = {.address_space = 1, .pid = PID, .comm = "rights"},
	};
	unsigned int key = 0;
	int r;

	for (unsigned int i = 0; i < BRANCHES; i++)
		given.stack[i] =
			(struct pp_collect_entry){.from = 0x401100, .to = 0x401000, .flags = 2};
	r = bpf_map__update_elem(rights->object->maps.given, &key, sizeof(key), &given,
				 sizeof(given), BPF_ANY);
	return r ? fail(r, PATHPROF_ASK_BPF, "bpf: give a window") : 0;
}

static int run(struct rights *rights, const struct bpf_program *program, uint64_t argument)
{
	struct bpf_test_run_opts options = {
		.sz = sizeof(options),
		.ctx_in = &argument,
		.ctx_size_in = sizeof(argument),
		.flags = BPF_F_TEST_RUN_ON_CPU,
		.cpu = (__u32)rights->cpu,
	};

	return bpf_prog_test_run_opts(bpf_program__fd(program), &options);
}

static int drain(struct rights *rights)
{
	int r = 0;

	for (uint64_t first = 0; !r && first <= PP_HPT_MAX; first += PP_COLLECT_DRAIN_STEP)
		r = run(rights, rights->object->progs.on_drain, first);
	return r;
}

static int take(void *context, void *data, size_t len_bytes)
{
	const struct pathprof_record *record = data;
	const struct pathprof_context *named = (const void *)(record + 1);
	struct rights *rights = context;

	rights->records++;
	rights->contexts += record->type == PATHPROF_RECORD_CONTEXT && named->pid == PID;
	rights->counts +=
		record->type == PATHPROF_RECORD_PATH || record->type == PATHPROF_RECORD_TUPLE;
	return 0;
}

static int read_ring(struct rights *rights)
{
	rights->ring =
		ring_buffer__new(bpf_map__fd(rights->object->maps.records), take, rights, NULL);
	if (!rights->ring)
		return fail(-errno, PATHPROF_ASK_BPF, "bpf: map the ring");
	return ring_buffer__consume(rights->ring) < 0 ? -EIO : 0;
}

static int drain_without(void *context)
{
	return drain(context);
}

/* Whether what goes on while it runs still needs CAP_BPF. */
static int try_without(struct rights *rights)
{
	const uint64_t bpf = PP_PRIVILEGE(39);
	struct pathprof_error error = {""};
	int r = pp_privilege_try_without(bpf, drain_without, rights, &error);

	printf("without CAP_BPF: %s\n", r ? strerror(-r) : "ok");
	/* with it again, or for good without */
	return pp_privilege_has(bpf) == (r != 0) ? 0 : -EIO;
}

static int work(struct rights *rights)
{
	int r = load(rights);

	printf("load: %s\n", r ? "no" : "ok");
	if (!r)
		r = attach(rights);
	if (!r)
		r = prepare(rights);
	if (!r)
		r = give_window(rights);
	if (!r)
		r = run(rights, rights->object->progs.on_given_raw_tp, 0);
	if (!r)
		r = drain(rights);
	if (r)
		return r;
	printf("run: ok\n");
	r = read_ring(rights);
	if (!r && (rights->contexts != 1 || !rights->counts))
		r = -ENODATA;
	printf("ring: %s, %u records\n", r ? "no" : "ok", rights->records);
	return r ? r : try_without(rights);
}

int main(void)
{
	struct rights rights = {.event_fd = -1, .cpu = sched_getcpu()};
	cpu_set_t set;
	int r;

	libbpf_set_print(quiet);
	CPU_ZERO(&set);
	CPU_SET(rights.cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	r = work(&rights);
	ring_buffer__free(rights.ring);
	if (rights.event_fd >= 0)
		close(rights.event_fd);
	if (rights.object)
		collect_bpf__destroy(rights.object);
	return r ? 1 : 0;
}
