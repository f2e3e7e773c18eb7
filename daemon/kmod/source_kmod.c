// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel module's two sources. kmod-swlbr hands its bursts on as they are. kmod-lbr has windows
 * of taken branches, which are reconstructed first, or counts of segments, whose paths the counts
 * then add to (kmod_chain.h).
 *
 * Workload: some bursts a second (swlbr) to some thousand windows or a few hundred counts (lbr).
 * The module wakes its reader when a quarter of a ring is written, which may take minutes: a timer
 * reads before, so that what came from a process that ended still finds its mappings. The event
 * loop owns it; no locks. What is handed to the sink lies in the rings or in the source until the
 * next call. Source: pathprof/kmod_abi.h, docs/kmod.md.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "../source.h"
#include "kmod_chain.h"
#include "kmod_device.h"
#include "kmod_event.h"
#include "kmod_rebuild.h"

#define NS_PER_S        UINT64_C(1000000000)
#define READ_EVERY_NS   UINT64_C(200000000)
#define FLUSH_EVERY_NS  UINT64_C(5000000000) /* well below what the tracker remembers */
#define TAKEN_DEFAULT   32
#define RATE_DEFAULT_HZ 99
#define TAKEN_PER_S     UINT64_C(500000000) /* of a busy CPU, by order of magnitude */
#define BRANCH_TYPES                                                                               \
	(PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE)

struct kmod_source {
	struct pp_source base;
	struct pp_source_config config;
	struct pp_kmod_device device;
	struct pp_kmod_event event; /* lbr */
	struct pp_rebuild *rebuild; /* lbr */
	struct pp_chain *chain;     /* lbr, compressing; else NULL */
	int epoll_fd, timer_fd;
	bool restart; /* other settings are wanted */
	uint64_t flushed_ns, cpu_ns;
	uint64_t outside; /* windows of processes that are not to be profiled */
	uint64_t unknown; /* windows of processes that are not known any more */
	struct pathprof_kmod_stats before, last; /* when it was opened, and as told last */
	struct pp_source_counter counters[PP_SOURCE_COUNTER_MAX];
	struct pathprof_branch branches[PATHPROF_BURST_MAX];
};

static bool is_lbr(const struct kmod_source *source)
{
	return source->base.ops->source == PATHPROF_SOURCE_LBR;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* ---------------------------------------------------------------- records */

/* On the way from a ring to the window. */
struct passage {
	struct kmod_source *source;
	const struct pp_source_sink *sink;
	uint64_t now_ns;
};

static bool is_in_view(struct kmod_source *source, uint32_t pid)
{
	const struct pp_resolver *resolver = source->config.resolver;

	return !source->config.only_pid || !resolver || !resolver->in_view ||
	       resolver->in_view(resolver->context, (pid_t)pid);
}

/*
 * What the module spent is told by its own counter, traps and samples in vain included; the burst's
 * figure is how long it took by the clock, others' turns on the CPU included.
 */
static void pass_burst(struct passage *p, const struct pathprof_burst *burst)
{
	struct pathprof_burst head = *burst;

	if (!is_in_view(p->source, head.pid)) {
		p->source->outside++;
		return;
	}
	head.stopped_ns = 0;
	p->sink->burst(p->sink->context, &head, (const struct pathprof_branch *)(burst + 1));
}

static uint32_t count_taken(const struct pathprof_branch *branches, uint32_t cnt)
{
	uint32_t taken = 0;

	for (uint32_t i = 0; i < cnt; i++)
		taken += branches[i].taken;
	return taken;
}

static void pass_taken(struct passage *p, const struct pathprof_lbr *lbr,
		       const struct pathprof_taken *taken, uint32_t taken_cnt)
{
	struct kmod_source *source = p->source;
	const struct pp_counted who = {lbr->pid, lbr->start_time, lbr->time_ns};
	struct pathprof_burst burst = {
		.version = PATHPROF_ABI_VERSION,
		.source = PATHPROF_SOURCE_LBR,
		.pid = lbr->pid,
		.tid = lbr->tid,
		.time_ns = lbr->time_ns,
		.start = taken[0].from,
		.start_time = lbr->start_time,
		.end = PATHPROF_END_FULL,
	};
	int r = pp_rebuild_window(source->rebuild, &who, taken, taken_cnt, source->branches,
				  &burst.branch_cnt);

	if (r == -ESRCH)
		source->unknown++;
	if (r)
		return;
	burst.taken_cnt = count_taken(source->branches, burst.branch_cnt);
	burst.size_bytes =
		(uint32_t)(sizeof(burst) + burst.branch_cnt * sizeof(source->branches[0]));
	p->sink->burst(p->sink->context, &burst, source->branches);
}

/* Where the module dropped an entry there are two windows. */
static void pass_lbr(struct passage *p, const struct pathprof_lbr *lbr)
{
	const struct pathprof_lbr_entry *entries = (const void *)(lbr + 1);
	struct pathprof_taken taken[PP_KMOD_LBR_MAX];
	uint32_t cnt = 0;

	if (!is_in_view(p->source, lbr->pid)) {
		p->source->outside++;
		return;
	}
	for (uint32_t i = 0; i < lbr->branch_cnt; i++) {
		if ((entries[i].to & PATHPROF_LBR_CUT) && cnt) {
			pass_taken(p, lbr, taken, cnt);
			cnt = 0;
		}
		taken[cnt++] = (struct pathprof_taken){PATHPROF_LBR_ADDRESS(entries[i].from),
						       PATHPROF_LBR_ADDRESS(entries[i].to)};
	}
	if (cnt)
		pass_taken(p, lbr, taken, cnt);
}

static void pass_counts(struct passage *p, const struct pathprof_record *record)
{
	const void *body = record + 1;
	size_t body_bytes = record->size_bytes - sizeof(*record);
	const struct pathprof_path_record *paths = body;
	const struct pathprof_tuple_count *tuples = body;

	if (record->type == PATHPROF_RECORD_PATH)
		for (size_t i = 0; i < body_bytes / sizeof(*paths); i++)
			pp_chain_path(p->source->chain, record->cpu, &paths[i], p->sink);
	else
		for (size_t i = 0; i < body_bytes / sizeof(*tuples); i++)
			pp_chain_tuple(p->source->chain, record->cpu, &tuples[i], p->sink);
}

static void pass_chain(struct passage *p, const struct pathprof_record *record)
{
	const struct pathprof_context *context = (const void *)(record + 1);
	const struct pathprof_segment *segment = (const void *)(record + 1);

	if (record->type == PATHPROF_RECORD_CONTEXT)
		pp_chain_context(p->source->chain, record->cpu, context, p->now_ns,
				 !is_in_view(p->source, context->pid));
	else if (record->type == PATHPROF_RECORD_DEFINE)
		pp_chain_define(p->source->chain, record->cpu, segment,
				(const struct pathprof_lbr_entry *)(segment + 1), p->now_ns);
	else
		pass_counts(p, record);
}

static void pass(void *context, const struct pathprof_record *record)
{
	struct passage *p = context;

	if (record->type == PATHPROF_RECORD_BURST)
		pass_burst(p, (const void *)(record + 1));
	else if (record->type == PATHPROF_RECORD_LBR && p->source->rebuild)
		pass_lbr(p, (const void *)(record + 1));
	else if (p->source->chain)
		pass_chain(p, record);
}

static int read_rings(struct kmod_source *source, const struct pp_source_sink *sink)
{
	const struct pp_resolver *resolver = source->config.resolver;
	struct passage p = {source, sink, clock_ns(CLOCK_MONOTONIC)};

	/* What the counts belong to was mapped before; bursts have it done one by one. */
	if (resolver)
		resolver->dispatch(resolver->context);
	return pp_kmod_device_drain(&source->device, pass, &p);
}

/* ---------------------------------------------------------------- sessions */

static uint32_t clamp(uint64_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : (uint32_t)value;
}

static void fill_swlbr(const struct kmod_source *source, struct pathprof_kmod_start *start)
{
	uint64_t hz = source->config.frequency_hz ? source->config.frequency_hz : RATE_DEFAULT_HZ;
	uint32_t taken = source->config.taken_wanted ? source->config.taken_wanted : TAKEN_DEFAULT;

	start->mode = PATHPROF_MODE_RAW;
	start->flags = PATHPROF_START_JITTER;
	start->period = NS_PER_S / hz;
	if (start->period < PATHPROF_PERIOD_MIN_NS)
		start->period = PATHPROF_PERIOD_MIN_NS;
	start->window = clamp(taken, 1, PATHPROF_WINDOW_MAX);
}

/* An odd period: one that a loop's length divides would always strike at its same branch. */
static void fill_lbr(const struct kmod_source *source, struct pathprof_kmod_start *start)
{
	uint64_t hz = source->config.frequency_hz ? source->config.frequency_hz : RATE_DEFAULT_HZ;

	start->mode = source->chain ? PATHPROF_MODE_CHAIN : PATHPROF_MODE_RAW;
	start->period = TAKEN_PER_S / hz | 1;
	start->pmu_type = source->event.type;
	start->pmu_config = source->event.config;
	start->pmu_config1 = source->event.config1;
	start->pmu_config2 = source->event.config2;
	start->branch_sample_type = BRANCH_TYPES;
	if (source->chain)
		start->profiles = PATHPROF_PROFILE_EDGES;
}

static int start(struct kmod_source *source, struct pathprof_error *error)
{
	struct pathprof_kmod_start start = {
		.version = PATHPROF_KMOD_VERSION,
		.source = source->base.ops->source,
		.budget_ppm = clamp(source->config.overhead_ppm, 1, PATHPROF_BUDGET_MAX),
	};

	if (is_lbr(source))
		fill_lbr(source, &start);
	else
		fill_swlbr(source, &start);
	return pp_kmod_device_start(&source->device, &start, error);
}

/* The old session's last words first: its numbers mean nothing in the new one. */
static int start_again(struct kmod_source *source, const struct pp_source_sink *sink)
{
	int r = pp_kmod_device_stop(&source->device);

	if (!r)
		r = read_rings(source, sink);
	if (source->chain)
		pp_chain_forget_contexts(source->chain);
	if (!r)
		r = start(source, NULL);
	source->restart = false;
	return r;
}

/* ---------------------------------------------------------------- opening */

static int watch(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_clock(struct kmod_source *source)
{
	const struct timespec every = {0, READ_EVERY_NS};
	const struct itimerspec timer = {every, every};
	int r;

	source->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	source->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (source->epoll_fd < 0 || source->timer_fd < 0 ||
	    timerfd_settime(source->timer_fd, 0, &timer, NULL))
		return -errno;
	r = watch(source->epoll_fd, source->timer_fd);
	return r ? r : watch(source->epoll_fd, source->device.fd);
}

/* What only hardware's windows need. */
static int open_reader(struct kmod_source *source, struct pathprof_error *error)
{
	int r = pp_kmod_event_find(&source->event, source->config.event, PP_KMOD_EVENT_SYSFS,
				   error);

	if (r)
		return r;
	if (!source->config.resolver)
		return pathprof_fail(error, -EINVAL, "kmod: nobody to ask for code");
	r = pp_rebuild_new(&source->rebuild, source->config.resolver);
	if (!r && source->config.compress)
		r = pp_chain_new(&source->chain, source->device.info.ring_cnt, source->rebuild);
	return r ? pathprof_fail(error, r, "kmod: out of memory") : 0;
}

static int open_parts(struct kmod_source *source, struct pathprof_error *error)
{
	int r = pp_kmod_device_open(&source->device, error);

	if (!r && is_lbr(source))
		r = open_reader(source, error);
	if (r)
		return r;
	r = open_clock(source);
	if (!r)
		r = pp_kmod_device_stats(&source->device, &source->before);
	if (r)
		return pathprof_fail(error, r, "kmod: %s", strerror(-r));
	source->last = source->before;
	source->flushed_ns = clock_ns(CLOCK_MONOTONIC);
	return start(source, error);
}

/* Closing the device ends the session and frees what the module holds for it. */
static void kmod_free(struct pp_source *base)
{
	struct kmod_source *source = (struct kmod_source *)base;

	if (!source)
		return;
	pp_kmod_device_close(&source->device);
	if (source->timer_fd >= 0)
		close(source->timer_fd);
	if (source->epoll_fd >= 0)
		close(source->epoll_fd);
	pp_chain_free(source->chain);
	pp_rebuild_free(source->rebuild);
	free(source);
}

static int open_source(struct pp_source **ret_source, const struct pp_source_ops *ops,
		       const struct pp_source_config *config, struct pathprof_error *error)
{
	struct kmod_source *source = calloc(1, sizeof(*source));
	int r;

	if (!source)
		return pathprof_fail(error, -ENOMEM, "kmod: out of memory");
	source->base.ops = ops;
	source->config = *config;
	source->device.fd = source->epoll_fd = source->timer_fd = -EBADF;
	r = open_parts(source, error);
	if (r) {
		kmod_free(&source->base);
		return r;
	}
	*ret_source = &source->base;
	return 0;
}

static int lbr_open(struct pp_source **ret_source, const struct pp_source_config *config,
		    struct pathprof_error *error)
{
	return open_source(ret_source, &pp_source_kmod_lbr, config, error);
}

static int swlbr_open(struct pp_source **ret_source, const struct pp_source_config *config,
		      struct pathprof_error *error)
{
	return open_source(ret_source, &pp_source_kmod_swlbr, config, error);
}

/* Whether an event can be had is only known when it is opened. */
static int lbr_probe(struct pathprof_error *why)
{
	return pp_kmod_device_probe(PATHPROF_SOURCE_LBR, NULL, why);
}

static int swlbr_probe(struct pathprof_error *why)
{
	return pp_kmod_device_probe(PATHPROF_SOURCE_SWLBR, NULL, why);
}

/* ---------------------------------------------------------------- running */

static int kmod_fd(struct pp_source *base)
{
	return ((struct kmod_source *)base)->epoll_fd;
}

static uint64_t since(const struct kmod_source *source, const struct pathprof_kmod_stats *now,
		      unsigned int stat)
{
	return now->value[stat] - source->before.value[stat];
}

/* Entries that were whole, of all windows. */
static uint64_t entries(const struct kmod_source *source, const struct pathprof_kmod_stats *now)
{
	uint64_t dropped = since(source, now, PATHPROF_STAT_LBR_ZERO) +
			   since(source, now, PATHPROF_STAT_LBR_DUPLICATE) +
			   since(source, now, PATHPROF_STAT_LBR_BOGUS);
	uint64_t all = since(source, now, PATHPROF_STAT_LBR_ENTRIES);

	return all > dropped ? all - dropped : 0;
}

static void measure_depth(struct kmod_source *source)
{
	struct pathprof_kmod_stats now;
	uint64_t windows;

	if (pp_kmod_device_stats(&source->device, &now))
		return;
	windows = since(source, &now, PATHPROF_STAT_WINDOWS);
	if (windows)
		pp_chain_set_depth(source->chain, (double)entries(source, &now) / (double)windows);
}

static int flush(struct kmod_source *source, const struct pp_source_sink *sink)
{
	int r = 0;

	source->flushed_ns = clock_ns(CLOCK_MONOTONIC);
	if (source->chain) {
		measure_depth(source);
		r = pp_kmod_device_flush(&source->device);
	}
	return r ? r : read_rings(source, sink);
}

static int drain(struct kmod_source *source, const struct pp_source_sink *sink)
{
	uint64_t expired_cnt;

	/* Rung or not, what is there is read. */
	if (read(source->timer_fd, &expired_cnt, sizeof(expired_cnt)) < 0 && errno != EAGAIN)
		return -errno;
	if (source->restart)
		return start_again(source, sink);
	/* Counts of a process that ended must come while the tracker remembers it. */
	if (source->chain && clock_ns(CLOCK_MONOTONIC) - source->flushed_ns >= FLUSH_EVERY_NS)
		return flush(source, sink);
	return read_rings(source, sink);
}

static int kmod_drain(struct pp_source *base, const struct pp_source_sink *sink)
{
	struct kmod_source *source = (struct kmod_source *)base;
	uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int r = drain(source, sink);

	source->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	return r;
}

static int kmod_flush(struct pp_source *base, const struct pp_source_sink *sink)
{
	struct kmod_source *source = (struct kmod_source *)base;
	uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int r = flush(source, sink);

	source->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	return r;
}

static int kmod_configure(struct pp_source *base, const struct pp_source_config *config)
{
	struct kmod_source *source = (struct kmod_source *)base;

	source->config.overhead_ppm = config->overhead_ppm;
	source->config.taken_wanted = config->taken_wanted;
	source->config.frequency_hz = config->frequency_hz;
	source->restart = true;
	return 0;
}

/* ---------------------------------------------------------------- figures */

static const char *const refusal_names[PATHPROF_REFUSED_CNT] = {
	[PATHPROF_REFUSED_UNKNOWN_CODE] = "refused_unknown_code",
	[PATHPROF_REFUSED_NO_BRANCH] = "refused_no_branch",
	[PATHPROF_REFUSED_TARGET] = "refused_target",
	[PATHPROF_REFUSED_OVERLAP] = "refused_overlap",
	[PATHPROF_REFUSED_UNDECODABLE] = "refused_undecodable",
	[PATHPROF_REFUSED_TOO_LONG] = "refused_too_long",
	[PATHPROF_REFUSED_EMPTY] = "refused_empty",
};

static void add_counter(struct kmod_source *source, uint32_t *cnt, const char *name, uint64_t value)
{
	if (*cnt < PP_SOURCE_COUNTER_MAX)
		source->counters[(*cnt)++] = (struct pp_source_counter){name, value};
}

struct ring_sums {
	uint64_t malformed, missing;
};

static struct ring_sums sum_rings(const struct kmod_source *source)
{
	struct ring_sums sums = {0};

	for (uint32_t i = 0; i < source->device.ring_cnt; i++) {
		sums.malformed += source->device.rings[i].malformed;
		sums.missing += source->device.rings[i].missing;
	}
	return sums;
}

static uint64_t sum_refused(const struct kmod_source *source)
{
	uint64_t sum = 0;

	for (int i = 1; source->rebuild && i < PATHPROF_REFUSED_CNT; i++)
		sum += pp_rebuild_refused(source->rebuild, (enum pathprof_refusal)i);
	return sum;
}

static uint32_t fill_counters(struct kmod_source *source, const struct pathprof_kmod_stats *now)
{
	struct ring_sums rings = sum_rings(source);
	struct pp_chain_stats chain = {0};
	uint32_t cnt = 0;

	for (unsigned int i = 0; i < PATHPROF_STAT_END; i++)
		add_counter(source, &cnt, pp_kmod_stat_name(i), since(source, now, i));
	add_counter(source, &cnt, "trap_ns", source->device.info.trap_ns);
	add_counter(source, &cnt, "outside", source->outside);
	add_counter(source, &cnt, "ring_malformed", rings.malformed);
	add_counter(source, &cnt, "ring_missing", rings.missing);
	for (int i = 1; source->rebuild && i < PATHPROF_REFUSED_CNT; i++)
		add_counter(source, &cnt, refusal_names[i],
			    pp_rebuild_refused(source->rebuild, (enum pathprof_refusal)i));
	if (!source->chain)
		return cnt;
	pp_chain_stats(source->chain, &chain);
	add_counter(source, &cnt, "segments_defined", chain.defined);
	add_counter(source, &cnt, "runs_refused", chain.refused);
	add_counter(source, &cnt, "runs_unknown", chain.unknown);
	add_counter(source, &cnt, "segments_full", chain.full);
	return cnt;
}

static void fill_drops(const struct kmod_source *source, const struct pathprof_kmod_stats *now,
		       uint64_t *drops)
{
	struct pp_chain_stats chain = {0};

	if (source->chain)
		pp_chain_stats(source->chain, &chain);
	drops[PATHPROF_DROP_BUDGET] = since(source, now, PATHPROF_STAT_SKIP_BUDGET) +
				      since(source, now, PATHPROF_STAT_SKIP_CEILING);
	drops[PATHPROF_DROP_TRACED] = since(source, now, PATHPROF_STAT_SKIP_TRACED);
	drops[PATHPROF_DROP_32BIT] = since(source, now, PATHPROF_STAT_SKIP_COMPAT);
	drops[PATHPROF_DROP_GONE] = since(source, now, PATHPROF_STAT_LATE);
	drops[PATHPROF_DROP_BUSY] = since(source, now, PATHPROF_STAT_SKIP_BUSY) +
				    since(source, now, PATHPROF_STAT_LOST_NESTED) +
				    since(source, now, PATHPROF_STAT_LOST_BUSY);
	drops[PATHPROF_DROP_QUEUE_FULL] = since(source, now, PATHPROF_STAT_LOST_FULL) +
					  since(source, now, PATHPROF_STAT_LOST_CONTEXT) +
					  since(source, now, PATHPROF_STAT_LOST_DEFINE);
	drops[PATHPROF_DROP_MALFORMED] = sum_rings(source).malformed;
	drops[PATHPROF_DROP_UNRESOLVED] = source->unknown + chain.unknown;
	drops[PATHPROF_DROP_TABLE_FULL] = chain.full;
	/* In counts a segment is refused once, and each of its runs is missing. */
	drops[PATHPROF_DROP_REFUSED] = source->chain ? chain.refused : sum_refused(source);
}

static uint32_t depth(const struct kmod_source *source, const struct pathprof_kmod_stats *now)
{
	uint64_t windows = since(source, now, PATHPROF_STAT_WINDOWS);

	if (!is_lbr(source))
		return clamp(source->config.taken_wanted ? source->config.taken_wanted
							 : TAKEN_DEFAULT,
			     1, PATHPROF_WINDOW_MAX);
	return windows ? clamp((entries(source, now) + windows / 2) / windows, 0, PP_KMOD_LBR_MAX)
		       : 0;
}

static void kmod_stats(struct pp_source *base, struct pp_source_stats *ret_stats)
{
	struct kmod_source *source = (struct kmod_source *)base;
	struct pp_source_stats stats = {0};
	struct pathprof_kmod_stats now;

	/* totals must not fall: what cannot be had is what it was */
	if (pp_kmod_device_stats(&source->device, &now))
		now = source->last;
	source->last = now;
	stats.samples = since(source, &now, PATHPROF_STAT_SAMPLES);
	stats.bursts = since(source, &now, PATHPROF_STAT_WINDOWS);
	stats.steps = since(source, &now, PATHPROF_STAT_TRAPS);
	stats.stopped_ns = since(source, &now, PATHPROF_STAT_SPENT_NS);
	stats.cpu_ns = source->cpu_ns;
	stats.taken_wanted = depth(source, &now);
	stats.sampler = is_lbr(source) ? source->event.name : "cpu-clock";
	if (source->chain) {
		stats.windows = stats.bursts;
		stats.taken = entries(source, &now);
	}
	fill_drops(source, &now, stats.drops);
	stats.counter_cnt = fill_counters(source, &now);
	stats.counters = source->counters;
	*ret_stats = stats;
}

const struct pp_source_ops pp_source_kmod_lbr = {
	.name = "kmod-lbr",
	.source = PATHPROF_SOURCE_LBR,
	.basis = PATHPROF_BASIS_BRANCHES,
	.compresses = true,
	.probe = lbr_probe,
	.open = lbr_open,
	.fd = kmod_fd,
	.drain = kmod_drain,
	.flush = kmod_flush,
	.stats = kmod_stats,
	.configure = kmod_configure,
	.free = kmod_free,
};

const struct pp_source_ops pp_source_kmod_swlbr = {
	.name = "kmod-swlbr",
	.source = PATHPROF_SOURCE_SWLBR,
	.basis = PATHPROF_BASIS_TIME,
	.probe = swlbr_probe,
	.open = swlbr_open,
	.fd = kmod_fd,
	.drain = kmod_drain,
	.flush = kmod_flush,
	.stats = kmod_stats,
	.configure = kmod_configure,
	.free = kmod_free,
};
