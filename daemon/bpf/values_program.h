/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The probes that read parameters: loading values.bpf.c, attaching it to places of files for one
 * process after the other, and reading its messages.
 *
 * Workload: up to 64 places, a handful of processes; up to some 100,000 messages a second, drained
 * every few milliseconds. One thread, the event loop. Whoever is probed pays, nobody else: each
 * process has probes of its own.
 *
 * Two ways to attach: a multi link (kernel 6.6; CAP_BPF and CAP_PERFMON) and perf's (any kernel;
 * CAP_SYS_ADMIN where it is new). The first that works is taken.
 */
#ifndef PP_BPF_VALUES_PROGRAM_H
#define PP_BPF_VALUES_PROGRAM_H

#include <stdint.h>
#include <sys/types.h>

#include "pathprof/compress.h"
#include "pathprof/error.h"

#define PP_VALUES_PLACE_MAX 64

struct pp_values_program;

/* Borrowed while the program lives. */
struct pp_values_place {
	const char *path;
	uint64_t offset;   /* in the file, of the instruction to probe */
	uint32_t argument; /* 1 to 6 */
};

/* Counts since the start. */
struct pp_values_counts {
	uint64_t executed, same;
};

/* Names of what is lost, in the order of pp_values_program_drops(); NULL behind the last. */
extern const char *const pp_values_drop_names[];
#define PP_VALUES_DROPS_MAX 8

struct pp_values_sink {
	void *context;
	void (*message)(void *context, uint32_t place, uint64_t value, uint64_t count);
};

/*
 * Loads the program and probes pid. -EINVAL: a compressor that a kernel has no room for; -EPERM,
 * -EACCES: no right, and error says to what.
 */
int pp_values_program_open(struct pp_values_program **ret_program,
			   const struct pp_values_place *places, uint32_t place_cnt,
			   const struct pathprof_compress_form *form, pid_t pid,
			   struct pathprof_error *error);
/* NULL-safe. */
void pp_values_program_free(struct pp_values_program *program);

/* Readable when a process began or ended: then drain. */
int pp_values_program_fd(const struct pp_values_program *program);
/* Hands over the messages in the ring, and follows processes that began and ended. */
void pp_values_program_drain(struct pp_values_program *program, const struct pp_values_sink *sink);
/* Takes all probes away, then hands over the rest. */
void pp_values_program_stop(struct pp_values_program *program, const struct pp_values_sink *sink);

struct pp_values_counts pp_values_program_counts(const struct pp_values_program *program,
						 uint32_t place);
void pp_values_program_drops(const struct pp_values_program *program,
			     uint64_t ret_drops[PP_VALUES_DROPS_MAX]);
/* "uprobe.multi" or "perf". */
const char *pp_values_program_way(const struct pp_values_program *program);
/* Processes that could not be probed, and why the first could not ("" none). */
uint64_t pp_values_program_unprobed(const struct pp_values_program *program, const char **ret_why);

#endif
