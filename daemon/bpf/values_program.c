// SPDX-License-Identifier: GPL-2.0-or-later
/* Loading, attaching and draining: see values_program.h. */
#include "values_program.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../track/track_proc.h"
#include "base/cleanup.h"
#include "base/vector.h"
#include "values.h"
#include "values.skel.h"
#include "values_link.h"
#include "values_threads.h"

#define LINK_MAX 16384
/* A family that forks without pause is looked through so often at the start. */
#define LOOKS_MAX 16

_Static_assert(PP_VALUES_PLACE_MAX == PP_VALUES_SITE_MAX, "one limit");
_Static_assert(PP_VALUES_DROPS_MAX >= PP_VALUES_DROP_CNT, "all have room");

const char *const pp_values_drop_names[] = {
	[PP_VALUES_DROP_RING_FULL] = "ring-full",
	[PP_VALUES_DROP_BUSY] = "busy",
	[PP_VALUES_DROP_FAMILY] = "processes",
	[PP_VALUES_DROP_SITE] = "strays",
	[PP_VALUES_DROP_CNT] = NULL,
};

static const char *const way_names[PP_VALUES_WAY_CNT] = {"uprobe.multi", "perf"};

struct pp_values_program {
	const struct pp_values_place *places;
	uint32_t place_cnt;
	enum pp_values_way way;
	struct values_bpf *skeleton;
	struct ring_buffer *ring;
	struct pp_values_state *states; /* one for each CPU, mapped */
	size_t states_bytes;
	uint32_t cpu_cnt;
	struct bpf_link *on_fork, *on_exit;
	struct pp_values_link *links;
	size_t link_cnt, link_room;
	uint64_t unprobed;
	struct pathprof_error unprobed_why;
	const struct pp_values_sink *sink; /* while draining */
};

static int quiet(enum libbpf_print_level level, const char *format, va_list args)
{
	return 0;
}

static const struct bpf_program *program_of(const struct pp_values_program *p)
{
	return p->way == PP_VALUES_WAY_MULTI ? p->skeleton->progs.on_value_multi
					     : p->skeleton->progs.on_value_perf;
}

/* ---------------------------------------------------------------- configuration and state */

static int fits(const struct pathprof_compress_form *form, struct pathprof_error *error)
{
	const uint64_t entries = form->sampler == PP_SAMPLER_TAGGED
					 ? (uint64_t)form->ways << form->bits
					 : UINT64_C(1) << form->bits;

	if (form->front_size)
		return pathprof_fail(error, -EINVAL,
				     "--value-sampler: the kernel has no table in front: leave "
				     "the F out");
	if (entries > PP_SPLIT_MAX || form->assoc_size > PP_ASSOC_MAX)
		return pathprof_fail(error, -EINVAL,
				     "--value-sampler: the kernel has room for %d substreams and "
				     "A%d",
				     PP_SPLIT_MAX, PP_ASSOC_MAX);
	return 0;
}

static void configure(const struct pp_values_program *p, const struct pathprof_compress_form *form,
		      struct pp_values_config *ret_config)
{
	*ret_config = (struct pp_values_config){
		.compress =
			{
				.sampler = form->sampler,
				.rate = form->rate,
				.bits = form->bits,
				.assoc_size = form->assoc_size,
				.tag_bits = form->tag_bits,
				.phased = form->phased,
				.tagged = {form->rate, form->ways, form->evict, form->replace},
			},
		.site_cnt = p->place_cnt,
	};
	for (uint32_t i = 0; i < p->place_cnt; i++)
		ret_config->argument[i] = p->places[i].argument;
}

/* Each CPU's sampler begins at another point of its periods, the same in every recording. */
static int map_states(struct pp_values_program *p, const struct pp_values_config *config)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *memory;

	p->states_bytes = (sizeof(struct pp_values_state) * p->cpu_cnt + page - 1) / page * page;
	memory = mmap(NULL, p->states_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_map__fd(p->skeleton->maps.state), 0);
	if (memory == MAP_FAILED)
		return -errno;
	p->states = memory;
	for (uint32_t i = 0; i < p->cpu_cnt; i++)
		pp_compress_init(&p->states[i].compress, &config->compress, i + 1);
	return 0;
}

/* ---------------------------------------------------------------- probes */

static int add_link(struct pp_values_program *p, const struct pp_values_link *link)
{
	if (pp_grow(&p->links, p->link_cnt, &p->link_room) < 0)
		return -ENOMEM;
	p->links[p->link_cnt++] = *link;
	return 0;
}

/* Puts probes on all places in one process. */
static int probe(struct pp_values_program *p, pid_t pid)
{
	int r = p->link_cnt + p->place_cnt > LINK_MAX ? -EMFILE : 0;

	for (uint32_t i = 0; r == 0 && i < p->place_cnt; i++) {
		struct pp_values_link link;

		r = pp_values_link_open(&link, p->way, program_of(p), pid, p->places[i].path,
					p->places[i].offset, i);
		if (r < 0)
			break;
		r = add_link(p, &link);
		if (r < 0)
			pp_values_link_close(&link);
	}
	return r;
}

static void unprobe(struct pp_values_program *p, pid_t pid)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->link_cnt; i++) {
		if (p->links[i].pid == pid)
			pp_values_link_close(&p->links[i]);
		else
			p->links[kept++] = p->links[i];
	}
	p->link_cnt = kept;
}

static void unprobe_all(struct pp_values_program *p)
{
	for (size_t i = 0; i < p->link_cnt; i++)
		pp_values_link_close(&p->links[i]);
	p->link_cnt = 0;
}

/* Counts a process whose probes were refused, unless it has ended. */
static void note_unprobed(struct pp_values_program *p, pid_t pid, int code)
{
	unprobe(p, pid);
	if (code == -ESRCH)
		return;
	if (!p->unprobed++)
		pathprof_fail(&p->unprobed_why, code, "process %d: %s", (int)pid, strerror(-code));
}

/* Probes a new process, unless it has ended already. */
static void follow(struct pp_values_program *p, pid_t pid)
{
	int r = probe(p, pid);

	if (r < 0)
		note_unprobed(p, pid, r);
}

/* ---------------------------------------------------------------- loading */

static void unload(struct pp_values_program *p)
{
	unprobe_all(p);
	bpf_link__destroy(p->on_fork);
	bpf_link__destroy(p->on_exit);
	p->on_fork = p->on_exit = NULL;
	ring_buffer__free(p->ring);
	p->ring = NULL;
	if (p->states)
		munmap(p->states, p->states_bytes);
	p->states = NULL;
	values_bpf__destroy(p->skeleton);
	p->skeleton = NULL;
}

static int on_record(void *context, void *data, size_t size);

/* Maps the states of a loaded program, opens its ring, and attaches it to fork and exit. */
static int take_hold(struct pp_values_program *p, const struct pp_values_config *config)
{
	int r = map_states(p, config);

	if (r < 0)
		return r;
	p->ring = ring_buffer__new(bpf_map__fd(p->skeleton->maps.ring), on_record, p, NULL);
	if (!p->ring)
		return -errno;
	p->on_fork = bpf_program__attach(p->skeleton->progs.on_fork);
	if (!p->on_fork)
		return -errno;
	p->on_exit = bpf_program__attach(p->skeleton->progs.on_exit);
	return p->on_exit ? 0 : -errno;
}

static int load(struct pp_values_program *p, const struct pathprof_compress_form *form)
{
	int r;

	p->skeleton = values_bpf__open();
	if (!p->skeleton)
		return -errno;
	bpf_program__set_autoload(p->skeleton->progs.on_value_multi, p->way == PP_VALUES_WAY_MULTI);
	bpf_program__set_autoload(p->skeleton->progs.on_value_perf, p->way == PP_VALUES_WAY_PERF);
	bpf_program__set_expected_attach_type(p->skeleton->progs.on_value_multi,
					      (enum bpf_attach_type)PP_VALUES_ATTACH_MULTI);
	bpf_map__set_max_entries(p->skeleton->maps.state, p->cpu_cnt);
	configure(p, form, &p->skeleton->data_cfg->config);
	r = values_bpf__load(p->skeleton);
	return r < 0 ? r : take_hold(p, &p->skeleton->data_cfg->config);
}

/* -EEXIST: it belongs to them already. */
static int join_family(const struct pp_values_program *p, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	return bpf_map_update_elem(bpf_map__fd(p->skeleton->maps.family), &key, &key, BPF_NOEXIST) <
			       0
		       ? -errno
		       : 0;
}

static void leave_family(const struct pp_values_program *p, pid_t pid)
{
	uint32_t key = (uint32_t)pid;

	bpf_map_delete_elem(bpf_map__fd(p->skeleton->maps.family), &key);
}

/* Returns the number of hits of probes without a place, and resets their counts. */
static uint64_t take_strays(struct pp_values_program *p)
{
	uint64_t sum = 0;

	for (uint32_t cpu = 0; cpu < p->cpu_cnt; cpu++) {
		sum += p->states[cpu].drops[PP_VALUES_DROP_SITE];
		p->states[cpu].drops[PP_VALUES_DROP_SITE] = 0;
	}
	return sum;
}

/*
 * -EOPNOTSUPP: a multi link does not see all threads here; perf's probes may. -ENXIO: perf's probes
 * do not see them either, for instance because process ids are a container's own.
 */
static int check_threads(struct pp_values_program *p)
{
	int r = join_family(p, getpid());

	if (r == 0)
		r = pp_values_threads_try(p->way, program_of(p), PP_VALUES_SITE_MAX);
	leave_family(p, getpid());
	if (take_strays(p) || r < 0)
		return r;
	return p->way == PP_VALUES_WAY_MULTI ? -EOPNOTSUPP : -ENXIO;
}

/* Whether it is a new one. Those of the family that on_fork saw have their probes by the ring. */
static bool take_in(struct pp_values_program *p, pid_t pid)
{
	int r = join_family(p, pid);

	if (r == -EEXIST)
		return false;
	if (r == 0)
		follow(p, pid);
	else
		note_unprobed(p, pid, r);
	return r == 0;
}

/* A process that runs already may have descendants. One that is not in the family yet forks unseen.
 */
static int take_descendants(struct pp_values_program *p, pid_t pid)
{
	bool any = true;

	for (int look = 0; any && look < LOOKS_MAX; look++) {
		_cleanup_free_ pid_t *pids = NULL;
		size_t cnt;
		int r = pp_proc_pids(pid, &pids, &cnt);

		if (r < 0)
			return r;
		any = false;
		for (size_t i = 0; i < cnt; i++)
			any |= take_in(p, pids[i]);
	}
	return 0;
}

/* The process joins the family before it has probes, so that none of its executions is missed. */
static int begin(struct pp_values_program *p, pid_t pid)
{
	int r = check_threads(p);

	if (r == 0)
		r = join_family(p, pid);
	if (r == 0)
		r = probe(p, pid);
	return r < 0 ? r : take_descendants(p, pid);
}

static int open_way(struct pp_values_program *p, const struct pathprof_compress_form *form,
		    pid_t pid)
{
	libbpf_print_fn_t before = libbpf_set_print(quiet);
	int r = load(p, form);

	if (r == 0)
		r = begin(p, pid);
	if (r < 0)
		unload(p);
	libbpf_set_print(before);
	return r;
}

static const char *what_to_do(int multi, int perf)
{
	if (multi == -EPERM || multi == -EACCES)
		return "run it as root, or with CAP_BPF and CAP_PERFMON";
	if (perf == -EPERM || perf == -EACCES)
		return "this kernel needs CAP_SYS_ADMIN: run it as root";
	if (perf == -ENXIO)
		return "process ids are not the kernel's here: run it outside of containers";
	if (multi == -ESRCH || perf == -ESRCH)
		return "that process is gone";
	return access("/sys/kernel/btf/vmlinux", R_OK) == 0
		       ? "a kernel before 5.15, without uprobes, or one that forbids them "
			 "(lockdown)"
		       : "this kernel has no BTF (CONFIG_DEBUG_INFO_BTF)";
}

static int open_any(struct pp_values_program *p, const struct pathprof_compress_form *form,
		    pid_t pid, struct pathprof_error *error)
{
	int refused[PP_VALUES_WAY_CNT];

	for (unsigned int way = 0; way < PP_VALUES_WAY_CNT; way++) {
		p->way = (enum pp_values_way)way;
		refused[way] = open_way(p, form, pid);
		if (refused[way] == 0)
			return 0;
	}
	return pathprof_fail(error, refused[PP_VALUES_WAY_PERF],
			     "--value: probes refused: uprobe.multi: %s; perf: %s: %s",
			     strerror(-refused[PP_VALUES_WAY_MULTI]),
			     strerror(-refused[PP_VALUES_WAY_PERF]),
			     what_to_do(refused[PP_VALUES_WAY_MULTI], refused[PP_VALUES_WAY_PERF]));
}

int pp_values_program_open(struct pp_values_program **ret_program,
			   const struct pp_values_place *places, uint32_t place_cnt,
			   const struct pathprof_compress_form *form, pid_t pid,
			   struct pathprof_error *error)
{
	int cpu_cnt = libbpf_num_possible_cpus(), r = fits(form, error);
	struct pp_values_program *p;

	if (r < 0)
		return r;
	if (place_cnt > PP_VALUES_PLACE_MAX || cpu_cnt < 1)
		return pathprof_fail(error, -E2BIG, "--value: more than %d parameters",
				     PP_VALUES_PLACE_MAX);
	p = calloc(1, sizeof(*p));
	if (!p)
		return pathprof_fail(error, -ENOMEM, "out of memory");
	p->places = places;
	p->place_cnt = place_cnt;
	p->cpu_cnt = (uint32_t)cpu_cnt;
	r = open_any(p, form, pid, error);
	if (r < 0) {
		pp_values_program_free(p);
		return r;
	}
	*ret_program = p;
	return 0;
}

void pp_values_program_free(struct pp_values_program *program)
{
	if (!program)
		return;
	unload(program);
	free(program->links);
	free(program);
}

/* ---------------------------------------------------------------- what comes out */

static void take_message(const struct pp_values_program *p, uint32_t place, uint64_t value,
			 uint64_t count)
{
	if (place < p->place_cnt && count)
		p->sink->message(p->sink->context, place, value, count);
}

static int on_record(void *context, void *data, size_t size)
{
	const struct pp_values_record *record = data;
	struct pp_values_program *p = context;

	if (size < sizeof(*record))
		return 0;
	switch (PP_VALUES_KIND(record->head)) {
	case PP_VALUES_MESSAGE:
		take_message(p, PP_VALUES_SUBJECT(record->head), record->value, record->count);
		break;
	case PP_VALUES_FORK:
		follow(p, (pid_t)PP_VALUES_SUBJECT(record->head));
		break;
	case PP_VALUES_EXIT:
		unprobe(p, (pid_t)PP_VALUES_SUBJECT(record->head));
		break;
	default:
		break;
	}
	return 0;
}

int pp_values_program_fd(const struct pp_values_program *program)
{
	return ring_buffer__epoll_fd(program->ring);
}

void pp_values_program_drain(struct pp_values_program *program, const struct pp_values_sink *sink)
{
	program->sink = sink;
	ring_buffer__consume(program->ring);
	program->sink = NULL;
}

/* Hands over what the tables behind the samplers still hold. */
static void flush(const struct pp_values_program *p)
{
	for (uint32_t cpu = 0; cpu < p->cpu_cnt; cpu++) {
		struct pp_assoc *assoc = &p->states[cpu].compress.assoc;

		for (uint32_t i = 0; i < assoc->used && i < PP_ASSOC_MAX; i++)
			take_message(p, (uint32_t)(assoc->entry[i].tuple.pc - 1),
				     assoc->entry[i].tuple.word, assoc->entry[i].count);
		assoc->used = 0;
	}
}

void pp_values_program_stop(struct pp_values_program *program, const struct pp_values_sink *sink)
{
	bpf_link__destroy(program->on_fork);
	bpf_link__destroy(program->on_exit);
	program->on_fork = program->on_exit = NULL;
	unprobe_all(program);
	pp_values_program_drain(program, sink);
	/* the drain has probed processes that began before on_fork was detached; no others come */
	unprobe_all(program);
	pp_values_program_drain(program, sink);
	program->sink = sink;
	flush(program);
	program->sink = NULL;
}

struct pp_values_counts pp_values_program_counts(const struct pp_values_program *program,
						 uint32_t place)
{
	struct pp_values_counts sum = {0};

	for (uint32_t cpu = 0; cpu < program->cpu_cnt; cpu++) {
		const struct pp_values_site *site = &program->states[cpu].site[place];

		sum.same += __atomic_load_n(&site->same, __ATOMIC_RELAXED);
		sum.executed += __atomic_load_n(&site->executed, __ATOMIC_RELAXED);
	}
	return sum;
}

void pp_values_program_drops(const struct pp_values_program *program,
			     uint64_t ret_drops[PP_VALUES_DROPS_MAX])
{
	memset(ret_drops, 0, PP_VALUES_DROPS_MAX * sizeof(ret_drops[0]));
	for (uint32_t cpu = 0; cpu < program->cpu_cnt; cpu++)
		for (uint32_t i = 0; i < PP_VALUES_DROP_CNT; i++)
			ret_drops[i] +=
				__atomic_load_n(&program->states[cpu].drops[i], __ATOMIC_RELAXED);
}

const char *pp_values_program_way(const struct pp_values_program *program)
{
	return way_names[program->way];
}

uint64_t pp_values_program_unprobed(const struct pp_values_program *program, const char **ret_why)
{
	*ret_why = program->unprobed_why.text;
	return program->unprobed;
}
