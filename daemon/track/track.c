// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tracker's interface: see track.h for the workload, locking and ownership.
 * Source: this project; the order of opening and scanning, and the repair of what emits no event,
 * were found by experiment (docs/tracking.md).
 */
#include "track.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "track_state.h"

/* User space ends below. */
#define KERNEL_START (1ull << 63)
/* Slices of events that one question may take besides. */
#define SLICES_MORE 4
#define DEPTH_MAX   64 /* of ancestors */

/* ---------------------------------------------------------------- life */

static int watch(const struct pp_track *track, int fd)
{
	struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};

	return epoll_ctl(track->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static int open_fds(struct pp_track *track)
{
	track->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (track->epoll_fd < 0)
		return -errno;
	track->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (track->timer_fd < 0)
		return -errno;
	return watch(track, track->timer_fd);
}

static void read_boot_id(struct pp_track *track)
{
	if (pp_proc_read("/proc/sys/kernel/random/boot_id", track->boot_id,
			 sizeof(track->boot_id)) < 0)
		track->boot_id[0] = 0;
	track->boot_id[strcspn(track->boot_id, "\n")] = 0;
}

/* That perf is refused is no failure: /proc alone then has to do, and stats say why. */
static int open_perf(struct pp_track *track, struct pathprof_error *error)
{
	int r;

	if (track->config.no_perf)
		return 0;
	r = pp_perf_open(&track->perf, track->config.only_pid, NULL, error);
	if (r == -ENOMEM || r == -ESRCH)
		return r;
	track->perf_code = r;
	return r ? 0 : watch(track, pp_perf_fd(track->perf));
}

static unsigned int cpu_cnt(void)
{
	long cnt = sysconf(_SC_NPROCESSORS_ONLN);

	return cnt > 0 ? (unsigned int)cnt : 1;
}

static int init(struct pp_track *track, struct pathprof_error *error)
{
	struct pp_stat stat;
	int r;

	read_boot_id(track);
	/* before any child begins, which would have the file, too */
	(void)pp_kernel_names_open(&track->kernel, "/proc/kallsyms", !track->config.only_pid,
				   track->boot_id);
	r = pathprof_mapped_files_init(&track->files);
	if (!r)
		r = pp_images_init(&track->images);
	if (!r)
		r = pp_reader_new(&track->reader);
	if (!r)
		r = pp_idents_new(&track->idents, track->reader);
	if (!r)
		r = open_fds(track);
	if (r)
		return pathprof_fail(error, r, "tracker: %s", strerror(-r));
	if (track->config.only_pid && pp_proc_stat(track->config.only_pid, &stat))
		return pathprof_fail(error, -ESRCH, "process %d: no such process",
				     track->config.only_pid);
	r = open_perf(track, error);
	return r || track->config.begin_later ? r : pp_track_begin(track);
}

int pp_track_begin(struct pp_track *track)
{
	int r = track->perf ? pp_track_scan_all(track) : 0;

	track->is_behind = r == -EBUSY;
	/* what the beginning took is not held against what comes */
	pp_pace_init(&track->pace, cpu_cnt(), pp_monotonic_ns());
	return track->is_behind ? 0 : r;
}

int pp_track_new(struct pp_track **ret_track, const struct pp_track_config *config,
		 struct pathprof_error *error)
{
	struct pp_track *track = calloc(1, sizeof(*track));
	long tick_rate = sysconf(_SC_CLK_TCK);
	int r;

	if (!track)
		return pathprof_fail(error, -ENOMEM, "tracker: %s", strerror(ENOMEM));
	track->config = *config;
	track->epoll_fd = -EBADF;
	track->timer_fd = -EBADF;
	pp_pace_init(&track->pace, cpu_cnt(), pp_monotonic_ns());
	track->tick_ns = 1000000000ull / (uint64_t)(tick_rate > 0 ? tick_rate : 100);
	r = init(track, error);
	if (r) {
		pp_track_free(track);
		return r;
	}
	if (error)
		error->text[0] = 0;
	*ret_track = track;
	return 0;
}

void pp_track_free(struct pp_track *track)
{
	if (!track)
		return;
	pp_perf_free(track->perf);
	pp_cgroups_free(track->cgroups);
	if (track->images.buckets)
		pp_images_release(&track->images);
	if (track->files.buckets)
		pathprof_mapped_files_release(&track->files);
	pp_idents_free(track->idents);
	pp_reader_free(track->reader);
	pp_kernel_names_free(track->kernel);
	if (track->timer_fd >= 0)
		close(track->timer_fd);
	if (track->epoll_fd >= 0)
		close(track->epoll_fd);
	free(track->scanned);
	free(track);
}

int pp_track_fd(struct pp_track *track)
{
	return track->epoll_fd;
}

/* ---------------------------------------------------------------- dispatch */

/* The leader's exit event comes although other threads may run on. */
static bool is_alive(struct pp_track *track, const struct pp_image *image)
{
	struct pp_stat stat;

	if (image != pp_images_newest(&track->images, image->pid))
		return false;
	if (kill(image->pid, 0) < 0 && errno == ESRCH)
		return false;
	return !pp_proc_stat(image->pid, &stat) && pp_track_is_same(track, image, &stat) &&
	       !pp_stat_is_dead(&stat);
}

static void expire(struct pp_track *track, uint64_t now_ns)
{
	struct pp_image *image;

	while (now_ns > PATHPROF_SPACE_GRACE_NS &&
	       (image = pp_images_ended_before(&track->images, now_ns - PATHPROF_SPACE_GRACE_NS))) {
		if (is_alive(track, image))
			pp_images_revive(&track->images, image);
		else
			pp_images_remove(&track->images, image);
	}
	while (track->images.image_cnt > PP_IMAGES_MAX &&
	       (image = pp_images_ended_before(&track->images, UINT64_MAX)))
		pp_images_remove(&track->images, image);
}

/* A CPU that came online may be refused: what starts there is found by /proc alone. */
static void follow_cpus(struct pp_track *track, uint64_t now_ns)
{
	int r = pp_perf_update_cpus(track->perf, NULL);

	if (r > 0) {
		track->lost_ns = now_ns;
		track->is_behind = true;
	} else if (r == -EACCES || r == -EPERM) {
		track->perf_code = r;
	}
}

static void sweep(struct pp_track *track, uint64_t now_ns)
{
	if (now_ns < track->sweep_ns)
		return;
	track->sweep_ns = now_ns + PP_SWEEP_INTERVAL_NS;
	pp_pace_start(&track->pace);
	if (track->perf)
		follow_cpus(track, now_ns);
	if (!track->perf || track->config.only_pid)
		pp_track_end_gone(track, now_ns);
	expire(track, now_ns);
	pp_track_bound_spaces(track, now_ns);
	pathprof_mapped_files_sweep(&track->files);
	pp_pace_stop(&track->pace);
}

/*
 * Call after events were lost. A process that is asked about is read anew then (catch_up); this
 * finds those that nobody can ask about, because the tree they belong to does not know them: all
 * of these, as time allows.
 */
static void resync(struct pp_track *track, uint64_t now_ns)
{
	if (!track->is_behind || now_ns < track->resync_ns)
		return;
	track->is_behind = false;
	track->resync_ns = now_ns + PP_SWEEP_INTERVAL_NS;
	if (track->config.only_pid)
		track->is_behind = pp_track_scan_all(track) != 0;
	else
		pp_track_end_gone(track, now_ns);
}

/* Wakes the event loop for what no descriptor announces; an idle system is left in peace. */
static void arm_timer(struct pp_track *track)
{
	const struct pp_image *first = track->images.ended_first;
	uint64_t due_ns = first ? first->end_ns + PATHPROF_SPACE_GRACE_NS : 0;
	struct itimerspec timer = {0};

	if (track->is_behind && (!due_ns || track->resync_ns < due_ns))
		due_ns = track->resync_ns;
	if (due_ns && due_ns < track->sweep_ns)
		due_ns = track->sweep_ns;
	if (track->paused_ns && (!due_ns || track->paused_ns < due_ns))
		due_ns = track->paused_ns;
	/* what is left of this dispatch: at once */
	else if (!track->paused_ns && track->perf && pp_perf_is_ready(track->perf))
		due_ns = 1;
	if (due_ns == track->armed_ns)
		return;
	track->armed_ns = due_ns;
	timer.it_value.tv_sec = (time_t)(due_ns / 1000000000ull);
	timer.it_value.tv_nsec = (long)(due_ns % 1000000000ull);
	timerfd_settime(track->timer_fd, TFD_TIMER_ABSTIME, &timer, NULL);
}

/* The rings are left to fill up: what the kernel drops then costs nobody anything. */
static void pause_events(struct pp_track *track, uint64_t now_ns)
{
	track->paused_ns = pp_pace_due(&track->pace, 2 * (int64_t)PP_PACE_SLICE_NS);
	track->drops[PP_TRACK_DROP_CPU_TIME] += pp_perf_discard(track->perf);
	track->lost_ns = now_ns;
	track->is_behind = true;
	epoll_ctl(track->epoll_fd, EPOLL_CTL_DEL, pp_perf_fd(track->perf), NULL);
}

/* The rings hold only the oldest events of the pause, which tell nothing without the later ones. */
static int resume_events(struct pp_track *track, uint64_t now_ns)
{
	int r = watch(track, pp_perf_fd(track->perf));

	if (r)
		return r;
	track->paused_ns = 0;
	track->drops[PP_TRACK_DROP_CPU_TIME] += pp_perf_discard(track->perf);
	track->lost_ns = now_ns;
	track->is_behind = true;
	return 0;
}

/* A slice of the events that are there. */
static void apply_some(struct pp_track *track, uint64_t now_ns)
{
	const uint64_t end_ns = now_ns + PP_PACE_SLICE_NS;

	/* an idle system is not worth two looks at the clock */
	if (!pp_perf_is_ready(track->perf) && !pp_perf_has_records(track->perf)) {
		(void)pp_perf_drain(track->perf);
		return;
	}
	pp_pace_start(&track->pace);
	/* those that an earlier look has left say nothing of what has come since */
	do {
		if (!pp_perf_is_ready(track->perf))
			(void)pp_perf_drain(track->perf);
		pp_perf_apply(track->perf, 16, pp_track_apply, track);
	} while (pp_monotonic_ns() < end_ns &&
		 (pp_perf_is_ready(track->perf) || pp_perf_has_records(track->perf)));
	pp_pace_stop(&track->pace);
	pp_track_pay_reader(track);
}

static void read_events(struct pp_track *track)
{
	uint64_t now_ns = pp_monotonic_ns();

	if (track->paused_ns && (now_ns < track->paused_ns || resume_events(track, now_ns)))
		return;
	if (pp_pace_left(&track->pace, now_ns) > 0)
		apply_some(track, now_ns);
	if (track->pace.left_ns <= 0)
		pause_events(track, now_ns);
}

int pp_track_dispatch(struct pp_track *track)
{
	uint64_t now_ns, expired_cnt;

	if (track->perf)
		read_events(track);
	now_ns = pp_monotonic_ns();
	sweep(track, now_ns);
	resync(track, now_ns);
	if (track->armed_ns && track->armed_ns <= now_ns &&
	    read(track->timer_fd, &expired_cnt, sizeof(expired_cnt)) > 0)
		track->armed_ns = 0;
	arm_timer(track);
	return 0;
}

/* ---------------------------------------------------------------- look-ups */

/* A known address space may be wrong in parts, so it is read again at intervals. */
static bool wants_rescan(const struct pp_track *track, const struct pp_image *image,
			 uint64_t now_ns)
{
	if (now_ns <= image->scanned_ns + PP_RESCAN_INTERVAL_NS || now_ns < image->rescan_ns)
		return false;
	return !track->perf || pp_track_is_stale(track, image);
}

/* If the read that took long was of another program, this one gets one try of its own. */
static void forgo_rest(struct pp_image *image, const struct pp_stat *stat)
{
	if (!image->signature || !stat->signature || image->tried == stat->signature)
		return;
	image->tried = stat->signature;
	image->rescan_ns = 0;
}

/*
 * Reads the process from /proc or, if events wait that change what it is, applies them: they know
 * what it was at each moment. False: neither could be done.
 */
static bool read_or_apply(struct pp_track *track, pid_t pid)
{
	int r = pp_track_scan(track, pid);

	if (r != -EAGAIN || !track->perf)
		return r == 0;
	read_events(track);
	return true;
}

/*
 * Checks whether pid still runs what it is known to run, which events tell late or not at all. It
 * is read anew if it does not, and now and then if it does; false: that could not be done.
 */
static bool verify(struct pp_track *track, struct pp_image *image, uint64_t now_ns)
{
	struct pp_stat stat;

	if (image->end_ns || now_ns < image->verified_ns + PP_VERIFY_INTERVAL_NS)
		return true;
	if (pp_proc_stat(image->pid, &stat)) {
		pp_images_end(&track->images, image, now_ns);
		return true;
	}
	if (!pp_track_is_same(track, image, &stat) || stat.signature != image->signature) {
		forgo_rest(image, &stat);
		return read_or_apply(track, image->pid);
	}
	image->verified_ns = now_ns;
	if (wants_rescan(track, image, now_ns))
		(void)pp_track_scan(track, image->pid);
	return true;
}

/* Every event that there was has been applied. */
static bool is_up_to_date(const struct pp_track *track, const struct pp_image *image)
{
	return track->perf && !pp_track_is_stale(track, image) && !pp_perf_is_ready(track->perf);
}

/*
 * Only events tell of a process that began and ended a moment ago. On a busy machine a slice may
 * end before they are reached: some more follow then, within the account of CPU time.
 */
static struct pp_image *newest_of(struct pp_track *track, pid_t pid)
{
	struct pp_image *newest = pp_images_newest(&track->images, pid);

	for (int i = 0; i < SLICES_MORE && !newest && track->perf && !track->paused_ns &&
			(pp_perf_is_ready(track->perf) || pp_perf_has_records(track->perf));
	     i++) {
		read_events(track);
		newest = pp_images_newest(&track->images, pid);
	}
	return newest;
}

static struct pp_image *image_at(struct pp_track *track, pid_t pid, uint64_t time_ns)
{
	struct pp_image *newest = newest_of(track, pid);

	if (!newest)
		(void)pp_track_scan(track, pid);
	else if (!is_up_to_date(track, newest) && !verify(track, newest, pp_monotonic_ns()))
		return NULL;
	newest = pp_images_at(&track->images, pid, time_ns);
	if (newest)
		newest->asked_ns = track->sweep_ns; /* to the second will do */
	return newest;
}

static bool descends(pid_t pid, pid_t ancestor)
{
	struct pp_stat stat;

	for (int depth = 0; pid > 0 && pid != ancestor && depth < DEPTH_MAX; depth++)
		pid = pp_proc_stat(pid, &stat) ? 0 : stat.ppid;
	return pid == ancestor;
}

/* By /proc; each sample of a clock that sees all programs asks. */
static bool is_seen_to_descend(struct pp_track *track, pid_t pid)
{
	struct pp_view *view = &track->views[(uint32_t)pid % PP_VIEW_CNT];
	uint64_t now_ns = pp_monotonic_ns();

	if (view->pid != pid || now_ns >= view->until_ns)
		*view = (struct pp_view){pid, descends(pid, track->config.only_pid),
					 now_ns + PP_VIEW_NS};
	return view->is_in;
}

bool pp_track_in_view(struct pp_track *track, pid_t pid)
{
	if (!track->config.only_pid || pid == track->config.only_pid)
		return true;
	return track->perf ? pp_images_newest(&track->images, pid) != NULL
			   : is_seen_to_descend(track, pid);
}

const struct pp_track_process *pp_track_process_at(struct pp_track *track, pid_t pid,
						   uint64_t time_ns)
{
	struct pp_image *image = image_at(track, pid, time_ns);
	const struct pp_image_detail *detail = image ? pp_track_detail(track, image) : NULL;

	return detail ? &detail->process : NULL;
}

const struct pp_track_process *pp_track_process(struct pp_track *track, pid_t pid)
{
	return pp_track_process_at(track, pid, 0);
}

/* mremap and munmap emit no event, and a full memory bound drops some: /proc knows better. */
static void repair(struct pp_track *track, struct pp_image *image)
{
	uint64_t now_ns = pp_monotonic_ns();

	if (image->end_ns || now_ns < image->repair_ns ||
	    image != pp_images_newest(&track->images, image->pid))
		return;
	if (now_ns > image->repair_ns + PP_REPAIR_LAST_NS)
		image->repair_wait_ns = 0;
	image->repair_wait_ns =
		image->repair_wait_ns ? 2 * image->repair_wait_ns : PP_REPAIR_FIRST_NS;
	if (image->repair_wait_ns > PP_REPAIR_LAST_NS)
		image->repair_wait_ns = PP_REPAIR_LAST_NS;
	image->repair_ns = now_ns + image->repair_wait_ns;
	track->repairs++;
	(void)pp_track_scan(track, image->pid);
}

/* How long ago it began, at most: time suspended counts as if all came after the beginning. */
static uint64_t age_ns(const struct pp_track *track, const struct pp_image *image)
{
	uint64_t up_ns = pp_monotonic_ns() + pp_track_suspended_ns();
	uint64_t start_ns = image->start_time * track->tick_ns;

	if (image->exec_cnt && image->begin_ns > start_ns)
		start_ns = image->begin_ns;
	return up_ns > start_ns ? up_ns - start_ns : 0;
}

/*
 * CLOCK_REALTIME when the process started, or executed this program: names that were written before
 * are another's. Less what ticks and file times may be off.
 */
static int64_t started_s(const struct pp_track *track, const struct pp_image *image)
{
	return pp_realtime_ns() / 1000000000 - (int64_t)(age_ns(track, image) / 1000000000) - 2;
}

/* Whether it is time again to look for the names of the image's generated code; makes the map. */
static bool is_jit_due(struct pp_track *track, struct pp_image_detail *detail)
{
	uint64_t now_ns = pp_monotonic_ns();

	if (!detail->jit && pp_jit_new(&detail->jit, &track->jit_budget) < 0)
		return false;
	if (now_ns < detail->jit_refresh_ns)
		return false;
	detail->jit_refresh_ns = now_ns + PP_JIT_INTERVAL_NS;
	return true;
}

/* The file of names is opened when code of the process is first met: at its end that is too late.
 */
static void watch_jit(struct pp_track *track, const struct pp_image *image,
		      struct pp_image_detail *detail)
{
	if (!image->end_ns && !detail->jit_watched && is_jit_due(track, detail))
		detail->jit_watched =
			pp_jit_watch(detail->jit, image->pid, started_s(track, image)) == 0;
}

static int locate(struct pp_track *track, struct pp_image *image,
		  const struct pathprof_mapped_piece *piece, uint64_t address,
		  struct pp_location *ret_location)
{
	struct pp_image_detail *detail;

	if (piece->file) {
		*ret_location = (struct pp_location){
			.id = piece->file->id,
			.offset = piece->offset + (address - piece->start),
			.from = piece->file->from,
			.name = piece->file->name,
			.start = piece->start,
			.end = piece->end,
		};
		return 0;
	}
	detail = pp_track_detail(track, image);
	if (!detail)
		return -ENOMEM;
	watch_jit(track, image, detail);
	*ret_location = (struct pp_location){
		.id = detail->jit_id,
		.offset = address,
		.name = detail->jit_name,
		.start = piece->start,
		.end = piece->end,
	};
	return 0;
}

int pp_track_resolve(struct pp_track *track, pid_t pid, uint64_t time_ns, uint64_t address,
		     struct pp_location *ret_location)
{
	struct pp_image *image = image_at(track, pid, time_ns);
	const struct pathprof_mapped_piece *piece;

	if (!image)
		return -ESRCH;
	piece = pathprof_space_find(image->space, time_ns, address);
	if (!piece && address < KERNEL_START) {
		repair(track, image);
		image = pp_images_at(&track->images, pid, time_ns);
		piece = image ? pathprof_space_find(image->space, time_ns, address) : NULL;
	}
	return piece ? locate(track, image, piece, address, ret_location) : -ENOENT;
}

/* ---------------------------------------------------------------- generated code */

/* Names that were read before stay valid when their file is gone. */
static void refresh_jit(struct pp_track *track, const struct pp_image *image,
			struct pp_image_detail *detail)
{
	if (image->end_ns && detail->jit)
		(void)pp_jit_refresh_last(detail->jit);
	else if (!image->end_ns && is_jit_due(track, detail))
		(void)pp_jit_refresh(detail->jit, image->pid, started_s(track, image));
}

/* The image that pid ran when it had this code: now, or before an exec. NULL: forgotten. */
static struct pp_image *image_with(struct pp_track *track, pid_t pid,
				   const struct pathprof_build_id *code)
{
	struct pp_image *image = image_at(track, pid, 0);

	while (image && !(image->detail && pathprof_build_id_equal(&image->detail->jit_id, code)))
		image = image->older;
	return image;
}

int pp_track_jit_symbol(struct pp_track *track, pid_t pid, const struct pathprof_build_id *code,
			uint64_t address, char *name, size_t name_size, uint64_t *ret_start,
			uint64_t *ret_len_bytes)
{
	struct pp_image *image = image_with(track, pid, code);
	struct pp_image_detail *detail = image ? image->detail : NULL;
	struct pp_jit_symbol symbol;
	size_t len_bytes;
	int r;

	if (!detail || !name_size)
		return -ENOENT;
	refresh_jit(track, image, detail);
	r = detail->jit ? pp_jit_find(detail->jit, address, &symbol) : -ENOENT;
	if (r)
		return r;
	len_bytes = strnlen(symbol.name, name_size - 1);
	memcpy(name, symbol.name, len_bytes);
	name[len_bytes] = 0;
	*ret_start = symbol.start;
	*ret_len_bytes = symbol.len_bytes;
	return 0;
}

int pp_track_resolve_kernel(struct pp_track *track, uint64_t address,
			    struct pp_location *ret_location)
{
	struct pp_kernel_function function;
	int r = track->kernel
			? pp_kernel_names_at(track->kernel, address, pp_monotonic_ns(), &function)
			: -EACCES;

	if (r < 0)
		return r;
	*ret_location = (struct pp_location){
		.id = *pp_kernel_names_id(track->kernel),
		.offset = function.offset,
		.name = PATHPROF_KERNEL_NAME,
	};
	return 0;
}

int pp_track_kernel_symbol(struct pp_track *track, uint64_t offset, char *name, size_t name_size,
			   uint64_t *ret_start, uint64_t *ret_len_bytes)
{
	struct pp_kernel_function function;
	int r = track->kernel ? pp_kernel_names_find(track->kernel, offset, &function) : -ENOENT;

	if (r < 0)
		return r;
	snprintf(name, name_size, "%s", function.name);
	*ret_start = function.offset;
	*ret_len_bytes = function.len_bytes;
	return 0;
}

const char *pp_track_drop_name(enum pp_track_drop drop)
{
	static const char *const names[PP_TRACK_DROP_CNT] = {
		[PP_TRACK_DROP_CPU_TIME] = "cpu-time", [PP_TRACK_DROP_MAP_RATE] = "map-rate",
		[PP_TRACK_DROP_SCAN] = "scan",         [PP_TRACK_DROP_PROCESSES] = "processes",
		[PP_TRACK_DROP_MAPPINGS] = "mappings", [PP_TRACK_DROP_FORGOTTEN] = "forgotten",
		[PP_TRACK_DROP_MEMORY] = "memory",     [PP_TRACK_DROP_SILENT] = "silent",
	};

	return (unsigned int)drop < PP_TRACK_DROP_CNT ? names[drop] : "unknown";
}

void pp_track_stats(const struct pp_track *track, struct pp_track_stats *ret_stats)
{
	const struct pp_image *image = NULL;
	struct pp_track_stats stats = {
		.processes = track->images.image_cnt - track->images.ended_cnt,
		.events = track->events,
		.lost = track->lost,
		.repairs = track->repairs,
		.cpu_ns = track->pace.spent_ns - track->reader_paid_ns,
		.child_cpu_ns =
			pp_idents_child_cpu_ns(track->idents) + pp_reader_cpu_ns(track->reader),
		.space_bytes = track->space_bytes,
		.name_bytes = track->files.bytes,
		.jit_bytes = track->jit_budget.bytes,
		.jit_postponed = track->jit_budget.postponed,
		.jit_refused = track->jit_budget.refused,
		.perf = track->perf != NULL,
		.perf_code = track->perf_code,
	};

	memcpy(stats.drops, track->drops, sizeof(stats.drops));

	while ((image = pp_images_next(&track->images, image)))
		if (!image->end_ns)
			stats.mappings += image->space->piece_cnt;
	*ret_stats = stats;
}
