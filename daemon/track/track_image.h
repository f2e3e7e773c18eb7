/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Process images: what one process id ran between a fork or exec and the next. A pid's images
 * stand in a list, newest first, so that a burst is resolved in the image that ran at its time,
 * and a pid that was given to another process never mixes the two.
 *
 * Workload: thousands live, each exec and exit adds one that is kept for the grace time. A hash
 * by pid; the ended ones also stand in one queue in the order they ended, from which they are
 * forgotten: after the grace time, or earlier when there are too many.
 *
 * Ownership: the table owns images, an image its space, references and details. Freed only by
 * pp_images_expire and pp_images_release. Not thread-safe.
 */
#ifndef PP_TRACK_IMAGE_H
#define PP_TRACK_IMAGE_H

#include "track.h"
#include "track_jit.h"
#include "pathprof/space.h"

#define PP_IMAGES_MAX 65536

/* The details of an image that somebody asks about, which few images need. */
struct pp_image_detail {
	struct pp_track_process process; /* as handed out */
	char jit_name[24];
	struct pathprof_build_id jit_id;
	struct pp_jit *jit;      /* NULL: never asked for */
	uint64_t jit_refresh_ns; /* its file is not read again before */
	bool jit_watched;        /* its file is kept open */
};

struct pp_image {
	struct pp_image *next;           /* of the same hash bucket: newest images only */
	struct pp_image *older;          /* what this pid ran before */
	struct pp_image *before, *after; /* in the queue of ended ones */
	pid_t pid;
	uint32_t exec_cnt;
	uint64_t begin_ns;       /* CLOCK_MONOTONIC; 0: before it was first seen */
	uint64_t end_ns;         /* 0: still running */
	uint64_t start_time;     /* clock ticks since boot */
	uint64_t signature;      /* changes with every exec; 0: not known (pp_stat) */
	uint64_t scanned_ns;     /* last read of its maps, 0: never */
	uint64_t verified_ns;    /* last proof that the pid is still this image */
	uint64_t sure_ns;        /* nothing that was lost before this matters */
	uint64_t asked_ns;       /* last look-up, 0: never */
	uint64_t rescan_ns;      /* its maps are not read again before: that takes long */
	uint64_t tried;          /* signature of another program found there, for which they were */
	uint64_t maps_ns;        /* when the second began that maps_cnt counts */
	uint32_t maps_cnt;       /* mappings told of in it */
	bool is_stale;           /* mappings were passed over, or its address space was another's */
	bool is_mapped;          /* its first mapping was told of, and kept if there was room */
	uint64_t repair_ns;      /* no further repair before */
	uint64_t repair_wait_ns; /* how long that was from the last one */
	bool is_headless;        /* its first thread has ended */
	bool start_exact;        /* false: start_time is estimated from the time of the fork */
	bool is_complete;        /* start time and container were read, or it was too late */
	bool container_exact;    /* false: it is that of whom it was forked from, or not known */
	struct pathprof_space *space;
	struct pathprof_mapped_file *exe; /* NULL: not known */
	struct pathprof_mapped_file
		*container; /* interned as a file without identity; NULL: not known */
	struct pp_image_detail *detail;
	char comm[16];
};

struct pp_images {
	struct pp_image **buckets;
	size_t bucket_cnt; /* a power of two */
	size_t image_cnt, ended_cnt;
	struct pp_image *ended_first, *ended_last;
};

int pp_images_init(struct pp_images *images);
void pp_images_release(struct pp_images *images);

/* The newest image of pid, or NULL. */
struct pp_image *pp_images_newest(const struct pp_images *images, pid_t pid);
/* The image pid ran at time_ns (0: now); NULL when none is known for that time. */
struct pp_image *pp_images_at(const struct pp_images *images, pid_t pid, uint64_t time_ns);
/*
 * A new newest image of pid, running since begin_ns, which ends the one before. space NULL: an
 * empty one; otherwise it is shared. -ENOMEM; -ENOSPC when there are too many live ones.
 */
int pp_images_add(struct pp_images *images, pid_t pid, uint64_t begin_ns,
		  struct pathprof_space *space, struct pp_image **ret_image);
void pp_images_end(struct pp_images *images, struct pp_image *image, uint64_t end_ns);
/* Takes it back that the image ended. */
void pp_images_revive(struct pp_images *images, struct pp_image *image);
/* Forgets one image. */
void pp_images_remove(struct pp_images *images, struct pp_image *image);
/* The one that ended first, when that was before time_ns; else NULL. */
struct pp_image *pp_images_ended_before(const struct pp_images *images, uint64_t time_ns);
/* The next newest image after *at (NULL: the first) in no order; NULL at the end. */
struct pp_image *pp_images_next(const struct pp_images *images, const struct pp_image *at);

#endif
