// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel module's two sources. kmod-swlbr hands its bursts on as they are. kmod-lbr has windows
 * of taken branches, which are reconstructed first, or counts of segments, whose paths the counts
 * then add to (chain_counts.h). Here is what the event loop calls; the parts are in kmod_source.h.
 *
 * Workload: some calls a second. The module wakes its reader when a quarter of a ring is written,
 * which may take minutes: a timer reads before, so that what came from a process that ended still
 * finds its mappings. The event loop owns it; no locks. What is handed to the sink lies in the
 * rings or in the source until the next call. Source: pathprof/kmod_abi.h, docs/kmod.md.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "kmod_source.h"

#define READ_EVERY_NS  UINT64_C(200000000)
#define FLUSH_EVERY_NS UINT64_C(5000000000) /* well below what the tracker remembers */

/* ---------------------------------------------------------------- opening */

static int watch(int epoll_fd, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data = {.fd = fd}};

	return epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_clock(struct pp_kmod_source *source)
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

/* Opens the parts that only windows of hardware need: the event and the reader. */
static int open_reader(struct pp_kmod_source *source, struct pathprof_error *error)
{
	int r = pp_taken_event_find(&source->event, source->config.event, PP_TAKEN_EVENT_SYSFS,
				    error);

	if (r)
		return r;
	if (!source->config.resolver)
		return pathprof_fail(error, -EINVAL, "kmod: nobody to ask for code");
	r = pp_chain_reader_init(&source->reader, &source->config, source->device.info.ring_cnt);
	return r ? pathprof_fail(error, r, "kmod: out of memory") : 0;
}

static int open_parts(struct pp_kmod_source *source, struct pathprof_error *error)
{
	int r = pp_kmod_device_open(&source->device, error);

	if (!r && pp_kmod_is_lbr(source))
		r = open_reader(source, error);
	if (r)
		return r;
	r = open_clock(source);
	if (!r)
		r = pp_kmod_device_stats(&source->device, &source->before);
	if (r)
		return pathprof_fail(error, r, "kmod: %s", strerror(-r));
	source->last = source->before;
	source->flushed_ns = pp_monotonic_ns();
	return pp_kmod_session_start(source, error);
}

/* Closing the device ends the session and frees what the module holds for it. */
static void kmod_free(struct pp_source *base)
{
	struct pp_kmod_source *source = (struct pp_kmod_source *)base;

	if (!source)
		return;
	pp_kmod_device_close(&source->device);
	if (source->timer_fd >= 0)
		close(source->timer_fd);
	if (source->epoll_fd >= 0)
		close(source->epoll_fd);
	pp_chain_reader_release(&source->reader);
	free(source);
}

static int open_source(struct pp_source **ret_source, const struct pp_source_ops *ops,
		       const struct pp_source_config *config, struct pathprof_error *error)
{
	struct pp_kmod_source *source = calloc(1, sizeof(*source));
	int r;

	if (!source)
		return pathprof_fail(error, -ENOMEM, "kmod: out of memory");
	source->base.ops = ops;
	source->config = *config;
	source->reader.only_pid = config->only_pid;
	source->reader.resolver = config->resolver;
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
static int lbr_probe(const struct pp_source_config *config, struct pathprof_error *why)
{
	return pp_kmod_device_probe(PATHPROF_SOURCE_LBR, NULL, why);
}

static int swlbr_probe(const struct pp_source_config *config, struct pathprof_error *why)
{
	return pp_kmod_device_probe(PATHPROF_SOURCE_SWLBR, NULL, why);
}

/* ---------------------------------------------------------------- running */

int pp_kmod_source_read(struct pp_kmod_source *source, const struct pp_source_sink *sink)
{
	pp_chain_reader_begin(&source->reader, sink);
	return pp_kmod_device_drain(&source->device, pp_chain_reader_record, &source->reader);
}

static void measure_depth(struct pp_kmod_source *source)
{
	struct pathprof_collector_stats now, since;
	double depth;

	if (pp_kmod_device_stats(&source->device, &now))
		return;
	pp_kmod_figures_since(source, &now, &since);
	depth = pp_chain_figures_depth(&since);
	if (depth > 0)
		pp_chain_counts_set_depth(source->reader.counts, depth);
}

static int flush(struct pp_kmod_source *source, const struct pp_source_sink *sink)
{
	int r = 0;

	source->flushed_ns = pp_monotonic_ns();
	if (source->reader.counts) {
		measure_depth(source);
		r = pp_kmod_device_flush(&source->device);
	}
	return r ? r : pp_kmod_source_read(source, sink);
}

static int drain(struct pp_kmod_source *source, const struct pp_source_sink *sink)
{
	uint64_t expired_cnt;

	/* The rings are read whether the timer has expired or not. */
	if (read(source->timer_fd, &expired_cnt, sizeof(expired_cnt)) < 0 && errno != EAGAIN)
		return -errno;
	if (source->restart)
		return pp_kmod_session_restart(source, sink);
	/* Counts of a process that ended must come while the tracker remembers it. */
	if (source->reader.counts && pp_monotonic_ns() - source->flushed_ns >= FLUSH_EVERY_NS)
		return flush(source, sink);
	return pp_kmod_source_read(source, sink);
}

static int kmod_fd(struct pp_source *base)
{
	return ((struct pp_kmod_source *)base)->epoll_fd;
}

typedef int work_fn(struct pp_kmod_source *source, const struct pp_source_sink *sink);

/* The sink's work is charged to the source, too. */
static int charge(work_fn *work, struct pp_source *base, const struct pp_source_sink *sink)
{
	struct pp_kmod_source *source = (struct pp_kmod_source *)base;
	uint64_t begin_ns = pp_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int r = work(source, sink);

	source->cpu_ns += pp_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	return r;
}

static int kmod_drain(struct pp_source *base, const struct pp_source_sink *sink)
{
	return charge(drain, base, sink);
}

static int kmod_flush(struct pp_source *base, const struct pp_source_sink *sink)
{
	return charge(flush, base, sink);
}

static void kmod_stats(struct pp_source *base, struct pp_source_stats *ret_stats)
{
	pp_kmod_figures_fill((struct pp_kmod_source *)base, ret_stats);
}

static int kmod_configure(struct pp_source *base, const struct pp_source_config *config)
{
	pp_kmod_session_configure((struct pp_kmod_source *)base, config);
	return 0;
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
	.horizon_max = PP_KMOD_HORIZON_MAX,
	.probe = swlbr_probe,
	.open = swlbr_open,
	.fd = kmod_fd,
	.drain = kmod_drain,
	.flush = kmod_flush,
	.stats = kmod_stats,
	.configure = kmod_configure,
	.free = kmod_free,
};
