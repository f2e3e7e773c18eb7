/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* What the rest of src/code needs of build_id.c beyond the public header. */
#ifndef PP_BUILD_ID_H
#define PP_BUILD_ID_H

#include "pathprof/build_id.h"

/*
 * As pathprof_build_id_read_file, of an open regular file: who opened it knows that identity and
 * contents belong to the same file. The descriptor stays the caller's. path is for the error only.
 */
int pp_build_id_read_fd(struct pathprof_build_id *ret_id, int fd, const char *path,
			struct pathprof_error *error);

/* Opens a regular file for reading, never blocking on a FIFO; a descriptor or -errno. */
int pp_open_regular(const char *path, struct pathprof_error *error);

#endif
