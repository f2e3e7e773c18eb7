// SPDX-License-Identifier: GPL-2.0-or-later
/* The progress of an import that takes long: see import_progress.h. */
#include "import_progress.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "../ctl.h"
#include "base/clock.h"
#include "base/progress.h"

#define EVERY_NS (CTL_NS_PER_S / 2) /* on a terminal */
#define LOOK_NS  (CTL_NS_PER_S / 4) /* at the input */

struct import_progress {
	const char *name;
	int fd;
	bool live;  /* standard error is a terminal */
	bool looks; /* the thread is there */
	uint64_t begin_ns;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t ends;
	bool is_over, shown;
	uint64_t tell_ns; /* when something is said next */
	struct pathprof_recording_stats stats;
};

/* Under the lock. */
static void tell(struct import_progress *p, const char *waits_for)
{
	uint64_t now = pp_monotonic_ns();

	if (now < p->tell_ns)
		return;
	p->tell_ns = p->live ? now + EVERY_NS : now + (now - p->begin_ns);
	p->shown = p->live;
	fprintf(stderr, "%spathprofctl: import: %" PRIu64 " MB", p->live ? "\r" : "",
		p->stats.bytes >> 20);
	if (p->stats.bytes_total)
		fprintf(stderr, " of %" PRIu64, p->stats.bytes_total >> 20);
	fprintf(stderr, ", %" PRIu64 " samples", p->stats.samples);
	if (waits_for)
		fprintf(stderr, ", waits for more from %.1000s", waits_for);
	fputs(p->live ? "\033[K" : "\n", stderr);
}

void import_progress_at(struct import_progress *p, const struct pathprof_recording *recording)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	pathprof_recording_stats(recording, &p->stats);
	tell(p, NULL);
	pthread_mutex_unlock(&p->lock);
}

/* ---------------------------------------------------------------- waiting */

/* A regular file always has something to read, if only its end. */
static bool may_wait(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

static bool is_empty(int fd)
{
	struct pollfd input = {.fd = fd, .events = POLLIN};

	return poll(&input, 1, 0) == 0;
}

/* Called under the lock, which is released meanwhile. */
static void pause_look(struct import_progress *p)
{
	uint64_t until_ns = pp_monotonic_ns() + LOOK_NS;
	const struct timespec until = {.tv_sec = (time_t)(until_ns / CTL_NS_PER_S),
				       .tv_nsec = (long)(until_ns % CTL_NS_PER_S)};

	pthread_cond_timedwait(&p->ends, &p->lock, &until);
}

/* Two looks in a row: what is written in small pieces is not waited for all the time. */
static void *look(void *context)
{
	struct import_progress *p = context;
	bool was_empty = false;

	pthread_mutex_lock(&p->lock);
	while (!p->is_over) {
		bool empty = is_empty(p->fd);

		if (empty && was_empty)
			tell(p, p->fd == STDIN_FILENO ? "standard input" : p->name);
		was_empty = empty;
		pause_look(p);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---------------------------------------------------------------- life */

/* Signals are for the thread that imports. */
static void start_looking(struct import_progress *p)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	p->looks = pthread_create(&p->thread, NULL, look, p) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static void stop_looking(struct import_progress *p)
{
	pthread_mutex_lock(&p->lock);
	p->is_over = true;
	pthread_cond_signal(&p->ends);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
}

struct import_progress *import_progress_new(const char *name, int fd)
{
	struct import_progress *p = calloc(1, sizeof(*p));
	pthread_condattr_t monotonic;

	if (!p)
		return NULL;
	p->name = name;
	p->fd = fd;
	p->live = isatty(STDERR_FILENO) == 1;
	p->begin_ns = pp_monotonic_ns();
	p->tell_ns = p->begin_ns + pp_progress_after_ns();
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->ends, &monotonic);
	pthread_condattr_destroy(&monotonic);
	if (may_wait(fd))
		start_looking(p);
	return p;
}

void import_progress_free(struct import_progress *p)
{
	if (!p)
		return;
	if (p->looks)
		stop_looking(p);
	if (p->shown)
		fputs("\r\033[K", stderr);
	pthread_cond_destroy(&p->ends);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
