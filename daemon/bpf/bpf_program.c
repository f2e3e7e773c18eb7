// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * See bpf_program.h. A program that the verifier has checked wrote the records in the ring; each
 * record is checked against the interface all the same.
 *
 * Source: libbpf's API documentation; the kernel's Documentation/bpf/ringbuf.rst.
 */
#include "bpf_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "collect.skel.h"
#include "collect_prepare.h"
#include "pathprof/machine.h"

#define LOG_BYTES (64u << 10) /* of the verifier's log, when it refuses */

/* A mapping of a state or its beginning; not more, since mapped memory counts as resident. */
struct state_view {
	struct pp_collect_state *state;
	void *pages;
	size_t len_bytes;
};

struct pp_bpf_program {
	struct collect_bpf *object;
	struct ring_buffer *ring;
	struct state_view *views; /* by CPU: the counters */
	uint32_t cpu_cnt;
	uint32_t *seqs; /* of the record expected next, by CPU */
	struct pp_bpf_ring_figures figures;
	pp_chain_record_fn *fn; /* during a reading */
	void *context;
};

/* ---------------------------------------------------------------- refusals */

/* Silences libbpf: refuse() makes one line of the error code and the verifier's last line. */
static int say_nothing(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

/* The verifier's last line before its statistics; NULL: it said nothing. */
static const char *last_words(char *log)
{
	char *end = strstr(log, "\nprocessed ");

	if (end)
		*end = '\0';
	for (;;) {
		end = strrchr(log, '\n');
		if (!end)
			return log[0] ? log : NULL;
		if (end[1])
			return end + 1;
		*end = '\0';
	}
}

static int refuse(int code, char *log, struct pathprof_error *error)
{
	const char *words = last_words(log);

	if (words)
		return pathprof_fail(error, code,
				     "bpf: the kernel's verifier refuses the program: %.120s; tell "
				     "pathprof's makers the kernel's release",
				     words);
	if (code == -ENOMEM || code == -E2BIG)
		return pathprof_fail(
			error, -ENOMEM,
			"bpf: no memory for tables of %zu KiB for each CPU (MemoryMax= of "
			"the service, or LimitMEMLOCK= before Linux 5.11)",
			sizeof(struct pp_collect_state) >> 10);
	return pathprof_explain_bpf(code, "bpf: loading the collector", error);
}

/* ----------------------------------------------------------------- loading */

/* Does not load what only tests run. */
static void leave_out_tests(struct collect_bpf *object)
{
	bpf_program__set_autoload(object->progs.on_given, false);
	bpf_program__set_autoload(object->progs.on_given_raw_tp, false);
	bpf_map__set_autocreate(object->maps.given, false);
}

/* Maps the first len_bytes of a CPU's state. */
static int map_state(const struct pp_bpf_program *program, uint32_t cpu, size_t len_bytes,
		     struct state_view *ret_view)
{
	size_t at = cpu * ((sizeof(struct pp_collect_state) + 7) / 8 * 8);
	size_t in_page = at & ((size_t)sysconf(_SC_PAGESIZE) - 1);
	void *pages = mmap(NULL, in_page + len_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			   bpf_map__fd(program->object->maps.states), (off_t)(at - in_page));

	if (pages == MAP_FAILED)
		return -errno;
	*ret_view =
		(struct state_view){(void *)((char *)pages + in_page), pages, in_page + len_bytes};
	return 0;
}

static void unmap_state(struct state_view *view)
{
	if (view->pages)
		munmap(view->pages, view->len_bytes);
}

static int prepare_state(struct pp_bpf_program *program, const struct pp_collect_config *config,
			 uint64_t seed, uint32_t cpu)
{
	struct state_view whole = {0};
	int r = map_state(program, cpu, sizeof(struct pp_collect_state), &whole);

	if (r || !whole.state)
		return r;
	pp_collect_prepare(whole.state, config, seed, cpu);
	unmap_state(&whole);
	return map_state(program, cpu,
			 offsetof(struct pp_collect_state, stats) +
				 sizeof(struct pathprof_collector_stats),
			 &program->views[cpu]);
}

static int take(void *context, void *data, size_t len_bytes);

static int prepare(struct pp_bpf_program *program, const struct pp_collect_config *config,
		   uint64_t seed)
{
	int r = 0;

	program->views = calloc(program->cpu_cnt, sizeof(program->views[0]));
	program->seqs = calloc(program->cpu_cnt, sizeof(program->seqs[0]));
	if (!program->views || !program->seqs)
		return -ENOMEM;
	for (uint32_t cpu = 0; !r && cpu < program->cpu_cnt; cpu++)
		r = prepare_state(program, config, seed, cpu);
	if (r)
		return r;
	program->ring =
		ring_buffer__new(bpf_map__fd(program->object->maps.records), take, program, NULL);
	return program->ring ? 0 : -errno;
}

/* log: LOG_BYTES for what the verifier says. */
static int load(struct pp_bpf_program *program, const struct pp_collect_config *config,
		uint64_t seed, char *log)
{
	int r;

	program->object = collect_bpf__open();
	if (!program->object)
		return errno ? -errno : -EINVAL;
	leave_out_tests(program->object);
	bpf_program__set_log_buf(program->object->progs.on_sample, log, LOG_BYTES / 2);
	bpf_program__set_log_buf(program->object->progs.on_drain, log + LOG_BYTES / 2,
				 LOG_BYTES / 2);
	program->object->data_cfg->pp_collect_config = *config;
	bpf_map__set_max_entries(program->object->maps.states, program->cpu_cnt);
	bpf_map__set_max_entries(program->object->maps.records, PP_BPF_RING_BYTES);
	r = collect_bpf__load(program->object);
	if (r < 0 && !log[0])
		memmove(log, log + LOG_BYTES / 2, LOG_BYTES / 2);
	return r < 0 ? r : prepare(program, config, seed);
}

int pp_bpf_program_load(struct pp_bpf_program **ret_program, const struct pp_collect_config *config,
			uint64_t seed, struct pathprof_error *error)
{
	struct pp_bpf_program *program = calloc(1, sizeof(*program));
	char *log = calloc(1, LOG_BYTES);
	libbpf_print_fn_t printer = libbpf_set_print(say_nothing);
	int cpu_cnt = libbpf_num_possible_cpus(), r = -ENOMEM;

	if (program && log && cpu_cnt > 0) {
		program->cpu_cnt = (uint32_t)cpu_cnt;
		r = load(program, config, seed, log);
	}
	libbpf_set_print(printer);
	if (r) {
		r = refuse(r, log ? log : (char[]){""}, error);
		pp_bpf_program_free(program);
	} else {
		*ret_program = program;
	}
	free(log);
	return r;
}

void pp_bpf_program_free(struct pp_bpf_program *program)
{
	if (!program)
		return;
	ring_buffer__free(program->ring);
	free(program->seqs);
	for (uint32_t cpu = 0; program->views && cpu < program->cpu_cnt; cpu++)
		unmap_state(&program->views[cpu]);
	free(program->views);
	collect_bpf__destroy(program->object);
	free(program);
}

int pp_bpf_program_fd(const struct pp_bpf_program *program)
{
	return bpf_program__fd(program->object->progs.on_sample);
}

uint32_t pp_bpf_program_cpus(const struct pp_bpf_program *program)
{
	return program->cpu_cnt;
}

struct pp_collect_config *pp_bpf_program_config(struct pp_bpf_program *program)
{
	return &program->object->data_cfg->pp_collect_config;
}

/* ----------------------------------------------------------------- reading */

static bool is_sound(const struct pp_bpf_program *program, const struct pathprof_record *record,
		     size_t len_bytes)
{
	return len_bytes > sizeof(*record) && record->size_bytes == len_bytes &&
	       len_bytes % 8 == 0 && record->cpu < program->cpu_cnt &&
	       pp_chain_record_is_sound(record);
}

static int take(void *context, void *data, size_t len_bytes)
{
	struct pp_bpf_program *program = context;
	const struct pathprof_record *record = data;

	program->figures.received_bytes += len_bytes;
	if (!is_sound(program, record, len_bytes)) {
		program->figures.malformed++;
		return 0;
	}
	program->figures.missing += record->seq - program->seqs[record->cpu];
	program->seqs[record->cpu] = record->seq + 1;
	program->fn(program->context, record);
	return 0;
}

int pp_bpf_program_read(struct pp_bpf_program *program, pp_chain_record_fn *fn, void *context)
{
	int r;

	program->fn = fn;
	program->context = context;
	r = ring_buffer__consume(program->ring);
	return r < 0 ? r : 0;
}

/* Runs the drain program once, on that CPU. */
static int drain_from(struct pp_bpf_program *program, uint32_t cpu, uint64_t first)
{
	struct bpf_test_run_opts options = {
		.sz = sizeof(options),
		.ctx_in = &first,
		.ctx_size_in = sizeof(first),
		.flags = BPF_F_TEST_RUN_ON_CPU,
		.cpu = cpu,
	};

	return bpf_prog_test_run_opts(bpf_program__fd(program->object->progs.on_drain), &options);
}

int pp_bpf_program_drain(struct pp_bpf_program *program, uint32_t cpu)
{
	int r = 0;

	for (uint64_t first = 0; !r && first <= PP_HPT_MAX; first += PP_COLLECT_DRAIN_STEP)
		r = drain_from(program, cpu, first);
	return r;
}

/* ----------------------------------------------------------------- figures */

void pp_bpf_program_stats(const struct pp_bpf_program *program,
			  struct pathprof_collector_stats *ret_stats)
{
	struct pathprof_collector_stats sum = {0};

	for (uint32_t cpu = 0; cpu < program->cpu_cnt; cpu++)
		for (size_t i = 0; i < PATHPROF_STAT_END; i++)
			sum.value[i] += __atomic_load_n(&program->views[cpu].state->stats.value[i],
							__ATOMIC_RELAXED);
	*ret_stats = sum;
}

void pp_bpf_program_ring_figures(const struct pp_bpf_program *program,
				 struct pp_bpf_ring_figures *ret_figures)
{
	*ret_figures = program->figures;
}
