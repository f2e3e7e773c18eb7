/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The file of a build from debuginfod: servers that distributions and others run, which have
 * programs by build-id (debuginfod_find_executable(3)). They are asked only where DEBUGINFOD_URLS
 * names some. The file is not trusted: the caller compares its build-id with the wanted one.
 *
 * Workload: once a profile of a build whose file is not here; then it is in the client's cache. The
 * client library is loaded when it is needed, so that nothing depends on it.
 */
#ifndef HUB_DEBUGINFOD_H
#define HUB_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>

#include "pathprof/build_id.h"

/* The file in the client's cache. Gives up after a minute without all of it, and on files above
 * 2 GiB. */
bool hub_debuginfod_find(const struct pathprof_build_id *id, char *ret_path, size_t size);

#endif
