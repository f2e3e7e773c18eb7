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

#include "base/clock.h"
#include "base/vector.h"

uint64_t pp_track_suspended_ns(void)
{
	uint64_t monotonic_ns = pp_monotonic_ns();
	uint64_t boot_ns = pp_clock_ns(CLOCK_BOOTTIME);

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

/* Without perf an exec shows in the addresses of code and stack only. */
static bool has_execed(const struct pp_image *image, const struct pp_stat *stat)
{
	return image->signature && stat->signature && image->signature != stat->signature;
}

bool pp_track_is_stale(const struct pp_track *track, const struct pp_image *image)
{
	return image->is_stale || image->sure_ns < track->lost_ns;
}

/* The last time at which it surely ran what it is known to run. A fork may never have been read. */
static uint64_t last_known_ns(const struct pp_image *image)
{
	return image->verified_ns > image->begin_ns ? image->verified_ns : image->begin_ns;
}

/* Figures known of the program may belong to the one that ran before an exec. */
static void forget_program(struct pp_image *image)
{
	pathprof_mapped_file_put(image->exe);
	image->exe = NULL;
	image->is_complete = false;
}

/* The newest image of pid that stat is of: the one known, or a new one. */
static int image_of(struct pp_track *track, pid_t pid, const struct pp_stat *stat,
		    struct pp_image **ret_image)
{
	struct pp_image *known = pp_images_newest(&track->images, pid), *image;
	int r;

	if (known && pp_track_is_same(track, known, stat)) {
		bool is_told = track->perf && !pp_track_is_stale(track, known);

		if (is_told || !has_execed(known, stat)) {
			if (!is_told && !known->signature)
				forget_program(known);
			pp_images_revive(&track->images, known);
			*ret_image = known;
			return 0;
		}
		r = pp_images_add(&track->images, pid, last_known_ns(known) + 1, NULL, &image);
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
		pathprof_mapped_file_put(track->scanned[i].file);
	track->scanned_cnt = 0;
}

static int reserve_scanned(struct pp_track *track)
{
	if (track->scanned_cnt == PATHPROF_SPACE_PIECES_MAX)
		return -ENOSPC;
	return pp_grow(&track->scanned, track->scanned_cnt, &track->scanned_cap);
}

struct scan {
	struct pp_track *track;
	pid_t tid; /* whose mappings /proc shows */
};

static int keep_vma(void *context, const struct pp_vma *vma)
{
	struct scan *scan = context;
	struct pp_track *track = scan->track;
	struct pathprof_mapped_piece piece;
	int r = reserve_scanned(track);

	if (r)
		return r;
	r = pp_track_piece(track, scan->tid, vma, &piece);
	/* A name for which there is no room costs its mapping only. */
	if (r == -ENOSPC) {
		pp_track_dropped(track, r);
		return 0;
	}
	/* A mapping seen twice, because the list moved while it was read. */
	if (!r && track->scanned_cnt && track->scanned[track->scanned_cnt - 1].end > piece.start) {
		pathprof_mapped_file_put(piece.file);
		return 0;
	}
	if (!r)
		track->scanned[track->scanned_cnt++] = piece;
	return r == -ENOENT ? 0 : r;
}

static int read_process(struct pp_track *track, pid_t pid, struct pp_stat *ret_stat)
{
	struct scan scan = {.track = track};
	uint64_t until_ns = pp_monotonic_ns() + PP_SCAN_MOST_NS;
	struct pp_stat before, after;
	int r = pp_proc_stat(pid, &before);

	if (r)
		return r;
	if (pp_stat_is_dead(&before))
		return -ESRCH;
	scan.tid = before.tid;
	r = pp_reader_vmas(track->reader, scan.tid, until_ns, keep_vma, &scan);
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

/* The image stays stale until its mappings are kept, too. */
static void update_image(struct pp_image *image, const struct pp_stat *stat, uint64_t now_ns)
{
	memcpy(image->comm, stat->comm, sizeof(image->comm));
	image->start_time = stat->start_time;
	image->start_exact = true;
	image->signature = stat->signature;
	image->scanned_ns = now_ns;
	image->verified_ns = now_ns;
	image->is_stale = true;
}

static int keep_scan(struct pp_track *track, pid_t pid, const struct pp_stat *stat, uint64_t now_ns)
{
	struct pp_image *image;
	int r = image_of(track, pid, stat, &image);

	if (r)
		return r;
	update_image(image, stat, now_ns);
	/* In the middle of an exec, or of its end, a process has no mappings. */
	if (!track->scanned_cnt && image->space->piece_cnt)
		return 0;
	r = pathprof_space_own(&image->space);
	if (!r)
		r = pathprof_space_find_copies(image->space, &track->scanned, &track->scanned_cnt,
					       &track->scanned_cap);
	if (!r)
		r = pathprof_space_replace(image->space, track->scanned, track->scanned_cnt,
					   now_ns);
	if (!r) {
		image->sure_ns = now_ns;
		image->is_stale = false;
	}
	return r;
}

void pp_track_dropped(struct pp_track *track, int code)
{
	track->drops[code == -ENOSPC                    ? PP_TRACK_DROP_MAPPINGS
		     : code == -ETIME || code == -EBUSY ? PP_TRACK_DROP_SCAN
		     : code == -ETIMEDOUT               ? PP_TRACK_DROP_SILENT
							: PP_TRACK_DROP_MEMORY]++;
}

void pp_track_pay_reader(struct pp_track *track)
{
	uint64_t cpu_ns = pp_reader_cpu_ns(track->reader);

	pp_pace_pay(&track->pace, cpu_ns - track->reader_paid_ns);
	track->reader_paid_ns = cpu_ns;
}

static int scan(struct pp_track *track, pid_t pid)
{
	uint64_t now_ns = pp_monotonic_ns();
	struct pp_stat stat;
	int r = read_process(track, pid, &stat);

	/* while they are not read, events that wait are lost and this scan stands for them */
	if (!r && track->perf && !track->paused_ns && pp_images_newest(&track->images, pid)) {
		(void)pp_perf_drain(track->perf);
		if (pp_perf_is_pending(track->perf, pid))
			r = -EAGAIN;
	}
	if (!r)
		r = keep_scan(track, pid, &stat, now_ns);
	forget_scanned(track);
	return r;
}

/*
 * A read that took long, by its CPU time or by waiting for the process' own locks, is repeated only
 * after a rest.
 */
static void rest_after_scan(struct pp_track *track, pid_t pid, uint64_t begin_ns, uint64_t cpu_ns)
{
	struct pp_image *image = pp_images_newest(&track->images, pid);
	uint64_t now_ns = pp_monotonic_ns(), took_ns = now_ns - begin_ns;

	/* it is cut off there; what is beyond was spent waiting for a CPU, for which the process
	   can do nothing: a second of that must not hide it for a minute and a half */
	if (took_ns > PP_SCAN_MOST_NS)
		took_ns = PP_SCAN_MOST_NS;
	if (image && (cpu_ns > PP_SCAN_SHORT_NS || took_ns > PP_SCAN_MOST_NS / 5))
		image->rescan_ns = now_ns + took_ns * PP_SCAN_REST;
}

static bool has_time(struct pp_track *track)
{
	return pp_pace_left(&track->pace, pp_monotonic_ns()) > -PP_PACE_DEBT_NS;
}

static bool may_scan(struct pp_track *track, pid_t pid)
{
	const struct pp_image *image = pp_images_newest(&track->images, pid);

	return (!image || pp_monotonic_ns() >= image->rescan_ns) && has_time(track);
}

static uint64_t cpu_ns_of(const struct pp_track *track)
{
	return pp_clock_ns(CLOCK_THREAD_CPUTIME_ID) + pp_reader_cpu_ns(track->reader);
}

int pp_track_scan(struct pp_track *track, pid_t pid)
{
	uint64_t begin_ns = pp_monotonic_ns(), begin_cpu_ns = cpu_ns_of(track);
	bool is_paid;
	int r;

	if (!may_scan(track, pid)) {
		pp_track_dropped(track, -EBUSY);
		return -EBUSY;
	}
	is_paid = pp_pace_start(&track->pace);
	r = scan(track, pid);
	if (is_paid)
		pp_pace_stop(&track->pace);
	rest_after_scan(track, pid, begin_ns, cpu_ns_of(track) - begin_cpu_ns);
	pp_track_pay_reader(track);
	if (r == -ENOSPC || r == -ENOMEM || r == -ETIME || r == -ETIMEDOUT)
		pp_track_dropped(track, r);
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

static void empty_space(struct pp_track *track, struct pp_image *image)
{
	struct pathprof_space *empty;

	if (pathprof_space_new(&empty))
		return;
	pathprof_space_put(image->space);
	image->space = empty;
	image->is_stale = true;
	track->drops[PP_TRACK_DROP_FORGOTTEN]++;
}

static size_t spaces_bytes(const struct pp_track *track)
{
	const struct pp_image *image = NULL;
	size_t bytes = 0;

	/* a space that several share is counted once for each, of its size divided by them */
	while ((image = pp_images_next(&track->images, image)))
		for (const struct pp_image *at = image; at; at = at->older)
			bytes += pathprof_space_bytes(at->space) / at->space->refs;
	return bytes;
}

/* Empties spaces of running processes that have more pieces and that nobody asked about lately. */
static void empty_large(struct pp_track *track, uint32_t piece_cnt, uint64_t asked_before_ns)
{
	struct pp_image *image = NULL;

	while ((image = pp_images_next(&track->images, image)))
		if (image->space->piece_cnt > piece_cnt && image->asked_ns < asked_before_ns)
			empty_space(track, image);
}

void pp_track_bound_spaces(struct pp_track *track, uint64_t now_ns)
{
	uint64_t idle_ns = now_ns > PATHPROF_SPACE_GRACE_NS ? now_ns - PATHPROF_SPACE_GRACE_NS : 0;
	size_t bytes = spaces_bytes(track);
	struct pp_image *ended;

	while (bytes > PP_SPACES_BYTES_MAX &&
	       (ended = pp_images_ended_before(&track->images, UINT64_MAX))) {
		size_t freed = pathprof_space_bytes(ended->space) / ended->space->refs;

		bytes -= freed < bytes ? freed : bytes;
		pp_images_remove(&track->images, ended);
	}
	/* the largest first, and of these what nobody asks about: /proc tells it again */
	for (uint32_t most = PATHPROF_SPACE_PIECES_MAX; most && bytes > PP_SPACES_BYTES_MAX;) {
		most /= 2;
		empty_large(track, most, idle_ns);
		if (spaces_bytes(track) > PP_SPACES_BYTES_MAX)
			empty_large(track, most, UINT64_MAX);
		bytes = spaces_bytes(track);
	}
	track->space_bytes = bytes;
}

static bool is_known(const struct pp_track *track, pid_t pid)
{
	const struct pp_image *image = pp_images_newest(&track->images, pid);

	return image && !image->end_ns;
}

/* Reads processes not known yet, while there is time. -EBUSY: some are left for later. */
static int scan_unknown(struct pp_track *track, const pid_t *pids, size_t cnt)
{
	int code = 0;

	for (size_t i = 0; i < cnt; i++) {
		int r = is_known(track, pids[i]) ? 0 : pp_track_scan(track, pids[i]);

		if (r == -EBUSY || r == -EAGAIN || r == -ETIME)
			code = -EBUSY;
		if (r == -EBUSY && !has_time(track))
			break;
	}
	return code;
}

/* Reads known processes anew where that is due. One that rests keeps no other waiting. */
static void scan_stale(struct pp_track *track, const pid_t *pids, size_t cnt)
{
	for (size_t i = 0; i < cnt && has_time(track); i++)
		if (is_known(track, pids[i]) &&
		    pp_track_is_stale(track, pp_images_newest(&track->images, pids[i])))
			(void)pp_track_scan(track, pids[i]);
}

int pp_track_scan_all(struct pp_track *track)
{
	pid_t *pids;
	size_t cnt;
	int r = pp_proc_pids(track->config.only_pid, &pids, &cnt);

	if (r)
		return r;
	r = scan_unknown(track, pids, cnt);
	if (!r)
		scan_stale(track, pids, cnt);
	free(pids);
	pp_track_end_gone(track, pp_monotonic_ns());
	return r;
}
