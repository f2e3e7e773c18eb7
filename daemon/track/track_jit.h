/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of generated code, from the /tmp/perf-PID.map a JIT compiler writes: "START SIZE NAME",
 * hex. It is appended to while the program runs, and memory is used again, so a later line wins
 * where two overlap.
 *
 * Workload: up to a million lines, looked up a few hundred times a second, read again (from where
 * the last reading ended) when it grew. The file is under the control of the process: it must be
 * a regular file of the process' user or of root, at most PP_JIT_BYTES_MAX of it are read, and
 * what is no such line is passed over.
 *
 * Ownership: the caller owns a map; names belong to it until the next change. Not thread-safe.
 */
#ifndef PP_TRACK_JIT_H
#define PP_TRACK_JIT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PP_JIT_BYTES_MAX   (64u << 20)
#define PP_JIT_SYMBOLS_MAX (1u << 20)

struct pp_jit;

struct pp_jit_symbol {
	uint64_t start, len_bytes;
	const char *name;
};

int pp_jit_new(struct pp_jit **ret_jit);
/* NULL-safe. */
void pp_jit_free(struct pp_jit *jit);
/* Adds the complete lines of text; the number of bytes used, so an unfinished line may follow. */
int pp_jit_add(struct pp_jit *jit, const char *text, size_t len_bytes, size_t *ret_used_bytes);
/* -ENOENT. */
int pp_jit_find(struct pp_jit *jit, uint64_t address, struct pp_jit_symbol *ret_symbol);
/*
 * Reads what pid's map file holds that was not read yet. A file last written before not_before_s
 * (CLOCK_REALTIME) was left by an earlier process of that pid. -ESRCH, -ENOENT, -EPERM, -ESTALE.
 */
int pp_jit_refresh(struct pp_jit *jit, pid_t pid, int64_t not_before_s);

#endif
