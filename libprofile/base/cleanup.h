/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Releasing what a function owns at the end of its scope: `_cleanup_close_ int fd = -EBADF;`.
 * For daemon and tools: the library unwinds with labels. pp_steal_fd hands ownership on.
 */
#ifndef PP_BASE_CLEANUP_H
#define PP_BASE_CLEANUP_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static inline void pp_cleanup_free(void *p)
{
	free(*(void **)p);
}

static inline void pp_cleanup_fd(const int *fd)
{
	int saved = errno;

	if (*fd >= 0)
		close(*fd);
	errno = saved;
}

static inline void pp_cleanup_file(FILE **file)
{
	if (*file)
		fclose(*file);
}

static inline int pp_steal_fd(int *fd)
{
	int stolen = *fd;

	*fd = -EBADF;
	return stolen;
}

#define _cleanup_(function) __attribute__((cleanup(function)))
#define _cleanup_free_      _cleanup_(pp_cleanup_free)
#define _cleanup_close_     _cleanup_(pp_cleanup_fd)
#define _cleanup_fclose_    _cleanup_(pp_cleanup_file)

#endif
