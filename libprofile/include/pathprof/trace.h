/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Reading an exact trace: every branch of one program, taken or not, in the order each thread
 * executed them. pathprof/trace_format.h says how the file is built.
 *
 *     pathprof_trace_open(&trace, "gzip.trace", &error);
 *     pathprof_trace_cursor_new(&cursor, trace, 0, &error);
 *     while ((cnt = pathprof_trace_read(cursor, events, 4096, &error)) > 0)
 *             ...
 *
 * Workload: some hundred million events, sequentially, a few nanoseconds each; only the chunk in
 * hand is in memory. A trace is read-only once open: any number of cursors over it, one thread
 * each.
 *
 * Files come from outside: a file that contradicts itself gives -EBADMSG and a line that names the
 * place. A file whose end is missing is read as far as it goes (pathprof_trace_info.whole is
 * false).
 */
#ifndef PATHPROF_TRACE_H
#define PATHPROF_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pathprof/abi.h"
#include "pathprof/build_id.h"
#include "pathprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_trace;
struct pathprof_trace_cursor;

enum pathprof_trace_event_type {
	PATHPROF_TRACE_EVENT_BRANCH = 1,
	PATHPROF_TRACE_EVENT_ACCESS = 2,
	/*
	 * Control went on at branch.next without a branch. Everything on a path stack is void after
	 * JUMP; a handler's own paths lie between SIGNAL and SIGRETURN, which then goes on where
	 * the program was interrupted.
	 */
	PATHPROF_TRACE_EVENT_SIGNAL = 3,    /* a signal handler begins at branch.next */
	PATHPROF_TRACE_EVENT_SIGRETURN = 4, /* it has returned to branch.next */
	PATHPROF_TRACE_EVENT_JUMP = 5,      /* anything else: transfers are missing here */
};

/*
 * A signal that arrives between two blocks is recorded as if it had come right before the branch
 * that ends the first: that branch then follows the SIGRETURN, and is never reported when the
 * handler leaves by longjmp.
 */
struct pathprof_trace_event {
	uint32_t type;
	uint32_t insn_cnt;        /* instructions since the last BRANCH of this stream, this branch
				     included; of other types 0 */
	uint32_t kernel_insn_cnt; /* of these, up to and with the last system call among them, where
				     a window that is stepped ends; 0: there was none */
	uint32_t reserved;
	union {
		struct pathprof_branch branch; /* of ACCESS: see access; of the rest: only next, and
						  from where it is known */
		struct {
			uint64_t pc, address, value; /* value 0 when the trace has none */
			uint32_t size_bytes, store;  /* store: 0 or 1 */
		} access;
	};
};

struct pathprof_trace_module_info {
	const char *name; /* "[anon]" for code without a file */
	struct pathprof_build_id build_id;
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* of start in the file */
	uint32_t process;
};

struct pathprof_trace_stream_info {
	uint32_t process, pid;
	uint32_t thread; /* in its process, 0 first */
	uint64_t word_cnt;
};

struct pathprof_trace_info {
	const char *const *command; /* its words, NULL at the end */
	uint32_t stream_cnt, module_cnt, block_cnt, process_cnt;
	uint32_t exec_cnt; /* processes that went on as another program, out of sight */
	uint32_t flags;    /* PATHPROF_TRACE_HAS_* */
	int64_t time_ns;   /* CLOCK_REALTIME of the start */
	uint64_t file_bytes;
	bool whole; /* false: its writer was killed */
};

/* 0; -errno when it cannot be read, -EBADMSG when it is none. */
int pathprof_trace_open(struct pathprof_trace **ret_trace, const char *path,
			struct pathprof_error *error);
/* NULL-safe. No cursor may be left. */
void pathprof_trace_free(struct pathprof_trace *trace);
/* true when the file begins as a trace does; false also when it cannot be read. */
bool pathprof_trace_is(const char *path);

/* The structures returned belong to the trace. NULL: index is not below the count in the info. */
const struct pathprof_trace_info *pathprof_trace_info(const struct pathprof_trace *trace);
const struct pathprof_trace_module_info *pathprof_trace_module(const struct pathprof_trace *trace,
							       uint32_t index);
const struct pathprof_trace_stream_info *pathprof_trace_stream(const struct pathprof_trace *trace,
							       uint32_t index);
/* The module an address of a process lies in, the latest mapped there; NULL for none. */
const struct pathprof_trace_module_info *pathprof_trace_locate(const struct pathprof_trace *trace,
							       uint32_t process, uint64_t address);

/* -EINVAL when there is no such stream. */
int pathprof_trace_cursor_new(struct pathprof_trace_cursor **ret_cursor,
			      const struct pathprof_trace *trace, uint32_t stream,
			      struct pathprof_error *error);
void pathprof_trace_cursor_free(struct pathprof_trace_cursor *cursor);
/* The next events, at most max. 0: the end. -EBADMSG, -errno. */
ssize_t pathprof_trace_read(struct pathprof_trace_cursor *cursor,
			    struct pathprof_trace_event *events, size_t max,
			    struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
