/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Parcels out of a store: a slot of it becomes a parcel (parcel.h). A window belongs to the slot in
 * which it ended.
 *
 * Errors are the store's (store.h) and the parcel's.
 */
#ifndef PATHPROF_PARCEL_STORE_H
#define PATHPROF_PARCEL_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "pathprof/parcel.h"
#include "pathprof/store.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A slot in which windows ended. */
struct pathprof_slot_row {
	int64_t slot_s;
	uint32_t window_cnt;
};
typedef int pathprof_slot_row_fn(void *context, const struct pathprof_slot_row *row);
/* Oldest first. Of the filter only the times count, and they select windows. */
int pathprof_store_slots(struct pathprof_store *store, const struct pathprof_filter *filter,
			 pathprof_slot_row_fn *fn, void *context, struct pathprof_error *error);

/*
 * One slot as a parcel, whose host is left empty. Windows that were taken alike become one part,
 * processes that differ by their ids alone one workload. The caller releases it.
 * -ENODATA: no window ended in that slot.
 */
int pathprof_store_parcel(struct pathprof_store *store, int64_t slot_s,
			  struct pathprof_parcel *ret_parcel, struct pathprof_error *error);

/* Whether some process in the store ran on this machine since it was booted. */
int pathprof_store_is_of_this_boot(struct pathprof_store *store, bool *ret_is,
				   struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
