/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tables of frames of the files that are mapped (pathprof/unwind.h), made by a child that may do
 * nothing but read the file (../drift/names.h) and kept by build-id.
 *
 * Workload: some thousand look-ups a second among some dozen files; a file is read once. Memory is
 * bounded: the least recently used table goes first. The CPU time of the children is bounded, too:
 * a program that maps ever new files has callers for the first of them only. One owner, the event
 * loop.
 */
#ifndef PP_TABLES_H
#define PP_TABLES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "pathprof/unwind.h"
#include "../track/track.h"

struct pp_tables;

/* -ENOMEM, -errno of the event loop. */
int pp_tables_new(struct pp_tables **ret_tables, sd_event *event, size_t max_bytes);
/* NULL-safe. */
void pp_tables_free(struct pp_tables *tables);

/*
 * The table of the file at that place, which pid maps. -EAGAIN: it is on its way; -ENOENT: there is
 * none to be had. Valid until the next question.
 */
int pp_tables_find(void *context, pid_t pid, const struct pp_location *where,
		   const struct pathprof_unwind_table **ret_table);

/* CPU time of the children. */
uint64_t pp_tables_cpu_ns(const struct pp_tables *tables);

#endif
