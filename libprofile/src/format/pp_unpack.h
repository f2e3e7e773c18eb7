/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Recordings that gzip or zstd packed. Readers go back and forth in a file, so all of it is
 * unpacked first, into a file without a name in TMPDIR (/var/tmp), whatever it is a recording of.
 *
 * Workload: once a recording, some 500 MB a second. The caller owns both descriptors.
 */
#ifndef PP_UNPACK_H
#define PP_UNPACK_H

#include <sys/types.h>

#include "pathprof/error.h"

/*
 * 1: it was packed, and *ret_fd is what was in it, at its beginning; 0: it is not.
 * Negative errno, error filled: it is damaged, it takes more memory than 128 MiB, or there is no
 * room.
 */
int pp_recording_unpack(int fd, const char *name, int *ret_fd, struct pathprof_error *error);

/*
 * The first bytes of a file or pipe, which stay there to be read. How many; 0: none to be had.
 * Fewer than asked for only where it ends there. len_bytes: no more than a pipe holds.
 */
ssize_t pp_recording_peek(int fd, void *ret_bytes, size_t len_bytes);

#endif
