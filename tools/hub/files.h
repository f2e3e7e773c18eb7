/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Files of builds that hosts upload, one directory a tenant beside its database: FLEET.db.files/
 * ab/cdef..., as in .build-id. A file is accepted only if somebody asked for it and nobody had it:
 * then hosts that may upload are told, and one of them sends it. Its build-id is checked; the rest
 * of it is trusted as far as the host's parcels are.
 *
 * Workload: a build a day, up to 256 MiB, written as it comes. Bounds: one upload a tenant at a
 * time, 64 files and 1 GiB; files go when they are older than parcels are kept. One thread.
 */
#ifndef HUB_FILES_H
#define HUB_FILES_H

#include <jansson.h>

#include "hub.h"
#include "pathprof/build_id.h"
#include "pathprof/store.h"

/* The most that one file may have. */
#define HUB_FILE_BYTES (UINT64_C(256) << 20)
#define HUB_FILES_PATH 4096

struct hub_files;
struct hub_upload;

/* db: the tenant's database. Removes what an interrupted upload left. -errno, error filled. */
int hub_files_new(struct hub_files **ret_files, const char *db, int64_t keep_s,
		  struct pathprof_error *error);
/* NULL-safe. An upload under way must have been ended. */
void hub_files_free(struct hub_files *files);

/* Somebody asked for that build, and its file is nowhere: hosts are asked for it for a day. id as
 * pathprof_build_id_text() writes it; an invalid one is ignored. */
void hub_files_want(struct hub_files *files, const char *id);
/* An array of the build-ids that hosts are asked for; none while there is no room. The caller's. */
json_t *hub_files_wanted(const struct hub_files *files);

/* The file of a build of the tenant with that database. False: it was not uploaded. */
bool hub_files_find(const char *db, const char *id, char *ret_path, size_t size);
/*
 * The same, open. 200: *ret_fd is the caller's. Else a status of HTTP, and *ret_why: it is no
 * build-id; by `store`, the tenant's, no host ran such a build; or none uploaded its file, which is
 * asked for from now on.
 */
unsigned int hub_files_open(struct hub_files *files, struct pathprof_store *store, const char *id,
			    int *ret_fd, uint64_t *ret_bytes, const char **ret_why);

/* 200: *ret_upload, which the caller ends. Else a status of HTTP, and *ret_why. host: who sends it,
 * as its certificate says. bytes: UINT64_MAX if not known. */
unsigned int hub_upload_begin(struct hub_files *files, const char *host, const char *id,
			      uint64_t bytes, struct hub_upload **ret_upload, const char **ret_why);
/* Returns false if there are more bytes than announced. */
bool hub_upload_part(struct hub_upload *upload, const void *part, size_t bytes);
/* 200: the file is there. Else a status of HTTP; *ret_why lives as long as upload. */
unsigned int hub_upload_finish(struct hub_upload *upload, const char **ret_why);
/* NULL-safe. Removes an unfinished upload. */
void hub_upload_end(struct hub_upload *upload);

/* Removes files that are older than they are to be kept. */
void hub_files_retain(struct hub_files *files);

#endif
