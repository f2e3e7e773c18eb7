/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Declarations that the files that read `perf script`'s text share.
 *
 *     script_stack.c    the branches of a line
 *     script_columns.c  the columns before them: process, time, event, address
 *     script_record.c   lines of --show-mmap-events and --show-task-events
 *     perf_script.c     lines becoming samples
 */
#ifndef PP_SCRIPT_H
#define PP_SCRIPT_H

#include "pp_scan.h"

struct pp_script {
	bool bare;    /* llvm-profgen's: but pid and address stand before the branches */
	bool begun;   /* a record was read: what begins with # is no comment any more */
	bool pending; /* a sample was begun whose stacks are on the lines to come */
	bool in_list; /* a record of several lines goes on */
	bool counted; /* how often the next sample was seen is known: */
	uint64_t repeats;
	struct pathprof_recorded_sample sample;
	struct pathprof_recorded_branch branches[PATHPROF_RECORDED_BRANCHES_MAX];
};

/*
 * The stack at the end of a line, if there is one: branch_cnt branches in script->branches, *ret_at
 * where they begin (the end of the line when there are none). *ret_bad: the last place where
 * something that begins like a branch is none; NULL. -EBADMSG: more branches than may be.
 */
int pp_script_stack(struct pp_scan *text, const char *line, uint32_t *ret_branch_cnt,
		    const char **ret_at, const char **ret_bad);

struct pp_script_columns {
	bool anchored; /* has a time or PID/TID: the first line of a record */
	bool has_time, has_event, has_ip;
	const char *right; /* what follows the event, else the anchor; with neither, the line */
	uint64_t time_ns, ip, period;
	uint32_t pid, tid, cpu;
	const char *event;
	size_t event_len;
	const char *bad; /* where a column is none of those that are read; NULL */
};

/* The columns in [line, end). */
void pp_script_columns(const char *line, const char *end, struct pp_script_columns *ret_columns);

/* "12", "-1": UINT32_MAX. */
bool pp_script_pid(const char **at, uint32_t *ret_pid);

/*
 * The start of a record in [line, end) that is no sample; NULL: there is none. `sure`: only kinds
 * whose name is too long to be a process's name, for the columns before branches.
 */
char *pp_script_find_record(char *line, const char *end, bool sure);
/* Hands it on; `at` as found. */
int pp_script_record(struct pp_scan *text, char *line, char *at);

#endif
