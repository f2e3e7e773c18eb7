/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Parcels out of a store, and into one: a slot of it becomes a parcel (parcel.h), and parcels of
 * others become windows, which every query adds up. A window belongs to the slot in which it ended.
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
/* Oldest first, those that came in parcels left out. Of the filter only the times count, and they
 * select windows. */
int pathprof_store_slots(struct pathprof_store *store, const struct pathprof_filter *filter,
			 pathprof_slot_row_fn *fn, void *context, struct pathprof_error *error);

/*
 * One slot as a parcel, whose host is left empty. Windows that were taken alike become one part,
 * processes that differ by their ids alone one workload. The caller releases it.
 * -ENODATA: no window ended in that slot.
 */
int pathprof_store_parcel(struct pathprof_store *store, int64_t slot_s,
			  struct pathprof_parcel *ret_parcel, struct pathprof_error *error);

enum pathprof_parcel_added {
	PATHPROF_PARCEL_ADDED,
	PATHPROF_PARCEL_REPLACED, /* an emptier one of the same store and slot */
	PATHPROF_PARCEL_KNOWN,    /* one as full as it, or fuller, is there: nothing was changed */
};
/*
 * Adds a parcel, all of it or nothing: each part becomes a window. The fullest parcel of a store
 * and slot stays, in whatever order they come. -EINVAL: it has no windows, or was made of this very
 * store.
 */
int pathprof_store_add_parcel(struct pathprof_store *store, const struct pathprof_parcel *parcel,
			      enum pathprof_parcel_added *ret_added, struct pathprof_error *error);

/* A store whose parcels were added: a host, or a host before it got a new store. */
struct pathprof_host_row {
	uint8_t store[PATHPROF_PARCEL_STORE_BYTES];
	struct pathprof_parcel_host host; /* as its newest parcel says */
	uint64_t parcel_cnt, window_cnt;  /* windows as they were recorded */
	int64_t first_slot_s, last_slot_s;
	double cpu_s; /* CPU time that the clock saw */
};
typedef int pathprof_host_row_fn(void *context, const struct pathprof_host_row *row);
/* By name. */
int pathprof_store_hosts(struct pathprof_store *store, pathprof_host_row_fn *fn, void *context,
			 struct pathprof_error *error);

/*
 * Sums up what the parcels of one store brought into one parcel with one window a part. Windows
 * count that end after since_ns and begin before until_ns (0: no end). Its slot is that in which
 * the last of them ended. host as pathprof_store_hosts() gave it. The caller releases the parcel.
 * -ENODATA: there is no such window.
 */
int pathprof_store_host_parcel(struct pathprof_store *store, const struct pathprof_host_row *host,
			       int64_t since_ns, int64_t until_ns,
			       struct pathprof_parcel *ret_parcel, struct pathprof_error *error);

/* A parcel that was added, as its key and how full it is. */
struct pathprof_parcel_row {
	int64_t slot_s;
	uint32_t window_cnt;
	const char *host; /* during the callback only */
};
typedef int pathprof_parcel_row_fn(void *context, const struct pathprof_parcel_row *row);
/* Those of one store, oldest first. */
int pathprof_store_parcels_of(struct pathprof_store *store,
			      const uint8_t of[static PATHPROF_PARCEL_STORE_BYTES],
			      pathprof_parcel_row_fn *fn, void *context,
			      struct pathprof_error *error);

/* Of how many stores parcels of that host were added. */
int pathprof_store_count_stores(struct pathprof_store *store, const char *host, uint64_t *ret_cnt,
				struct pathprof_error *error);

/* Whether some process in the store ran on this machine since it was booted. */
int pathprof_store_is_of_this_boot(struct pathprof_store *store, bool *ret_is,
				   struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
