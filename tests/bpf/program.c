// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The collector's shipped object in the kernel: loaded with a test entry in place of the sampling
 * one, its maps as this process sees them, its ring.
 *
 * Workload: collect_check.h. One object at a time is open.
 */
#include "collect_check.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#define VERIFIER_MAX 20000 /* processed instructions */
#define LOG_BYTES    (1u << 20)
#define LOG_STATS    4 /* figures only */
#define LOG_TAIL     600
#define PROGRAM_MAX  8 /* in the object */

/* ------------------------------------------------------------------ loading */

static bool is_kind_known(const struct bpf_program *program)
{
	return bpf_program__type(program) != BPF_PROG_TYPE_SYSCALL ||
	       libbpf_probe_bpf_prog_type(BPF_PROG_TYPE_SYSCALL, NULL) == 1;
}

static int size_maps(struct bpf_object *object)
{
	struct bpf_map *states = bpf_object__find_map_by_name(object, "states");
	struct bpf_map *records = bpf_object__find_map_by_name(object, "records");
	int cpu_cnt = libbpf_num_possible_cpus();

	if (!states || !records || cpu_cnt < 1)
		return -ENOENT;
	if (bpf_map__set_max_entries(states, (__u32)cpu_cnt) ||
	    bpf_map__set_max_entries(records, RING_BYTES))
		return -EINVAL;
	return 0;
}

static int load_entry(struct bpf_object *object, const char *entry)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object)
	{
		const char *name = bpf_program__name(program);
		bool wanted = !strcmp(name, entry) || !strcmp(name, "on_drain");

		if (wanted && !is_kind_known(program))
			return -ENOTSUP;
		bpf_program__set_autoload(program, wanted);
	}
	return size_maps(object) ? -EINVAL : bpf_object__load(object);
}

static int program_fd(const struct program *p, const char *name)
{
	const struct bpf_program *program = bpf_object__find_program_by_name(p->object, name);

	return program ? bpf_program__fd(program) : -ENOENT;
}

/* ------------------------------------------------------------------- memory */

static void *map_memory(const struct program *p, const char *name)
{
	const struct bpf_map *map = bpf_object__find_map_by_name(p->object, name);
	size_t page = (size_t)sysconf(_SC_PAGESIZE), len;
	void *memory;

	if (!map)
		return NULL;
	len = ((size_t)bpf_map__value_size(map) + 7) / 8 * 8 * bpf_map__max_entries(map);
	memory = mmap(NULL, (len + page - 1) / page * page, PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(map), 0);
	return memory == MAP_FAILED ? NULL : memory;
}

/* A record that says another length than it has is none. */
static int take_record(void *context, void *data, size_t size)
{
	struct program *p = context;
	const struct pathprof_record *record = data;

	if (size < sizeof(*record) || record->size_bytes != size ||
	    p->record_bytes + size > RING_BYTES)
		return -EPROTO;
	memcpy(p->records + p->record_bytes, data, size);
	p->record_bytes += size;
	p->record_cnt++;
	return 0;
}

static int find_memory(struct program *p)
{
	const struct bpf_map *records = bpf_object__find_map_by_name(p->object, "records");

	p->config = map_memory(p, ".data.cfg");
	p->state = map_memory(p, "states");
	p->given = map_memory(p, "given");
	p->records = malloc(RING_BYTES);
	if (!p->config || !p->state || !p->given || !p->records)
		return -ENOMEM;
	p->state += p->cpu;
	p->ring = ring_buffer__new(bpf_map__fd(records), take_record, p, NULL);
	return p->ring ? 0 : -errno;
}

int program_open(struct program *ret_program, const char *object, const char *entry)
{
	struct program *p = ret_program;
	int r;

	memset(p, 0, sizeof(*p));
	p->cpu = (uint32_t)sched_getcpu();
	p->object = bpf_object__open_file(object, NULL);
	if (!p->object)
		return -ENOEXEC;
	r = load_entry(p->object, entry);
	if (!r) {
		p->given_fd = program_fd(p, entry);
		p->drain_fd = program_fd(p, "on_drain");
		r = p->given_fd < 0 || p->drain_fd < 0 ? -ENOENT : find_memory(p);
	}
	if (r)
		program_close(p);
	return r;
}

/* Mappings are left to the end of the process. */
void program_close(struct program *p)
{
	ring_buffer__free(p->ring);
	bpf_object__close(p->object);
	free(p->records);
	memset(p, 0, sizeof(*p));
}

/* ------------------------------------------------------------------ running */

int program_run(const struct program *p)
{
	struct bpf_test_run_opts opts = {.sz = sizeof(opts)};
	int r = bpf_prog_test_run_opts(p->given_fd, &opts);

	return r ? r : opts.retval ? -EBUSY : 0;
}

int program_drain(const struct program *p, uint64_t first)
{
	uint64_t args[1] = {first};
	struct bpf_test_run_opts opts = {.sz = sizeof(opts),
					 .ctx_in = args,
					 .ctx_size_in = sizeof(args),
					 .flags = BPF_F_TEST_RUN_ON_CPU,
					 .cpu = p->cpu};

	return bpf_prog_test_run_opts(p->drain_fd, &opts);
}

int program_take(struct program *p)
{
	int r;

	p->record_bytes = 0;
	r = ring_buffer__consume(p->ring);
	return r < 0 ? r : 0;
}

/* ----------------------------------------------------------------- verifier */

/* 0: the kernel did not say. */
static unsigned long processed(const char *log)
{
	const char *at = strstr(log, "processed ");

	return at ? strtoul(at + strlen("processed "), NULL, 10) : 0;
}

static int judge(const struct bpf_program *program, const char *label, const char *log)
{
	unsigned long insns = processed(log);
	struct utsname system;
	char name[96];

	uname(&system);
	snprintf(name, sizeof(name), "bpf-verifier-%s-%s", label, bpf_program__name(program));
	printf("# %s: kernel %s processed %lu instructions\n", name, system.release, insns);
	if (!insns)
		report(name, "the kernel did not say how much it processed");
	else if (insns >= VERIFIER_MAX)
		report(name, "processed %lu instructions of %d", insns, VERIFIER_MAX);
	else
		report(name, NULL);
	return insns && insns < VERIFIER_MAX ? 0 : -E2BIG;
}

/* Prints the end of the verifier's log of the refused program: the last that was tried. */
static void print_refusal(const char *logs)
{
	const char *log = logs;
	size_t i, len;

	for (i = 0; i < PROGRAM_MAX; i++)
		if (logs[i * LOG_BYTES])
			log = logs + i * LOG_BYTES;
	len = strlen(log);
	if (len)
		printf("# %s\n", log + (len > LOG_TAIL ? len - LOG_TAIL : 0));
}

static int verify_all(struct bpf_object *object, const char *label, char *logs)
{
	struct bpf_program *program;
	size_t i = 0;
	int r = size_maps(object), worst = 0;

	bpf_object__for_each_program(program, object)
	{
		if (i == PROGRAM_MAX)
			return -E2BIG;
		bpf_program__set_autoload(program, is_kind_known(program));
		bpf_program__set_log_level(program, LOG_STATS);
		bpf_program__set_log_buf(program, logs + i++ * LOG_BYTES, LOG_BYTES);
	}
	r = r ? r : bpf_object__load(object);
	if (r) {
		print_refusal(logs);
		return r;
	}
	i = 0;
	bpf_object__for_each_program(program, object)
	{
		if (bpf_program__autoload(program) && judge(program, label, logs + i * LOG_BYTES))
			worst = -E2BIG;
		i++;
	}
	return worst;
}

int program_verify(const char *path, const char *label)
{
	struct bpf_object *object = bpf_object__open_file(path, NULL);
	char *logs = calloc(PROGRAM_MAX, LOG_BYTES);
	int r = object && logs ? verify_all(object, label, logs) : -ENOEXEC;

	bpf_object__close(object);
	free(logs);
	return r;
}
