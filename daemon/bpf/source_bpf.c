// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The BPF source: hardware's windows, counted in the kernel where no module may be loaded. Counts
 * of segments come out of its ring, whose paths they then add to (chain_reader.h).
 *
 * Workload: some calls a second. The ring wakes nobody: a timer reads it, the sooner the more
 * comes, so that it is never more than a quarter full, and often enough that what came from a
 * process that ended still finds its mappings. The event loop owns it; no locks. What is handed to
 * the sink lies in the ring or in the reader until the next call. Source: docs/sources.md.
 */
#include <bpf/btf.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "bpf_events.h"
#include "bpf_program.h"
#include "kernel_enum.h"

#include "../chain/chain_figures.h"
#include "../chain/chain_reader.h"
#include "../privilege.h"
#include "../source.h"
#include "pathprof/compress.h"
#include "pathprof/machine.h"

#define FLUSH_EVERY_NS  UINT64_C(5000000000) /* well below what the tracker remembers */
#define GOVERN_EVERY_NS PP_NSEC_PER_SEC
#define READ_MOST_NS    UINT64_C(200000000)
#define READ_LEAST_NS   UINT64_C(10000000)
#define STRETCH_MAX     1024 /* times that the budget may stretch the period */
#define SLICE_SHIFT     27   /* a budget is for 0.13 s */
#define NOTATION        "H[PR256]2048A16"

struct pp_bpf_source {
	struct pp_source base;
	struct pp_source_config config;
	struct pp_taken_event event;
	struct pp_bpf_program *program;
	struct pp_bpf_events events;
	struct pp_chain_reader reader;
	struct pp_chain_figures figures;
	int timer_fd;
	uint64_t read_ns, flushed_ns, governed_ns; /* when, CLOCK_MONOTONIC */
	uint64_t read_bytes;                       /* until then */
	uint64_t skipped;                          /* samples, for the budget, until then */
	uint64_t cpu_ns;
};

/* ----------------------------------------------------------------- settings */

static uint64_t slice_budget_ns(const struct pp_source_config *config)
{
	return ((uint64_t)config->overhead_ppm << SLICE_SHIFT) / 1000000;
}

static bool fits_kernel(const struct pathprof_compress_form *form)
{
	uint32_t ways = form->sampler == PP_SAMPLER_TAGGED ? form->ways : 1;

	return !form->front_size && form->assoc_size <= PP_ASSOC_MAX &&
	       (ways << form->bits) <= PP_SPLIT_MAX;
}

static int read_notation(const char *notation, struct pp_compress_config *ret_config,
			 struct pathprof_error *error)
{
	struct pathprof_compress_form form;
	int r = pathprof_compress_read(&form, notation, error);

	if (r)
		return r;
	if (!fits_kernel(&form))
		return pathprof_fail(
			error, -EINVAL,
			"Sampler=%s: a kernel has room for 2048 substreams and A16, and "
			"for no table in front",
			notation);
	*ret_config = (struct pp_compress_config){
		.sampler = form.sampler,
		.rate = form.rate,
		.bits = form.bits,
		.assoc_size = form.assoc_size,
		.tag_bits = form.tag_bits,
		.phased = form.phased,
		.tagged = {form.rate, form.ways, form.evict, form.replace},
	};
	return 0;
}

/*
 * Before Linux 5.15 a program of this kind cannot learn which group lies above a thread's. The
 * program looks for the same enum value (is_below), and selects no thread without it. Without BTF
 * the program does not load, and loading says so.
 */
static int check_cgroup(const struct pp_source_config *config, struct pathprof_error *error)
{
	struct btf *btf = config->cgroup ? btf__load_vmlinux_btf() : NULL;
	bool tells = !btf || pp_kernel_enum_has(btf, "bpf_func_id", "BPF_FUNC_task_pt_regs");

	btf__free(btf);
	if (tells)
		return 0;
	return pathprof_fail(
		error, -EOPNOTSUPP,
		"bpf: Cgroup= takes Linux 5.15 or later; leave it out, or take another "
		"source");
}

static int read_config(const struct pp_source_config *config, struct pp_collect_config *ret_config,
		       struct pathprof_error *error)
{
	const char *notation =
		config->notation && config->notation[0] ? config->notation : NOTATION;

	*ret_config = (struct pp_collect_config){
		.hpt = {.bits = 9, .ways = 4, .policy = PP_HPT_TAIL},
		.kinds = ~0u,
		.profiles = PATHPROF_PROFILE_EDGES,
		.metric = PATHPROF_METRIC_RUNS,
		.only_pid = (uint32_t)config->only_pid,
		.cgroup = config->cgroup,
		.cgroup_level = config->cgroup_level,
		.ip_min = config->ip_min,
		.ip_max = config->ip_max ? config->ip_max : UINT64_MAX,
		.slice_shift = SLICE_SHIFT,
		.slice_budget_ns = slice_budget_ns(config),
	};
	return read_notation(notation, &ret_config->compress, error);
}

/* ------------------------------------------------------------------ opening */

static int refuse_event(const struct pp_taken_event *event, int code, struct pathprof_error *error)
{
	char what[96];

	snprintf(what, sizeof(what), "bpf: event %s", event->name);
	return pathprof_explain_perf(code, what, error);
}

static int set_timer(const struct pp_bpf_source *source, uint64_t wait_ns)
{
	const struct itimerspec timer = {.it_value = {(time_t)(wait_ns / PP_NSEC_PER_SEC),
						      (long)(wait_ns % PP_NSEC_PER_SEC)}};

	return timerfd_settime(source->timer_fd, 0, &timer, NULL) ? -errno : 0;
}

static int open_clock(struct pp_bpf_source *source)
{
	source->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (source->timer_fd < 0)
		return -errno;
	source->read_ns = source->flushed_ns = source->governed_ns = pp_monotonic_ns();
	return set_timer(source, READ_MOST_NS);
}

/* Drains the first CPU that is online: the one BPF call that a running source makes. */
static int drain_first(void *context)
{
	struct pp_bpf_source *source = context;
	int r = -ENXIO;

	for (uint32_t cpu = 0; r == -ENXIO && cpu < source->events.cpu_cnt; cpu++)
		r = pp_bpf_program_drain(source->program, cpu);
	return r;
}

/*
 * CAP_BPF is needed for loading only, but before Linux 5.19 a machine that forbids BPF to
 * unprivileged users asks for it at every call. CAP_PERFMON stays: a CPU that comes online gets an
 * event.
 */
static int give_up(struct pp_bpf_source *source, struct pathprof_error *error)
{
	int r;

	if (source->config.keep_bpf || !pp_privilege_has(PP_PRIVILEGE(CAP_BPF)))
		return 0;
	r = pp_privilege_try_without(PP_PRIVILEGE(CAP_BPF), drain_first, source, error);
	return r == -EPERM ? 0 : r;
}

static int open_parts(struct pp_bpf_source *source, struct pathprof_error *error)
{
	struct pp_collect_config config;
	int r = pp_taken_event_find(&source->event, source->config.event, PP_TAKEN_EVENT_SYSFS,
				    error);

	if (!r)
		r = check_cgroup(&source->config, error);
	if (!r)
		r = read_config(&source->config, &config, error);
	if (r)
		return r;
	if (!source->config.resolver)
		return pathprof_fail(error, -EINVAL, "bpf: nobody to ask for code");
	r = pp_bpf_program_load(&source->program, &config, pp_clock_ns(CLOCK_REALTIME), error);
	if (r)
		return r;
	r = pp_chain_reader_init(&source->reader, &source->config,
				 pp_bpf_program_cpus(source->program));
	if (!r)
		r = open_clock(source);
	if (r)
		return pathprof_fail(error, r, "bpf: %s", strerror(-r));
	r = pp_bpf_events_open(&source->events, &source->event, pp_bpf_program_fd(source->program),
			       pp_taken_event_period(source->config.frequency_hz),
			       pp_bpf_program_cpus(source->program));
	return r ? refuse_event(&source->event, r, error) : give_up(source, error);
}

static void bpf_free(struct pp_source *base)
{
	struct pp_bpf_source *source = (struct pp_bpf_source *)base;

	if (!source)
		return;
	pp_bpf_events_close(&source->events);
	if (source->timer_fd >= 0)
		close(source->timer_fd);
	pp_bpf_program_free(source->program);
	pp_chain_reader_release(&source->reader);
	free(source);
}

static int bpf_open(struct pp_source **ret_source, const struct pp_source_config *config,
		    struct pathprof_error *error)
{
	struct pp_bpf_source *source = calloc(1, sizeof(*source));
	int r;

	if (!source)
		return pathprof_fail(error, -ENOMEM, "bpf: out of memory");
	source->base.ops = &pp_source_bpf;
	source->config = *config;
	source->config.compress = true;
	source->reader.only_pid = config->only_pid;
	source->reader.resolver = config->resolver;
	source->timer_fd = -EBADF;
	r = open_parts(source, error);
	if (r) {
		bpf_free(&source->base);
		return r;
	}
	*ret_source = &source->base;
	return 0;
}

/* Whether the kernel accepts the program is only known when it is loaded. */
static int bpf_probe(const struct pp_source_config *config, struct pathprof_error *why)
{
	struct pp_taken_event event;
	int r = pp_taken_event_find(&event, config->event, PP_TAKEN_EVENT_SYSFS, why);

	if (r)
		return r;
	r = pp_bpf_events_probe(&event, (uint32_t)get_nprocs_conf());
	return r ? refuse_event(&event, r, why) : 0;
}

/* ------------------------------------------------------------------ running */

/* The time in which a quarter of the ring fills, at the rate since the last reading. */
static uint64_t next_wait_ns(struct pp_bpf_source *source)
{
	uint64_t now_ns = pp_monotonic_ns(), bytes, wait_ns;
	struct pp_bpf_ring_figures ring;

	pp_bpf_program_ring_figures(source->program, &ring);
	bytes = ring.received_bytes - source->read_bytes;
	wait_ns =
		bytes ? (now_ns - source->read_ns) * (PP_BPF_RING_BYTES / 4) / bytes : READ_MOST_NS;
	source->read_bytes = ring.received_bytes;
	source->read_ns = now_ns;
	if (wait_ns > READ_MOST_NS)
		return READ_MOST_NS;
	return wait_ns < READ_LEAST_NS ? READ_LEAST_NS : wait_ns;
}

static int read_records(struct pp_bpf_source *source, const struct pp_source_sink *sink)
{
	pp_chain_reader_begin(&source->reader, sink);
	return pp_bpf_program_read(source->program, pp_chain_reader_record, &source->reader);
}

static void measure_depth(struct pp_bpf_source *source)
{
	struct pathprof_collector_stats since;
	double depth;

	pp_bpf_program_stats(source->program, &since);
	depth = pp_chain_figures_depth(&since);
	if (depth > 0)
		pp_chain_counts_set_depth(source->reader.counts, depth);
}

/* The ring has room for the tables of one CPU, not for those of all. */
static int flush(struct pp_bpf_source *source, const struct pp_source_sink *sink)
{
	int r = 0;

	source->flushed_ns = pp_monotonic_ns();
	measure_depth(source);
	for (uint32_t cpu = 0; !r && cpu < source->events.cpu_cnt; cpu++) {
		r = pp_bpf_program_drain(source->program, cpu);
		if (r == -ENXIO) {
			pp_bpf_events_forget(&source->events, cpu);
			r = 0;
		}
		if (!r)
			r = read_records(source, sink);
	}
	pp_bpf_events_follow(&source->events);
	return r;
}

/* A budget that is spent doubles the period; one that is kept brings it back bit by bit. */
static void govern(struct pp_bpf_source *source)
{
	uint64_t wanted = pp_taken_event_period(source->config.frequency_hz),
		 period = source->events.period;
	struct pathprof_collector_stats since;

	source->governed_ns = pp_monotonic_ns();
	pp_bpf_program_stats(source->program, &since);
	if (since.value[PATHPROF_STAT_SKIP_BUDGET] != source->skipped)
		period = period / STRETCH_MAX < wanted ? period * 2 | 1 : period;
	else if (period > wanted)
		period = period - period / 8 > wanted ? (period - period / 8) | 1 : wanted;
	source->skipped = since.value[PATHPROF_STAT_SKIP_BUDGET];
	if (period != source->events.period)
		pp_bpf_events_set_period(&source->events, period);
}

static int drain(struct pp_bpf_source *source, const struct pp_source_sink *sink)
{
	uint64_t expired_cnt, now_ns = pp_monotonic_ns();
	int r;

	/* The ring is read whether the timer has expired or not. */
	if (read(source->timer_fd, &expired_cnt, sizeof(expired_cnt)) < 0 && errno != EAGAIN)
		return -errno;
	if (now_ns - source->governed_ns >= GOVERN_EVERY_NS)
		govern(source);
	/* Counts of a process that ended must come while the tracker remembers it. */
	r = now_ns - source->flushed_ns >= FLUSH_EVERY_NS ? flush(source, sink)
							  : read_records(source, sink);
	return r ? r : set_timer(source, next_wait_ns(source));
}

static int bpf_fd(struct pp_source *base)
{
	return ((struct pp_bpf_source *)base)->timer_fd;
}

typedef int work_fn(struct pp_bpf_source *source, const struct pp_source_sink *sink);

/* The sink's work is charged to the source, too. */
static int charge(work_fn *work, struct pp_source *base, const struct pp_source_sink *sink)
{
	struct pp_bpf_source *source = (struct pp_bpf_source *)base;
	uint64_t begin_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int r = work(source, sink);

	source->cpu_ns += pp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	return r;
}

static int bpf_drain(struct pp_source *base, const struct pp_source_sink *sink)
{
	return charge(drain, base, sink);
}

static int bpf_flush(struct pp_source *base, const struct pp_source_sink *sink)
{
	return charge(flush, base, sink);
}

static void bpf_stats(struct pp_source *base, struct pp_source_stats *ret_stats)
{
	struct pp_bpf_source *source = (struct pp_bpf_source *)base;
	struct pp_bpf_ring_figures ring;
	struct pp_source_stats stats;

	pp_bpf_program_stats(source->program, &source->figures.since);
	pp_bpf_program_ring_figures(source->program, &ring);
	source->figures.malformed = ring.malformed;
	source->figures.missing = ring.missing;
	pp_chain_figures_fill(&source->figures, &source->reader, &stats);
	pp_chain_figures_add(&source->figures, "period", source->events.period);
	stats.counter_cnt = source->figures.counter_cnt;
	stats.cpu_ns = source->cpu_ns;
	stats.sampler = source->event.name;
	*ret_stats = stats;
}

/* A period that the budget stretched stays, unless another rate is asked for. */
static int bpf_configure(struct pp_source *base, const struct pp_source_config *config)
{
	struct pp_bpf_source *source = (struct pp_bpf_source *)base;

	source->config.overhead_ppm = config->overhead_ppm;
	pp_bpf_program_config(source->program)->slice_budget_ns = slice_budget_ns(config);
	if (source->config.frequency_hz == config->frequency_hz)
		return 0;
	source->config.frequency_hz = config->frequency_hz;
	pp_bpf_events_set_period(&source->events, pp_taken_event_period(config->frequency_hz));
	return 0;
}

const struct pp_source_ops pp_source_bpf = {
	.name = "bpf",
	.source = PATHPROF_SOURCE_LBR,
	.basis = PATHPROF_BASIS_BRANCHES,
	.compresses = true,
	.only_counts = true,
	.probe = bpf_probe,
	.open = bpf_open,
	.fd = bpf_fd,
	.drain = bpf_drain,
	.flush = bpf_flush,
	.stats = bpf_stats,
	.configure = bpf_configure,
	.free = bpf_free,
};
