/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles for compilers: GET /v1/pgo/PATH and /v1/pgo/BUILDID. `pgo` makes one as a child, one at
 * a time; others wait, tenants in turn, 16 of a tenant and 8 of a certificate at most. The last
 * profiles are kept for one slot, for which they would come out the same, so many builds of one
 * evening cost little; the owner of most of them loses one first.
 *
 * Workload: a few questions an hour, some seconds each. One thread, the hub's loop.
 */
#ifndef HUB_PGO_H
#define HUB_PGO_H

#include "hub.h"
#include "ingest.h"

/* Fewer paths of a build than this give no profile. */
#define HUB_PGO_SAMPLES_MIN 1000

struct hub_pgo_jobs;

/* One question, from its arrival to its answer. */
struct hub_pgo_job {
	char *key; /* the question, and its database */
	char *binary;
	char *host, *labels, *workload, *release; /* NULL: any */
	char *reader;                             /* the name in the certificate that asks */
	const char *format, *db;                  /* not owned; a tenant has one db */
	struct hub_files *files;                  /* the same, its tenant's */
	int64_t since_s, until_s;
	void *waits;   /* the caller's, as given to hub_pgo_begin() */
	uint64_t turn; /* less: before */
	bool is_done;
	unsigned int status; /* of HTTP; if it is not 200, bytes says why */
	char *bytes;
	size_t len;
	char build_id[48], etag[40];
};

struct hub_pgo_question {
	const char *reader;                 /* the name in the asking peer's certificate */
	const char *binary;                 /* the rest of the URL after /v1/pgo/ */
	const char *format, *since, *until; /* NULL: not said */
	const char *host, *workload;        /* the same */
	const char *release;                /* the same: first digits of a build-id */
	char labels[PATHPROF_LABELS_BYTES]; /* checked; "": any */
};

/* on_done: a job is done; from inside turn() and stop(), from inside end() for others, and where no
 * process can be started from inside begin(), for its own job. Beside db, which this hub has open,
 * is room for its work. files NULL: none are kept. -errno, error filled. */
int hub_pgo_new(struct hub_pgo_jobs **ret_jobs, const char *db, const char *files,
		void (*on_done)(struct hub_pgo_job *job), struct pathprof_error *error);
/* Ends what is under way: every job is done then, and hub_pgo_begin() refuses. NULL-safe. */
void hub_pgo_stop(struct hub_pgo_jobs *jobs);
/* NULL-safe. All jobs were ended. */
void hub_pgo_free(struct hub_pgo_jobs *jobs);

/* 200: *ret_job, done or not, which the caller ends. Else a status of HTTP, and *ret_why. */
unsigned int hub_pgo_begin(struct hub_pgo_jobs *jobs, struct hub_ingest *ingest,
			   const struct hub_pgo_question *question, void *waits,
			   struct hub_pgo_job **ret_job, const char **ret_why);
/* NULL-safe. */
void hub_pgo_end(struct hub_pgo_jobs *jobs, struct hub_pgo_job *job);

int hub_pgo_fd(const struct hub_pgo_jobs *jobs);
/* Follows what is under way. true: a job was done. */
bool hub_pgo_turn(struct hub_pgo_jobs *jobs);

#endif
