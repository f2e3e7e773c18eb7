// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How a read of /proc changes what the tracker knows. A process is read between two looks at its
 * stat line, so that a pid given away meanwhile never mixes two processes; with perf, a scan during
 * which the process exec'ed is thrown away, since its events will tell.
 * See track_state.h for locking and ownership. Source: this project.
 */
#include "track_state.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000ull + (uint64_t)now.tv_nsec;
}

uint64_t pp_track_now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t pp_track_suspended_ns(void)
{
	uint64_t monotonic_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t boot_ns = clock_ns(CLOCK_BOOTTIME);

	return boot_ns > monotonic_ns ? boot_ns - monotonic_ns : 0;
}

/* ---------------------------------------------------------------- which process it is */

bool pp_track_is_same(const struct pp_track *track, const struct pp_image *image,
		      const struct pp_stat *stat)
{
	uint64_t low, high;

	if (image->start_exact || !image->start_time)
		return !image->start_exact || image->start_time == stat->start_time;
	low = image->start_time < stat->start_time ? image->start_time : stat->start_time;
	high = image->start_time < stat->start_time ? stat->start_time : image->start_time;
	/* The fork event is a little later than the start time, maybe across a tick. */
	return high - low <= 2;
}

/* No burst of this process can be earlier. */
static uint64_t begin_of(const struct pp_track *track, const struct pp_stat *stat)
{
	uint64_t suspended_ns = pp_track_suspended_ns();
	uint64_t start_ns = stat->start_time * track->tick_ns;

	return start_ns > suspended_ns ? start_ns - suspended_ns : 0;
}

static bool is_dead(const struct pp_stat *stat)
{
	return stat->state == 'Z' || stat->state == 'X' || stat->state == 'x';
}

/* Without perf an exec shows in the addresses of code and stack only. */
static bool has_execed(const struct pp_image *image, const struct pp_stat *stat)
{
	return image->signature && stat->signature && image->signature != stat->signature;
}

/* The newest image of pid that stat is of: the one known, or a new one. */
static int image_of(struct pp_track *track, pid_t pid, const struct pp_stat *stat,
		    struct pp_image **ret_image)
{
	struct pp_image *known = pp_images_newest(&track->images, pid), *image;
	int r;

	if (known && pp_track_is_same(track, known, stat)) {
		if (track->perf || !has_execed(known, stat)) {
			pp_images_revive(&track->images, known);
			*ret_image = known;
			return 0;
		}
		r = pp_images_add(&track->images, pid, known->verified_ns + 1, NULL, &image);
		if (r)
			return r;
		image->exec_cnt = known->exec_cnt + 1;
	} else {
		r = pp_images_add(&track->images, pid, begin_of(track, stat), NULL, &image);
		if (r)
			return r;
	}
	*ret_image = image;
	return 0;
}

/* ---------------------------------------------------------------- reading */

static void forget_scanned(struct pp_track *track)
{
	for (size_t i = 0; i < track->scanned_cnt; i++)
		pp_file_put(track->scanned[i].file);
	track->scanned_cnt = 0;
}

static int reserve_scanned(struct pp_track *track)
{
	size_t cap = track->scanned_cap ? 2 * track->scanned_cap : 256;
	struct pp_piece *scanned;

	if (track->scanned_cnt < track->scanned_cap)
		return 0;
	if (cap > PP_SPACE_PIECES_MAX)
		return -ENOSPC;
	scanned = reallocarray(track->scanned, cap, sizeof(*scanned));
	if (!scanned)
		return -ENOMEM;
	track->scanned = scanned;
	track->scanned_cap = cap;
	return 0;
}

struct scan {
	struct pp_track *track;
	pid_t pid;
};

static int keep_vma(void *context, const struct pp_vma *vma)
{
	struct scan *scan = context;
	struct pp_track *track = scan->track;
	struct pp_piece piece;
	int r = reserve_scanned(track);

	if (r)
		return r;
	r = pp_track_piece(track, scan->pid, vma, &piece);
	/* A mapping seen twice, because the list moved while it was read. */
	if (!r && track->scanned_cnt && track->scanned[track->scanned_cnt - 1].end > piece.start) {
		pp_file_put(piece.file);
		return 0;
	}
	if (!r)
		track->scanned[track->scanned_cnt++] = piece;
	return r == -ENOENT ? 0 : r;
}

static int read_process(struct pp_track *track, pid_t pid, struct pp_stat *ret_stat)
{
	struct scan scan = {track, pid};
	struct pp_stat before, after;
	int r = pp_proc_stat(pid, &before);

	if (r)
		return r;
	if (is_dead(&before))
		return -ESRCH;
	r = pp_proc_vmas(pid, &track->query, keep_vma, &scan);
	if (r < 0)
		return r;
	r = pp_proc_stat(pid, &after);
	if (r)
		return r;
	if (after.start_time != before.start_time || after.signature != before.signature)
		return -EAGAIN;
	*ret_stat = after;
	return 0;
}

static void update_image(struct pp_image *image, const struct pp_stat *stat, uint64_t now_ns)
{
	memcpy(image->comm, stat->comm, sizeof(image->comm));
	image->start_time = stat->start_time;
	image->start_exact = true;
	image->signature = stat->signature;
	image->scanned_ns = now_ns;
	image->verified_ns = now_ns;
}

static int keep_scan(struct pp_track *track, pid_t pid, const struct pp_stat *stat, uint64_t now_ns)
{
	struct pp_image *image;
	int r = image_of(track, pid, stat, &image);

	if (r)
		return r;
	update_image(image, stat, now_ns);
	/* In the middle of an exec, or of ending, nothing is mapped. */
	if (!track->scanned_cnt && image->space->piece_cnt)
		return 0;
	r = pp_space_own(&image->space);
	if (!r)
		r = pp_space_replace(image->space, track->scanned, track->scanned_cnt, now_ns);
	return r;
}

int pp_track_scan(struct pp_track *track, pid_t pid)
{
	uint64_t now_ns = pp_track_now_ns();
	struct pp_stat stat;
	int r = read_process(track, pid, &stat);

	if (!r && track->perf && pp_images_newest(&track->images, pid)) {
		(void)pp_perf_drain(track->perf);
		if (pp_perf_is_pending(track->perf, pid))
			r = -EAGAIN;
	}
	if (!r)
		r = keep_scan(track, pid, &stat, now_ns);
	forget_scanned(track);
	if (r == -ENOSPC || r == -ENOMEM)
		track->dropped++;
	return r;
}

/* ---------------------------------------------------------------- all of them */

void pp_track_end_gone(struct pp_track *track, uint64_t now_ns)
{
	struct pp_image *image = NULL;

	while ((image = pp_images_next(&track->images, image)))
		if (!image->end_ns && kill(image->pid, 0) < 0 && errno == ESRCH)
			pp_images_end(&track->images, image, now_ns);
}

int pp_track_scan_all(struct pp_track *track)
{
	pid_t *pids;
	size_t cnt;
	int r = pp_proc_pids(track->config.only_pid, &pids, &cnt);

	if (r)
		return r;
	for (size_t i = 0; i < cnt; i++)
		(void)pp_track_scan(track, pids[i]);
	free(pids);
	pp_track_end_gone(track, pp_track_now_ns());
	return 0;
}
