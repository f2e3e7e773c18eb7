/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files that profiled code was mapped from, open for reading: found by identity, whichever process
 * asked first. A file that cannot be opened is not tried again for a while.
 *
 * Workload: tens of files, looked up by the thousand a second. Bounded: when there are too many,
 * all are closed. One thread.
 */
#ifndef PP_PROCESS_CODE_H
#define PP_PROCESS_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "pathprof/code.h"

#define PP_PROCESS_CODE_MAX 256

struct pp_process_codes;

int pp_process_codes_new(struct pp_process_codes **ret_codes);
/* NULL-safe. */
void pp_process_codes_free(struct pp_process_codes *codes);
/* No room for one more: whoever holds handles must let go of them, and then clear. */
bool pp_process_codes_are_full(const struct pp_process_codes *codes);
void pp_process_codes_clear(struct pp_process_codes *codes);

/*
 * The code of that identity, which pid knows by that name. *ret_code is good until clear. -ENOENT:
 * not to be had; -ENOSPC: full.
 */
int pp_process_codes_get(struct pp_process_codes *codes, const struct pathprof_build_id *id,
			 const char *name, pid_t pid, uint64_t now_ns,
			 struct pathprof_code **ret_code);

#endif
