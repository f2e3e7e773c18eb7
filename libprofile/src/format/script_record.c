// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The lines of `perf script` with --show-mmap-events, --show-task-events and --show-lost-events:
 *
 *     PERF_RECORD_MMAP2 PID/TID: [0xSTART(0xLEN) @ 0xOFFSET MAJ:MIN INO GEN]: r-xp NAME
 *     PERF_RECORD_MMAP2 PID/TID: [0xSTART(0xLEN) @ 0xOFFSET <BUILDID>]: r-xp NAME
 *     PERF_RECORD_MMAP PID/TID: [0xSTART(0xLEN) @ 0xOFFSET]: x NAME
 *     PERF_RECORD_COMM[ exec]: NAME:PID/TID
 *     PERF_RECORD_FORK(PID:TID):(PPID:PTID)    EXIT likewise
 *     PERF_RECORD_LOST lost N                  LOST_SAMPLES likewise
 *
 * Names are others' to choose: a mapping's goes to the end of the line, a process's is what the
 * numbers at the end leave.
 *
 * Source: perf_event__fprintf() in tools/perf/util/event.c.
 */
#include "pp_script.h"

#include <string.h>

#define RECORD "PERF_RECORD_"

/* A process's name has 15 bytes at most; with a blank behind it it is none of these. */
static const char *const sure_kinds[] = {"MMAP2 ", "MMAP ", "COMM: ",        "COMM exec: ", "FORK(",
					 "EXIT(",  "LOST ", "LOST_SAMPLES ", NULL};

static bool is_sure(const char *kind)
{
	for (const char *const *sure = sure_kinds; *sure; sure++) {
		const char *at = kind;

		if (pp_scan_word(&at, *sure))
			return true;
	}
	return false;
}

static char *next_record(char *line, const char *end)
{
	return line < end ? memmem(line, (size_t)(end - line), RECORD, strlen(RECORD)) : NULL;
}

/* Any kind: behind columns, or where there are none; else it is a process's name. */
static char *find_any_record(char *line, const char *end)
{
	char *found = next_record(line, end);
	struct pp_script_columns before, all;

	if (!found)
		return NULL;
	pp_script_columns(line, found, &before);
	pp_script_columns(line, end, &all);
	return before.anchored || !all.anchored ? found : NULL;
}

char *pp_script_find_record(char *line, const char *end, bool sure)
{
	for (char *at = line; (at = next_record(at, end)); at += strlen(RECORD))
		if (is_sure(at + strlen(RECORD)))
			return at;
	return sure ? NULL : find_any_record(line, end);
}

/* Reads a number as %#x prints it: 0 has no 0x. */
static bool scan_alternate_hex(const char **at, uint64_t *ret_value)
{
	if (pp_scan_0x(at, ret_value))
		return true;
	if ((*at)[0] != '0' || (*at)[1] == 'x')
		return false;
	++*at;
	*ret_value = 0;
	return true;
}

static bool scan_pid_tid(const char **at, char between, uint32_t *ret_pid, uint32_t *ret_tid)
{
	return pp_script_pid(at, ret_pid) && pp_scan_char(at, between) &&
	       pp_script_pid(at, ret_tid);
}

/* "<HEX>" */
static void scan_build_id(const char *at, struct pathprof_build_id *ret_id)
{
	struct pathprof_build_id id;

	if (pp_scan_char(&at, '<') && pp_scan_build_id(&at, &id) && *at == '>')
		*ret_id = id;
}

/* The end of a mapping; the kernel's may say that it has no end. */
static bool set_end(struct pathprof_recorded_mapping *mapping, uint64_t len)
{
	if (!__builtin_add_overflow(mapping->start, len, &mapping->end))
		return true;
	mapping->end = UINT64_MAX;
	return mapping->pid == PATHPROF_RECORDED_KERNEL;
}

static bool scan_range(const char **at, struct pathprof_recorded_mapping *mapping)
{
	uint64_t len;

	return pp_scan_word(at, ": [") && scan_alternate_hex(at, &mapping->start) &&
	       pp_scan_char(at, '(') && scan_alternate_hex(at, &len) && set_end(mapping, len) &&
	       pp_scan_word(at, ") @ ") && scan_alternate_hex(at, &mapping->offset);
}

/* " r-xp NAME" or " x NAME" */
static bool scan_protection(const char **at, struct pathprof_recorded_mapping *mapping)
{
	size_t len;

	if (!pp_scan_char(at, ' '))
		return false;
	len = strspn(*at, "rwxsp-");
	if (len == 0 || (*at)[len] != ' ')
		return false;
	mapping->executable = memchr(*at, 'x', len) != NULL;
	*at += len + 1;
	mapping->name = *at;
	return **at != '\0';
}

static int mapping_record(struct pp_scan *text, const char *at, uint64_t time_ns)
{
	struct pathprof_recorded_mapping mapping = {.time_ns = time_ns};
	uint32_t tid;
	const char *p = at;

	if (!scan_pid_tid(&p, '/', &mapping.pid, &tid) || !scan_range(&p, &mapping))
		return pp_scan_expected(text, p, "PID/TID: [0xSTART(0xLEN) @ 0xOFFSET");
	if (pp_scan_char(&p, ' ')) {
		const char *bracket = strchr(p, ']');

		scan_build_id(p, &mapping.id);
		p = bracket ? bracket : p + strlen(p);
	}
	if (!pp_scan_word(&p, "]:") || !scan_protection(&p, &mapping))
		return pp_scan_expected(text, p, "]: PROTECTION NAME of a mapping");
	return pp_recording_mapping(text->recording, &mapping);
}

static int comm_record(struct pp_scan *text, char *at, bool exec, uint64_t time_ns)
{
	struct pathprof_recorded_process process = {.time_ns = time_ns,
						    .change = exec ? PATHPROF_RECORDED_EXEC
								   : PATHPROF_RECORDED_COMM,
						    .comm = at};
	char *colon = strrchr(at, ':');
	const char *p = colon ? colon + 1 : at;
	uint32_t tid;

	if (!colon || !scan_pid_tid(&p, '/', &process.pid, &tid) || *p)
		return pp_scan_expected(text, p, "NAME:PID/TID");
	*colon = '\0';
	/* A thread's name says nothing of the process. */
	if (process.pid != tid && !exec)
		return 0;
	return pp_recording_process(text->recording, &process);
}

/* "PID:TID):(PPID:PTID)" */
static bool scan_family(const char *at, struct pathprof_recorded_process *process,
			uint32_t *ret_tid)
{
	uint32_t parent_tid;

	return scan_pid_tid(&at, ':', &process->pid, ret_tid) && pp_scan_word(&at, "):(") &&
	       scan_pid_tid(&at, ':', &process->parent, &parent_tid) && pp_scan_word(&at, ")") &&
	       *at == '\0';
}

static int task_record(struct pp_scan *text, const char *at, bool fork,
		       const struct pp_script_columns *columns)
{
	struct pathprof_recorded_process process = {.time_ns = columns->time_ns,
						    .change = fork ? PATHPROF_RECORDED_FORK
								   : PATHPROF_RECORDED_EXIT};
	uint32_t tid;

	if (!scan_family(at, &process, &tid))
		return pp_scan_expected(text, at, "PID:TID):(PPID:PTID)");
	/* Threads are not reported: they begin and end within their process. */
	if (fork ? process.pid == process.parent : process.pid != tid)
		return 0;
	/* Time 0: perf synthesised the record for a process that was already running. */
	if (fork && columns->has_time && columns->time_ns == 0)
		process.parent = 0;
	return pp_recording_process(text->recording, &process);
}

static int lost_record(struct pp_scan *text, const char *at)
{
	uint64_t *lost = &text->recording->stats.lost, cnt;
	const char *p = at;

	if (!pp_scan_word(&p, "lost ") || !pp_scan_decimal(&p, &cnt) || *p)
		return pp_scan_expected(text, at, "how many were lost");
	if (__builtin_add_overflow(*lost, cnt, lost))
		*lost = UINT64_MAX;
	return 0;
}

static int other_record(struct pp_scan *text, const char *kind)
{
	struct pp_script *script = text->state;

	text->recording->stats.unknown++;
	script->in_list = pp_scan_word(&kind, "NAMESPACES");
	return 0;
}

int pp_script_record(struct pp_scan *text, char *line, char *at)
{
	struct pp_script_columns columns;
	const char *kind = at + strlen(RECORD);
	char *name;

	pp_script_columns(line, at, &columns);
	if (pp_scan_word(&kind, "MMAP2 ") || pp_scan_word(&kind, "MMAP "))
		return mapping_record(text, kind, columns.time_ns);
	name = at + strlen(RECORD "COMM: ");
	if (pp_scan_word(&kind, "COMM: "))
		return comm_record(text, name, false, columns.time_ns);
	name = at + strlen(RECORD "COMM exec: ");
	if (pp_scan_word(&kind, "COMM exec: "))
		return comm_record(text, name, true, columns.time_ns);
	if (pp_scan_word(&kind, "FORK("))
		return task_record(text, kind, true, &columns);
	if (pp_scan_word(&kind, "EXIT("))
		return task_record(text, kind, false, &columns);
	if (pp_scan_word(&kind, "LOST ") || pp_scan_word(&kind, "LOST_SAMPLES "))
		return lost_record(text, kind);
	return other_record(text, kind);
}
