/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state that the parts of the tracker share, how events change it (track_event.c), how a
 * read of /proc does (track_scan.c) and what is told about one process (track_detail.c). See
 * track.h for the workload, locking and ownership.
 */
#ifndef PP_TRACK_STATE_H
#define PP_TRACK_STATE_H

#include "cgroup_tree.h"
#include "track.h"
#include "base/clock.h"
#include "kernel_names.h"
#include "track_ident.h"
#include "track_image.h"
#include "../shared/pace.h"
#include "track_perf.h"
#include "track_reader.h"
#include "pathprof/space.h"

/*
 * How long a process' maps are not read again because an address was not found: twice as long
 * each time, up to a second, and from the beginning after a second without.
 */
#define PP_REPAIR_FIRST_NS 1000000ull
#define PP_REPAIR_LAST_NS  1000000000ull
/* A file of JIT symbols is looked at no more often. */
#define PP_JIT_INTERVAL_NS 50000000ull
/* Without perf: how long a process is believed to be what it was, and its maps to be unchanged. */
#define PP_VERIFY_INTERVAL_NS 20000000ull
#define PP_RESCAN_INTERVAL_NS 1000000000ull
/* Housekeeping, and reading everything anew after lost events. */
#define PP_SWEEP_INTERVAL_NS 1000000000ull
/* A process that maps oftener in a second is read from /proc instead, when somebody asks. */
#define PP_MAPS_A_SECOND 1024
/* The bound on all address spaces together; beyond it those that nobody asks about are dropped. */
#define PP_SPACES_BYTES_MAX (32u << 20)
/*
 * How long a read of one process may take, and how many times as long it is left alone afterwards
 * if it was no short one: so that one process costs a hundredth of a CPU, however many mappings it
 * has. A hundred thousand are read in that time where nothing else runs.
 */
#define PP_SCAN_SHORT_NS 2000000ull
#define PP_SCAN_MOST_NS  100000000ull
#define PP_SCAN_REST     100

/* Without perf: so many answers whether a process is in view are kept, for so long. */
#define PP_VIEW_CNT 256
#define PP_VIEW_NS  1000000000ull

struct pp_view {
	pid_t pid;
	bool is_in;
	uint64_t until_ns;
};

struct pp_track {
	struct pp_track_config config;
	struct pathprof_mapped_files files;
	struct pp_images images;
	struct pp_view views[PP_VIEW_CNT];
	struct pp_reader *reader;
	uint64_t reader_paid_ns; /* CPU time of it that was paid for */
	struct pp_idents *idents;
	struct pp_jit_budget jit_budget;
	struct pp_kernel_names *kernel; /* NULL: /proc/kallsyms did not open */
	struct pp_perf *perf;           /* NULL: /proc only */
	int perf_code;                  /* why not, or why not on each CPU: -errno */
	struct pp_cgroups *cgroups;     /* NULL: nobody came with an id yet */
	int epoll_fd, timer_fd;
	bool is_behind; /* processes of the tree may be missing */
	struct pp_pace pace;
	uint64_t lost_ns;   /* events before this were lost, 0: none so far */
	uint64_t paused_ns; /* events are not read until then; 0: they are */
	size_t space_bytes;
	uint64_t sweep_ns, resync_ns; /* when each is due again */
	uint64_t armed_ns;            /* when the timer goes off, 0: never */
	uint64_t tick_ns;             /* of start times: 1 s / sysconf(_SC_CLK_TCK) */
	char boot_id[40];
	uint64_t events, lost, repairs;
	uint64_t drops[PP_TRACK_DROP_CNT];
	struct pathprof_mapped_piece
		*scanned; /* room for one scan; each holds a reference to its file */
	size_t scanned_cnt, scanned_cap;
};

/* CLOCK_BOOTTIME minus CLOCK_MONOTONIC: the time spent suspended. */
uint64_t pp_track_suspended_ns(void);

/*
 * The file of this identity, origin and name (pathprof_mapped_files_get), with a reference for the
 * caller. A new one takes the share of the user whose process pid is.
 */
int pp_track_file(struct pp_track *track, pid_t pid, const struct pathprof_build_id *id,
		  const struct pathprof_file *from, const char *name,
		  struct pathprof_mapped_file **ret_file);

/*
 * The piece a mapping of pid is, with a reference to its file for the caller. -ENOENT: none that
 * runs; -ENOSPC: no room for its name; -ENOMEM.
 */
int pp_track_piece(struct pp_track *track, pid_t pid, const struct pp_vma *vma,
		   struct pathprof_mapped_piece *ret_piece);

/* Applies one perf record; context is the tracker. */
void pp_track_apply(void *context, const struct pp_perf_record *record);

/* Takes the reader's CPU time since the last call from the account. */
void pp_track_pay_reader(struct pp_track *track);
/*
 * Reads what pid is and has mapped now into its newest image, a new one when it is another
 * process or program than the one known. -ESRCH; -EAGAIN: it changed meanwhile, nothing was kept.
 */
int pp_track_scan(struct pp_track *track, pid_t pid);
/*
 * Reads every process in view, unknown ones first; ends those that are gone. -EBUSY:
 * there was no time for some of the first. Others are read when somebody asks about them.
 */
int pp_track_scan_all(struct pp_track *track);
void pp_track_end_gone(struct pp_track *track, uint64_t now_ns);
/* Whether what is known of image may have been overtaken by something that was not told. */
bool pp_track_is_stale(const struct pp_track *track, const struct pp_image *image);
void pp_track_dropped(struct pp_track *track, int code);
/* Keeps the memory of address spaces within its bound. */
void pp_track_bound_spaces(struct pp_track *track, uint64_t now_ns);
/* Whether stat can be of the process image is of. */
bool pp_track_is_same(const struct pp_track *track, const struct pp_image *image,
		      const struct pp_stat *stat);

/* Fills what is handed out about image. NULL without memory. */
struct pp_image_detail *pp_track_detail(struct pp_track *track, struct pp_image *image);

#endif
