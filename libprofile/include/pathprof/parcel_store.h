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
	uint64_t digest; /* sum of the windows' keys: whether two sides have the same windows */
};
typedef int pathprof_slot_row_fn(void *context, const struct pathprof_slot_row *row);
/* Oldest first, those that came in parcels left out. Only the filter's times apply, and they select
 * windows. */
int pathprof_store_slots(struct pathprof_store *store, const struct pathprof_filter *filter,
			 pathprof_slot_row_fn *fn, void *context, struct pathprof_error *error);

/*
 * One slot as a parcel, whose host is left empty, with the names that the store has. Windows that
 * were taken alike become one part, processes that differ by their ids alone one workload. The
 * caller releases it. -ENODATA: no window ended in that slot.
 */
int pathprof_store_parcel(struct pathprof_store *store, int64_t slot_s,
			  struct pathprof_parcel *ret_parcel, struct pathprof_error *error);

/*
 * The same without the windows of these keys (ascending). -ENODATA: there are no others.
 */
int pathprof_store_parcel_rest(struct pathprof_store *store, int64_t slot_s, const uint64_t *keys,
			       size_t key_cnt, struct pathprof_parcel *ret_parcel,
			       struct pathprof_error *error);

enum pathprof_parcel_added {
	PATHPROF_PARCEL_ADDED,
	PATHPROF_PARCEL_REPLACED, /* an emptier one of the same store and slot */
	PATHPROF_PARCEL_BESIDE,   /* other windows of the same store and slot stay */
	PATHPROF_PARCEL_KNOWN,    /* all of its windows are there: nothing was changed */
};
/*
 * Adds a parcel, all of it or nothing: each part becomes a window. Each recorded window is counted
 * once, in whatever order parcels of its store and slot come: one takes the place of those whose
 * windows it has as well, and stands beside those with which it has none in common. If it lacks
 * some windows of those whose place it would take, it takes it only if it has more windows than
 * these have together; else nothing is changed. A sender that would lose windows by that sends
 * pathprof_store_parcel_rest(). -EINVAL: it has no windows, or was made of this very store.
 * -EEXIST: another host sent some of its windows, or some were rolled. -E2BIG: more than
 * PATHPROF_PARCEL_PARTS_MAX parts of one slot.
 */
int pathprof_store_add_parcel(struct pathprof_store *store, const struct pathprof_parcel *parcel,
			      enum pathprof_parcel_added *ret_added, struct pathprof_error *error);

/*
 * Sums up the windows that one host sent of one store in an hour, in one window of each kind: the
 * oldest hour of which that was not done, of those that ended before before_s (seconds since 1970).
 * All of it or nothing. *ret_rolled false: there is none. Which recorded windows are in it stays
 * known, and no parcel can take the place of one any more. An hour whose sums are more than a
 * window holds stays as it is for good, and counts as done.
 */
int pathprof_store_roll(struct pathprof_store *store, int64_t before_s, bool *ret_rolled,
			struct pathprof_error *error);
/* The beginning of the hour that pathprof_store_roll() would sum up, in seconds since 1970; -1:
 * there is none. */
int pathprof_store_roll_next(struct pathprof_store *store, int64_t before_s, int64_t *ret_hour_s,
			     struct pathprof_error *error);

/* Functions of one build that have names: what else parcels say of it is left out. */
#define PATHPROF_STORE_FUNCTIONS_MAX 100000
/*
 * Adds the names that a parcel brought, once its counts are there: those of builds of which
 * something was counted. A name that is known stays as it was. *ret_cut: names left out.
 */
int pathprof_store_add_names(struct pathprof_store *store, const struct pathprof_parcel *parcel,
			     uint64_t *ret_cut, struct pathprof_error *error);

/*
 * A store whose parcels were added, and the host that sent them. A host that got a new store has
 * several rows, and so has a store whose host was renamed or cloned.
 */
struct pathprof_host_row {
	uint8_t store[PATHPROF_PARCEL_STORE_BYTES];
	struct pathprof_parcel_host host; /* as its newest parcel says */
	uint64_t parcel_cnt, window_cnt;  /* windows as they were recorded */
	int64_t first_slot_s, last_slot_s;
	double cpu_s; /* CPU time that the clock saw */
};
typedef int pathprof_host_row_fn(void *context, const struct pathprof_host_row *row);
/* Ordered by name. Only the host and the labels of the filter, which may be NULL, apply. */
int pathprof_store_hosts(struct pathprof_store *store, const struct pathprof_filter *filter,
			 pathprof_host_row_fn *fn, void *context, struct pathprof_error *error);

/* Whether a process of that boot is a workload that came in parcels, and of which store. */
bool pathprof_store_of_boot(const char *boot, uint8_t ret_store[PATHPROF_PARCEL_STORE_BYTES]);

/* Samples that the windows of one store and host were to have. */
struct pathprof_host_samples {
	uint64_t read_cnt; /* clock samples, or bursts where no clock ran */
	uint64_t lost_cnt; /* PATHPROF_DROP_QUEUE_FULL: they are in no figure, nor in cpu_s */
};
/* host as pathprof_store_hosts() gave it; may be called from its fn. */
int pathprof_store_host_samples(struct pathprof_store *store, const struct pathprof_host_row *host,
				struct pathprof_host_samples *ret_samples,
				struct pathprof_error *error);

/*
 * Sums up what the parcels of one store and host brought into one parcel with one window a part.
 * Windows count that end after since_ns and begin before until_ns (0: no end). Its slot is that in
 * which the last of them ended. host as pathprof_store_hosts() gave it. The caller releases the
 * parcel. -ENODATA: there is no such window.
 */
int pathprof_store_host_parcel(struct pathprof_store *store, const struct pathprof_host_row *host,
			       int64_t since_ns, int64_t until_ns,
			       struct pathprof_parcel *ret_parcel, struct pathprof_error *error);

/* The part of a store and slot that one host sent. */
struct pathprof_parcel_row {
	int64_t slot_s;
	uint32_t window_cnt;
	uint64_t digest;  /* as pathprof_slot_row's */
	bool is_known;    /* the digest is: it was not kept in earlier versions */
	const char *host; /* during the callback only */
};
typedef int pathprof_parcel_row_fn(void *context, const struct pathprof_parcel_row *row);
/* Those of one store, oldest first. */
int pathprof_store_parcels_of(struct pathprof_store *store,
			      const uint8_t of[PATHPROF_PARCEL_STORE_BYTES],
			      pathprof_parcel_row_fn *fn, void *context,
			      struct pathprof_error *error);

struct pathprof_parcel_key {
	uint64_t key; /* of a window */
	bool fixed;   /* no parcel of the host that is asked for takes its place: another one
			 sent it, or it was rolled */
};
/* The windows that are there of a store and slot. The caller frees *ret_keys. */
int pathprof_store_parcel_keys(struct pathprof_store *store,
			       const uint8_t of[PATHPROF_PARCEL_STORE_BYTES], int64_t slot_s,
			       const char *host, struct pathprof_parcel_key **ret_keys,
			       size_t *ret_cnt, struct pathprof_error *error);

/* The number of stores from which parcels of that host were added. */
int pathprof_store_count_stores(struct pathprof_store *store, const char *host, uint64_t *ret_cnt,
				struct pathprof_error *error);

/* Whether some process in the store ran on this machine since it was booted. */
int pathprof_store_is_of_this_boot(struct pathprof_store *store, bool *ret_is,
				   struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
