/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of a binary's paths, read from its file by a child process: an ELF file may be made by an
 * attacker, lie on a file system that hangs, or take seconds to read, and none of that may touch
 * the event loop.
 *
 *     ask -> fork -> the child finds the file, builds its graph, writes the answer into a pipe
 *                    -> read as it comes, checked -> done
 *
 * The child has bounds of memory and CPU time, gets out of others' way (unless somebody waits for
 * it), keeps nothing of the daemon's open and no right but to find the file, and ends with the
 * daemon. One at a time.
 *
 * Workload: at most one a window, some thousand paths each; a graph is built in up to some seconds
 * and kept in a cache. One owner, the event loop.
 */
#ifndef PP_NAMES_H
#define PP_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "pathprof/build_id.h"
#include "pathprof/unwind.h"

#define PP_NAMES_PATHS_MAX 16384
#define PP_NAMES_PIDS_MAX  4
#define PP_NAMES_TEXT_MAX  512 /* bytes of a name, its end included */
#define PP_NAMES_ROWS_MAX  (1u << 20)

struct pp_names;

struct pp_names_path {
	uint64_t start; /* file offset */
	uint32_t length, outcomes;
};

/* A request; pp_names_ask() copies it. */
struct pp_names_job {
	struct pathprof_build_id id; /* a file of another identity is refused */
	const char *file;            /* its name in the processes that map it */
	pid_t pids[PP_NAMES_PIDS_MAX];
	uint32_t pid_cnt; /* of those who map it */
	const struct pp_names_path *paths;
	size_t path_cnt; /* at most PP_NAMES_PATHS_MAX */
	/* The table of frames alone (pathprof/unwind.h). */
	bool frames;
	/* Somebody waits: names and source lines only, no portable keys; at once. */
	bool hurry;
};

struct pp_named_path {
	uint64_t function, place; /* portable; function 0: no such name can be had */
	const char *name;         /* of the function; "" if none */
	const char *source;       /* file:line, "" if none; only in a hurry */
};

/* Valid during the call. */
struct pp_names_answer {
	const struct pp_named_path *paths; /* those asked for, in their order */
	size_t path_cnt;
	struct pathprof_unwind_table table; /* of frames */
	const uint64_t *functions;          /* of the build, strictly ascending; none in a hurry */
	size_t function_cnt;
};

/*
 * code 0: the answer; -ENOENT: no file of this build is there; -ECANCELED: it was put off; else
 * what went wrong. answer is NULL unless code is 0. The next job may be asked from within.
 */
typedef void pp_names_done_fn(void *context, int code, const struct pp_names_answer *answer);

struct pp_names_stats {
	uint64_t jobs, failed, cpu_ns;
};

/* cache_dir: where graphs are kept, made when missing; NULL: nowhere. */
int pp_names_new(struct pp_names **ret_names, sd_event *event, const char *cache_dir);
/* Kills a child; done is not called any more. NULL-safe. */
void pp_names_free(struct pp_names *names);
/* -EBUSY: one is under way, or eight that were given up are not gone yet; -E2BIG; -errno of fork
 * and its like: done is not called then. */
int pp_names_ask(struct pp_names *names, const struct pp_names_job *job, pp_names_done_fn *done,
		 void *context);
bool pp_names_busy(const struct pp_names *names);
/* Ends the one under way: done is called with -ECANCELED, before this returns. */
void pp_names_cancel(struct pp_names *names);
void pp_names_stats(const struct pp_names *names, struct pp_names_stats *ret_stats);

/* names_child.c: in the child. Writes the answer to fd and ends the process. */
_Noreturn void pp_names_child(const struct pp_names_job *job, const char *cache_dir, int fd);

/*
 * The child writes the head, then functions of 8 bytes each, then for each path the record and its
 * two texts, not terminated, then rows.
 */
#define PP_NAMES_MAGIC UINT32_C(0x4d4e5050) /* "PPNM" */
struct pp_names_head {
	uint32_t magic;
	int32_t code; /* 0, or a negative errno: then nothing follows */
	uint32_t function_cnt, path_cnt;
	uint32_t row_cnt, zero; /* of the table of frames: rows follow all else */
};
struct pp_names_record {
	uint64_t function, place;
	uint16_t name_bytes, source_bytes;
	uint32_t zero;
};

/*
 * names_answer.c: takes the child's bytes apart. -EBADMSG: they are no answer to path_cnt paths;
 * the answer's strings and arrays are the caller's to release.
 */
int pp_names_parse(const void *bytes, size_t len_bytes, size_t path_cnt, int *ret_code,
		   struct pp_names_answer *ret_answer);
void pp_names_answer_release(struct pp_names_answer *answer);

#endif
