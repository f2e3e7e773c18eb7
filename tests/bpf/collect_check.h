/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Declarations shared by the parts of this program, which compares the BPF collector with itself in
 * user space and with a plain model. The same windows go three ways:
 *
 *   program.c   the shipped object, in the kernel, by its test entries
 *   twin.c      the same steps (collect_steps.h), compiled for user space: every record in order
 *               and the whole state are to be equal, bit for bit
 *   model.c     the core's steps called the plain way: every count, definition and context
 *
 * windows.c makes them of real programs' branch stacks, settings.c says under which settings,
 * conform.c compares, figures.c measures what a branch costs and what a sample brings.
 *
 * Workload: ten million branches, a minute. One thread, pinned to one CPU, which shares that CPU's
 * state with the program between runs only. Memory is freed only at the end.
 */
#ifndef COLLECT_CHECK_H
#define COLLECT_CHECK_H

#define PP_KERNEL_TABLES 1

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../daemon/bpf/collect.h"

#define RING_BYTES  (1u << 20)
#define BATCH       PP_COLLECT_GIVEN_MAX /* windows a run of the test entry */
#define DRAIN_STEPS (PP_HPT_MAX / PP_COLLECT_DRAIN_STEP + 1)
#define SEED        20251
#define PROGRAMS    8 /* files of windows, at most */

/* ----------------------------------------------------------------- settings */

struct setting {
	const char *name;
	struct pp_collect_config config;
	uint32_t spaces;        /* address spaces a program has, one window each in turn; 0: 1 */
	uint32_t last_context;  /* numbers given out before */
	uint32_t drain_batches; /* batches from one drain to the next */
	uint32_t ring_batches;  /* batches from one look into the ring to the next; 0: 1 */
	uint32_t least_windows; /* that what it is for takes */
	bool any_length;        /* stacks of 0 to 64 entries, and some that claim more */
	bool spoiled;           /* entries that a processor should not have recorded */
	bool in_drain;          /* windows between a drain's steps as well */
};

extern const struct setting settings[];
extern const size_t setting_cnt; /* the first is what is used unless another is asked for */

/* ------------------------------------------------------------------ windows */

struct windows_file {
	const char *name; /* of the program */
	const struct pathprof_lbr_entry *entry;
	size_t window_cnt;
};

struct windows {
	struct windows_file file[PROGRAMS];
	size_t file_cnt, window_cnt;
};

/* 0, or -errno; what was read stays. */
int windows_read(struct windows *ret_windows, char **paths, int path_cnt);
/* The n-th of a setting, of all programs in turn. */
void windows_make(const struct windows *w, const struct setting *s, uint64_t n,
		  struct pp_collect_given *ret_given);

/* ------------------------------------------------------------------ program */

struct program {
	struct bpf_object *object;
	struct ring_buffer *ring;
	int given_fd, drain_fd;
	uint32_t cpu;
	struct pp_collect_config *config;
	struct pp_collect_state *state; /* of this CPU */
	struct pp_collect_given *given;
	unsigned char *records; /* taken out of the ring, RING_BYTES at most */
	size_t record_bytes;
	uint64_t record_cnt;
};

/* entry: on_given or on_given_raw_tp. 0, or -errno, -ENOTSUP: not a kind that this kernel has. */
int program_open(struct program *ret_program, const char *object, const char *entry);
void program_close(struct program *p);
/* Steps over all that is in given. */
int program_run(const struct program *p);
int program_drain(const struct program *p, uint64_t first);
/* Empties the ring into records. */
int program_take(struct program *p);
/*
 * Prints the number of instructions the verifier processed for each program, and checks the limit.
 */
int program_verify(const char *object, const char *label);

/* --------------------------------------------------------------------- twin */

struct twin_side {
	struct pp_collect_state state;
	unsigned char records[RING_BYTES];
	size_t record_bytes;
	uint64_t ring_bytes; /* that the records take in a ring */
};

extern struct twin_side twin_side;

void twin_begin_as(const struct pp_collect_config *config, uint32_t cpu);
void twin_run(const struct pp_collect_given *given, uint32_t cnt);
void twin_drain(uint64_t first);
/* The ring was emptied. */
void twin_forget(void);

/* -------------------------------------------------------------------- model */

void model_begin(const struct setting *s, uint32_t cpu);
void model_run(const struct pp_collect_given *given, uint32_t cnt);
void model_drain(uint64_t first);
/* Records that came. */
void model_see(const unsigned char *records, size_t len_bytes);
/* The number of different lines since the last drain; if verbose, prints them on standard error. */
uint64_t model_differences(bool verbose);
/* Lines compared so far. */
uint64_t model_lines(void);
/* The first counter that is not what it should be, else -1. */
int model_counters(const struct pathprof_collector_stats *stats);

/* -------------------------------------------------------------------- tests */

__attribute__((format(printf, 2, 3))) void report(const char *name, const char *why, ...);
/* Lines of ok and not ok; windows: of the first setting, others: of each other. */
void conform(struct program *p, const char *entry, const struct windows *w, uint64_t windows,
	     uint64_t others);
void conform_planted(struct program *p, const char *entry, const struct windows *w);
/* Lines that begin with #. */
void figures_speed(struct program *p, const struct windows *w, int rounds);
void figures_bytes(struct program *p, const struct windows *w);

#endif
