/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Names in parcels: what the functions are called in which a parcel's rows lie, and which paths of
 * two builds are the same (portable.h), for those who have none of the files. A store adds what it
 * knows itself (parcel_store.h); a namer adds what the files say that lie where they did.
 *
 * Names are the same every five minutes, so who sends parcels one after the other says them once:
 *
 *     pathprof_store_parcel(store, slot, &parcel, &error);
 *     pathprof_namer_name(namer, &parcel);      leaves out what was told, adds what was not
 *     ... it was taken ...
 *     pathprof_namer_told(namer, &parcel);
 *
 * Workload: some thousand functions of some hundred builds in all; a file is opened when one of its
 * functions runs for the first time. Files are read by a process apart. One thread, one owner.
 */
#ifndef PATHPROF_PARCEL_NAMES_H
#define PATHPROF_PARCEL_NAMES_H

#include "pathprof/parcel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names of a build, added when new; until the next one is added. NULL: no memory. */
struct pathprof_parcel_names *pathprof_parcel_names_of(struct pathprof_parcel *parcel,
						       const struct pathprof_build_id *id);
/*
 * Each copies what it is given; names are one of the parcel's. -ENOMEM; -E2BIG: the parcel, all its
 * builds together, may have no more, or a name is longer than PATHPROF_PARCEL_FUNCTION_BYTES: it is
 * left out.
 */
int pathprof_parcel_add_function(struct pathprof_parcel *parcel,
				 struct pathprof_parcel_names *names, uint64_t start,
				 uint64_t len_bytes, const char *name);
int pathprof_parcel_add_portable(struct pathprof_parcel *parcel,
				 struct pathprof_parcel_names *names,
				 const struct pathprof_parcel_portable *portable);
void pathprof_parcel_names_release(struct pathprof_parcel *parcel);

struct pathprof_namer;

/* -ENOMEM. */
int pathprof_namer_new(struct pathprof_namer **ret_namer);
/* NULL-safe. */
void pathprof_namer_free(struct pathprof_namer *namer);
/* Functions that cannot be named stay without a name. -ENOMEM. */
int pathprof_namer_name(struct pathprof_namer *namer, struct pathprof_parcel *parcel);
/* The other side has the names of this parcel: they are left out of later ones. */
void pathprof_namer_told(struct pathprof_namer *namer, const struct pathprof_parcel *parcel);
/* The other side lost what it was told. */
void pathprof_namer_forget(struct pathprof_namer *namer);

#ifdef __cplusplus
}
#endif

#endif
