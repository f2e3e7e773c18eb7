/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The identity of code: the GNU build-id of its ELF file, never a path name or a load address, so
 * that profiles of two hosts, two runs or two load addresses add up.
 *
 * A file without a build-id, and code that is no file (JIT), gets an identity of the same form
 * made from what is known of it; `kind` says so.
 */
#ifndef PATHPROF_BUILD_ID_H
#define PATHPROF_BUILD_ID_H

#include <stddef.h>
#include <stdint.h>

#include "pathprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PATHPROF_BUILD_ID_MAX 20

enum pathprof_id_kind {
	PATHPROF_ID_NONE = 0,
	PATHPROF_ID_BUILD_ID = 1, /* the ELF note */
	PATHPROF_ID_FILE = 2,     /* device, inode, size and mtime of a file without one */
	PATHPROF_ID_JIT = 3,      /* generated code of one process */
};

struct pathprof_build_id {
	uint8_t bytes[PATHPROF_BUILD_ID_MAX];
	uint8_t len_bytes; /* 0..20 */
	uint8_t kind;      /* enum pathprof_id_kind */
};

#define PATHPROF_BUILD_ID_TEXT_LEN (2 * PATHPROF_BUILD_ID_MAX + 1)

/* Reads the note of an ELF file (or makes a PATHPROF_ID_FILE identity). -errno, error filled. */
int pathprof_build_id_read_file(struct pathprof_build_id *ret_id, const char *path,
				struct pathprof_error *error);
/* The same of an open regular file; path is for the error only. */
int pathprof_build_id_read_fd(struct pathprof_build_id *ret_id, int fd, const char *path,
			      struct pathprof_error *error);
/* The same for an ELF image in memory (the vDSO). -ENOENT when it has no note, -EINVAL if bad. */
int pathprof_build_id_read_memory(struct pathprof_build_id *ret_id, const void *image,
				  size_t len_bytes);
/* An identity made from any bytes that identify (a hash of them). */
void pathprof_build_id_make(struct pathprof_build_id *ret_id, enum pathprof_id_kind kind,
			    const void *bytes, size_t len_bytes);
int pathprof_build_id_equal(const struct pathprof_build_id *a, const struct pathprof_build_id *b);
/*
 * Whether a recording means this file. Its writers (perf, simpleperf) have 20 bytes for each
 * build-id, fill up shorter ones with zeroes and do not say so.
 */
int pathprof_build_id_is_of(const struct pathprof_build_id *recorded,
			    const struct pathprof_build_id *file);
/* Lower-case hex; text holds PATHPROF_BUILD_ID_TEXT_LEN bytes. Returns text. */
char *pathprof_build_id_text(const struct pathprof_build_id *id, char *text);

#ifdef __cplusplus
}
#endif

#endif
