/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of generated code, from the /tmp/perf-PID.map a JIT compiler writes: "START SIZE NAME",
 * hex. It is appended to while the program runs, and memory is used again, so a later line wins
 * where two overlap.
 *
 * Workload: up to 160,000 lines, looked up a few hundred times a second, read again (from where
 * the last reading ended) when it grew. The file is under the control of the process: it must be
 * a regular file of the process' user or of root, and what is no such line is passed over.
 *
 * All maps of the machine share one budget, since anybody can write as many files as there are
 * processes, and replace them at will: so much memory for all of them, of which one has a quarter
 * at most, and so much time. The budget of time is refilled as time passes; while it is empty
 * nothing is read, and the names read before stay. One map takes half of the time that is left, so
 * that those after it have some. The last piece of work overdraws it: 64 KiB of text (a
 * millisecond), or one map's lines put in order (some 20 ms).
 *
 * Ownership: the caller owns maps and budget, which outlives them; names belong to their map until
 * the next change. Not thread-safe.
 */
#ifndef PP_TRACK_JIT_H
#define PP_TRACK_JIT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PP_JIT_BYTES_MAX     (64u << 20) /* of memory, all maps together */
#define PP_JIT_MAP_BYTES_MAX (PP_JIT_BYTES_MAX / 4)
#define PP_JIT_TIME_MAX_NS   100000000 /* at once; what is left when nothing was done for a while */
#define PP_JIT_TIME_PPM      20000     /* of the time that passes */
#define PP_JIT_FILES_MAX     64        /* kept open, all maps together */
#define PP_JIT_IDLE_NS       60000000000 /* a map not asked for so long makes room for others */

struct pp_jit_budget {
	uint64_t bytes;      /* held by all maps */
	int64_t left_ns;     /* negative: overdrawn */
	uint64_t last_ns;    /* when left_ns was brought up to date; CLOCK_MONOTONIC */
	struct pp_jit *maps; /* all of them, the one asked for last first */
	uint64_t postponed;  /* times that there was no time left */
	uint64_t idle_ns;    /* 0: PP_JIT_IDLE_NS */
	uint64_t refused;    /* times that there was no memory left */
	uint32_t files;      /* kept open */
};

struct pp_jit;

struct pp_jit_symbol {
	uint64_t start, len_bytes;
	const char *name;
};

/* budget: all zero, for the first one. */
int pp_jit_new(struct pp_jit **ret_jit, struct pp_jit_budget *budget);
/* NULL-safe. */
void pp_jit_free(struct pp_jit *jit);
/* Adds the complete lines of text; the number of bytes used, so an unfinished line may follow.
 * -ENOSPC: no more memory; what was read until then is kept. */
int pp_jit_add(struct pp_jit *jit, const char *text, size_t len_bytes, size_t *ret_used_bytes);
/* -ENOENT; -EAGAIN: nothing is known yet, and no time left to put it in order. */
int pp_jit_find(struct pp_jit *jit, uint64_t address, struct pp_jit_symbol *ret_symbol);
/*
 * Reads what pid's map file holds that was not read yet. A file last written before not_before_s
 * (CLOCK_REALTIME) was left by an earlier process of that pid. -EAGAIN: some of it, as there is no
 * more time; -ENOSPC: no more memory. -ESRCH, -ENOENT, -EPERM, -ESTALE.
 */
int pp_jit_refresh(struct pp_jit *jit, pid_t pid, int64_t not_before_s);
/*
 * Opens pid's map file and keeps it open, so that it can be read when the process is gone and its
 * root with it. While there is no such file its root is kept, since some compilers write the file
 * when the process ends. Once the file is kept this does nothing. Errors as pp_jit_refresh().
 */
int pp_jit_watch(struct pp_jit *jit, pid_t pid, int64_t not_before_s);
/* Reads, for a process that has ended, the rest of the file that was kept, or all of one that it
 * wrote at its end. Errors as pp_jit_refresh(). */
int pp_jit_refresh_last(struct pp_jit *jit);

#endif
