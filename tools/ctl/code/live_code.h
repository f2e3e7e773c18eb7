/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds code that cannot be opened under its name: of a program that was deleted or replaced while
 * it runs, of one in memory (memfd), and of a container, which has other names. A live process that
 * ran it still has it, as /proc/PID/exe, or below /proc/PID/root. Only a file with the same
 * identity is accepted.
 *
 * Workload: the store is asked once for the processes that it knows, then a binary that cannot be
 * opened under its name is looked for in those that live. One thread.
 */
#ifndef CTL_LIVE_CODE_H
#define CTL_LIVE_CODE_H

#include "pathprof/code.h"
#include "pathprof/store.h"

struct live_code;

/* Reads nothing yet. store NULL: it knows no process. */
struct live_code *live_code_new(struct pathprof_store *store);
/* NULL-safe. */
void live_code_free(struct live_code *live);

/*
 * -ENOENT: no such process lives, or none of the first 32 with that name mapped has the code, which
 * is then said. name: of the binary, as it was recorded.
 */
int live_code_open(struct live_code *live, struct pathprof_code **ret_code,
		   const struct pathprof_build_id *id, const char *name);

#endif
