/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Serves the requests of hosts: stores their parcels in the database, and lists those it has.
 * Answers are a status of HTTP and a JSON object. The host is authenticated (identity.h); nothing
 * it sends is trusted. One thread.
 */
#ifndef HUB_INGEST_H
#define HUB_INGEST_H

#include <jansson.h>

#include "files.h"
#include "hub.h"
#include "pathprof/store.h"

struct hub_ingest;

struct hub_ingest_counts {
	uint64_t added, replaced, beside, known, refused; /* numbers of parcels */
	uint64_t cut;    /* names of functions that were left out */
	uint64_t rolled; /* hours of hosts that were summed up */
};

/* Opens the database, made if need be. Negative errno, error filled. */
int hub_ingest_new(struct hub_ingest **ret_ingest, const char *db, int64_t keep_s, int64_t roll_s,
		   struct pathprof_error *error);
/* NULL-safe. */
void hub_ingest_free(struct hub_ingest *ingest);
/* The hub's database, for questions, and its file. */
struct pathprof_store *hub_ingest_store(const struct hub_ingest *ingest);
const char *hub_ingest_db(const struct hub_ingest *ingest);
struct hub_files *hub_ingest_files(const struct hub_ingest *ingest);
const struct hub_ingest_counts *hub_ingest_counts(const struct hub_ingest *ingest);

/* A status of HTTP; *ret_answer is the caller's. */
unsigned int hub_ingest_parcel(struct hub_ingest *ingest, const char *host, const void *bytes,
			       size_t len_bytes, json_t **ret_answer);
/*
 * Which slots of a store the hub has, and which builds are asked for (files.h); or which windows of
 * one slot. store, slot: as the host wrote them; NULL if it did not.
 */
unsigned int hub_ingest_have(struct hub_ingest *ingest, const char *host, const char *store,
			     const char *slot, json_t **ret_answer);
/* Sums up an hour of a host that is old enough (roll_s; 0: never). Returns true if it did. Else the
 * next search is in a minute, or in ten after a failure. */
bool hub_ingest_roll(struct hub_ingest *ingest);
/* *ret_s: for how long the oldest hour that is to be summed up has been old enough, from its end
 * on; 0: there is none. Negative errno, error filled. */
int hub_ingest_backlog(const struct hub_ingest *ingest, int64_t *ret_s,
		       struct pathprof_error *error);
/* Removes windows and files older than they are to be kept. Cheap when there are none. */
void hub_ingest_retain(struct hub_ingest *ingest);

#endif
