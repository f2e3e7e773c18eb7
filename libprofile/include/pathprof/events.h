/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * From what is stored (paths and edges of a binary) to the events of a distribution
 * (distribution.h): the same thing has the same key in every window, store, host and run.
 *
 *     key_hi   the build-id, hashed: events of one binary stand together
 *     key_lo   the path (start, length, outcomes) or the edge, hashed
 *
 * Keys are hashes of 64 bits each. Among a million events of one binary that two share a key has a
 * chance of 3 in 10^8; their weights would add up.
 *
 * Two builds of one program share nothing by these keys. *Portable* keys do: the function by name
 * and by the shape of its control-flow graph, the place in it by block, so that what a compiler did
 * not touch is the same event, and the share that could be matched is told. See match.h.
 *
 * Pure functions; any thread.
 */
#ifndef PATHPROF_EVENTS_H
#define PATHPROF_EVENTS_H

#include "pathprof/build_id.h"
#include "pathprof/distribution.h"

#ifdef __cplusplus
extern "C" {
#endif

uint64_t pathprof_event_group(const struct pathprof_build_id *id);
/*
 * The same of a binary's code in processes of a program, both as groups: what a library does
 * depends on who uses it. The binary's own group in its own processes, and where the program is
 * not known (0).
 */
uint64_t pathprof_event_group_in(uint64_t group, uint64_t program);

/* weight is the number of times seen: drift needs counts of samples. */
void pathprof_event_of_path(struct pathprof_event *ret_event, uint64_t group, uint64_t start,
			    uint32_t length, uint32_t outcomes, double weight);
/* from_group decides; an edge out of the binary has its own key by to_group. */
void pathprof_event_of_edge(struct pathprof_event *ret_event, uint64_t from_group, uint64_t from,
			    uint64_t to_group, uint64_t to, double weight);

#ifdef __cplusplus
}
#endif

#endif
