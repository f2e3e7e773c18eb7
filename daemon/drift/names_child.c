// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child that reads a binary's file: see names.h. It comes from fork in a process that may have
 * threads; it only allocates, reads files and writes to its pipe and the cache of graphs.
 *
 * The file is looked for under the root of a process that maps it, by the name it has there; behind
 * the mapping itself (/proc/PID/map_files), in case it was replaced or removed since; and under its
 * name here. The build-id tells which of them is the right one.
 */
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "pathprof/code.h"
#include "pathprof/confine.h"
#include "pathprof/foreign.h"
#include "pathprof/graph.h"
#include "pathprof/match.h"
#include "pathprof/unwind.h"

#define ANSWER_FD      3
#define CACHE_BYTES    (UINT64_C(128) << 20)
#define NAME_BYTES_MAX (PP_NAMES_TEXT_MAX - 1)

/* A file that may be the one: opened while the rights last, read after they were dropped. */
struct candidate {
	int fd, root_fd; /* -1: its debug files are looked for nowhere */
	const char *path;
};
#define CANDIDATES_MAX 64

struct child {
	const struct pp_names_job *job;
	struct candidate candidates[CANDIDATES_MAX];
	size_t candidate_cnt;
	struct pathprof_code *code;
	struct pathprof_graph *graph; /* NULL in a hurry */
	struct pathprof_matcher *matcher;
	FILE *to;
};

/* ---------------------------------------------------------------- bounds */

static const struct pathprof_confine_limits limits = {
	.more_bytes = UINT64_C(1) << 30,
	.more_data_bytes = UINT64_C(512) << 20,
	.file_bytes = UINT64_MAX,
	.cpu_s = 30,
};

/* Rights to open others' files; they are dropped before any of the files is read. */
static const int to_find[] = {CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE};

static void be_modest(bool hurry)
{
	/* not SCHED_IDLE: on a busy machine that would never end */
	if (!hurry)
		setpriority(PRIO_PROCESS, 0, 19);
}

/* ---------------------------------------------------------------- the file */

static void add_candidate(struct child *child, int fd, int root_fd)
{
	if (fd >= 0 && child->candidate_cnt < CANDIDATES_MAX)
		child->candidates[child->candidate_cnt++] =
			(struct candidate){fd, root_fd, child->job->file};
}

static void add_in_root(struct child *child, int root_fd)
{
	add_candidate(child, pathprof_foreign_open(root_fd, child->job->file, NULL), root_fd);
}

/* Whether a line of maps is of that file (deleted or not), and executable. */
static bool maps_it(const struct child *child, const char *line, uint64_t *ret_start,
		    uint64_t *ret_end)
{
	const char *file = strchr(line, '/');
	size_t len = strlen(child->job->file);
	char rights[8];

	if (!file || sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s", ret_start, ret_end, rights) != 3 ||
	    !strchr(rights, 'x'))
		return false;
	return strncmp(file, child->job->file, len) == 0 &&
	       (file[len] == '\n' || file[len] == '\0' || file[len] == ' ');
}

/*
 * A mapping leads to the file itself, wherever that is by now. The names in map_files have no
 * leading zeros, unlike the addresses in maps.
 */
static void add_mappings(struct child *child, pid_t pid)
{
	char path[128], line[PATH_MAX + 256];
	uint64_t start, end;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (!maps_it(child, line, &start, &end))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, start,
			 end);
		add_candidate(child, pathprof_foreign_open(PATHPROF_OWN_ROOT, path, NULL), -1);
	}
	if (maps)
		fclose(maps);
}

/* Opens every candidate for the file, which takes the daemon's rights. */
static void gather(struct child *child)
{
	const struct pp_names_job *job = child->job;
	bool whole = job->file[0] == '/';

	for (uint32_t i = 0; i < job->pid_cnt && whole; i++) {
		int root_fd = pathprof_foreign_root(job->pids[i]);

		if (root_fd >= 0)
			add_in_root(child, root_fd);
	}
	if (whole)
		add_in_root(child, PATHPROF_OWN_ROOT);
	for (uint32_t i = 0; i < job->pid_cnt; i++)
		add_mappings(child, job->pids[i]);
}

/* Reads the candidates, after the rights were given up. */
static int choose(struct child *child)
{
	int r = -ENOENT;

	if (!strcmp(child->job->file, "[vdso]"))
		return pathprof_code_open_vdso(&child->code, &child->job->id, NULL);
	for (size_t i = 0; i < child->candidate_cnt && r < 0; i++) {
		const struct candidate *c = &child->candidates[i];
		const struct pathprof_code_file file = {c->fd, c->root_fd, c->path};

		r = pathprof_code_open_fd(&child->code, &file, &child->job->id, NULL);
	}
	return r < 0 ? -ENOENT : 0;
}

/* ---------------------------------------------------------------- names */

static const char *graph_name(const struct child *child, uint64_t start)
{
	uint32_t block = pathprof_graph_block_at(child->graph, start);

	return block == PATHPROF_GRAPH_NONE
		       ? ""
		       : pathprof_graph_name(child->graph, child->graph->blocks[block].function);
}

static const char *symbol_name(struct child *child, uint64_t start)
{
	const char *name = NULL;
	uint64_t begin = 0;

	return pathprof_code_function(child->code, start, &name, &begin) == 0 && name ? name : "";
}

static void source_of(struct child *child, uint64_t start, char *text, size_t size)
{
	const char *file = NULL;
	int line = 0;

	text[0] = '\0';
	if (pathprof_code_line(child->code, start, &file, &line) == 0 && file)
		snprintf(text, size, "%s:%d", file, line);
}

static void write_path(struct child *child, const struct pp_names_path *path)
{
	struct pp_names_record record = {.zero = 0};
	char source[PP_NAMES_TEXT_MAX] = "";
	struct pathprof_event event;
	const char *name;

	if (child->graph) {
		name = graph_name(child, path->start);
		if (pathprof_matcher_path(child->matcher, path->start, path->length, path->outcomes,
					  1, &event) == 0) {
			record.function = event.key_hi;
			record.place = event.key_lo;
		}
	} else {
		name = symbol_name(child, path->start);
		source_of(child, path->start, source, sizeof(source));
	}
	record.name_bytes = (uint16_t)strnlen(name, NAME_BYTES_MAX);
	record.source_bytes = (uint16_t)strlen(source);
	fwrite(&record, sizeof(record), 1, child->to);
	fwrite(name, 1, record.name_bytes, child->to);
	fwrite(source, 1, record.source_bytes, child->to);
}

static int open_graph(struct child *child, const char *cache_dir)
{
	const struct pathprof_graph_cache cache = {.directory = cache_dir,
						   .max_bytes = CACHE_BYTES};
	int r = pathprof_graph_open(&child->graph, child->code, &cache, NULL, NULL, NULL);

	return r < 0 ? r : pathprof_matcher_new(&child->matcher, child->graph);
}

static int name_all(struct child *child, const char *cache_dir)
{
	struct pp_names_head head = {.magic = PP_NAMES_MAGIC,
				     .path_cnt = (uint32_t)child->job->path_cnt};
	const uint64_t *functions = NULL;
	size_t cnt = 0;
	int r = child->job->hurry ? 0 : open_graph(child, cache_dir);

	if (r == 0 && child->graph)
		r = pathprof_matcher_functions(child->matcher, &functions, &cnt);
	if (r < 0)
		return r;
	head.function_cnt = (uint32_t)cnt;
	fwrite(&head, sizeof(head), 1, child->to);
	if (cnt)
		fwrite(functions, sizeof(*functions), cnt, child->to);
	for (size_t i = 0; i < child->job->path_cnt; i++)
		write_path(child, &child->job->paths[i]);
	return 0;
}

static int write_frames(struct child *child)
{
	struct pp_names_head head = {.magic = PP_NAMES_MAGIC};
	struct pathprof_unwind_table table;
	int r = pathprof_unwind_table_new(&table, child->code, PP_NAMES_ROWS_MAX);

	if (r < 0)
		return r;
	head.row_cnt = (uint32_t)table.row_cnt;
	fwrite(&head, sizeof(head), 1, child->to);
	fwrite(table.rows, sizeof(table.rows[0]), table.row_cnt, child->to);
	pathprof_unwind_table_release(&table);
	return 0;
}

static void refuse(struct child *child, int code)
{
	const struct pp_names_head head = {.magic = PP_NAMES_MAGIC, .code = code};

	fwrite(&head, sizeof(head), 1, child->to);
}

_Noreturn void pp_names_child(const struct pp_names_job *job, const char *cache_dir, int fd)
{
	struct child child = {.job = job};
	int r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pathprof_confine_signals();
	/* the daemon's files, locks and sockets are not ours to keep open */
	if (fd != ANSWER_FD && dup2(fd, ANSWER_FD) < 0)
		_exit(127);
	if (pathprof_confine_descriptors(ANSWER_FD) < 0)
		_exit(127);
	pathprof_confine_limits(&limits);
	be_modest(job->hurry);
	if (pathprof_confine_capabilities(to_find, sizeof(to_find) / sizeof(to_find[0])) < 0)
		_exit(127);
	/* nothing is fetched over the network for a name */
	unsetenv("DEBUGINFOD_URLS");
	child.to = fdopen(ANSWER_FD, "w");
	if (!child.to)
		_exit(127);
	gather(&child);
	if (pathprof_confine_capabilities(NULL, 0) < 0)
		_exit(127);
	r = choose(&child);
	if (r == 0)
		r = job->frames ? write_frames(&child) : name_all(&child, cache_dir);
	if (r < 0)
		refuse(&child, r);
	_exit(fflush(child.to) == 0 ? 0 : 1);
}
