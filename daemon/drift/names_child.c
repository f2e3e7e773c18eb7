// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The child that reads a binary's file: see names.h. It comes from fork in a process that may have
 * threads; it only allocates, reads files and writes to its pipe.
 *
 * Where the file is: under the root of a process that maps it, as that one names it; when it was
 * replaced or removed since, behind the mapping itself (/proc/PID/map_files); or under its name
 * here. Which of them is the right one its build-id says.
 */
#include "names.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "pathprof/code.h"
#include "pathprof/graph.h"
#include "pathprof/match.h"

#define ANSWER_FD       3
#define MORE_BYTES      (UINT64_C(1) << 30) /* of address space, files mapped included */
#define MORE_DATA_BYTES (UINT64_C(512) << 20)
#define CPU_S           30
#define CACHE_BYTES     (UINT64_C(128) << 20)
#define NAME_BYTES_MAX  (PP_NAMES_TEXT_MAX - 1)

struct child {
	const struct pp_names_job *job;
	struct pathprof_code *code;
	struct pathprof_graph *graph; /* NULL in a hurry */
	struct pathprof_matcher *matcher;
	FILE *to;
};

/* ---------------------------------------------------------------- bounds */

/* Bytes that are mapped now: of the whole, and of data. */
static void mapped_now(uint64_t *ret_bytes, uint64_t *ret_data_bytes)
{
	unsigned long long pages = 0, data = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	if (file && fscanf(file, "%llu %*u %*u %*u %*u %llu", &pages, &data) != 2)
		pages = data = 0;
	if (file)
		fclose(file);
	*ret_bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	*ret_data_bytes = data * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void set_limit(int resource, uint64_t value)
{
	const struct rlimit limit = {value, value};

	/* a lower one that holds already is as good */
	setrlimit((__rlimit_resource_t)resource, &limit);
}

static void set_limits(void)
{
	uint64_t bytes, data_bytes;

	mapped_now(&bytes, &data_bytes);
#ifndef __SANITIZE_ADDRESS__ /* which maps terabytes for itself */
	set_limit(RLIMIT_AS, bytes + MORE_BYTES);
	set_limit(RLIMIT_DATA, data_bytes + MORE_DATA_BYTES);
#endif
	set_limit(RLIMIT_CPU, CPU_S);
	set_limit(RLIMIT_CORE, 0);
}

/* Rights to look at others' files, until the file has been found; then none. */
static const int to_find[] = {CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE};

static void keep_rights(const int *kept, size_t cnt)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {{0}};

	if (syscall(SYS_capget, &head, data) < 0)
		return;
	for (unsigned int i = 0; i < 2; i++) {
		uint32_t mask = 0;

		for (size_t k = 0; k < cnt; k++)
			if ((unsigned int)CAP_TO_INDEX(kept[k]) == i)
				mask |= CAP_TO_MASK(kept[k]);
		data[i].permitted &= mask;
		data[i].effective &= mask;
		data[i].inheritable = 0;
	}
	(void)syscall(SYS_capset, &head, data);
}

/* When memory gets short, this one goes first and not the service. */
static void be_expendable(void)
{
	FILE *file = fopen("/proc/self/oom_score_adj", "we");

	if (!file)
		return;
	fputs("1000", file);
	fclose(file);
}

static void be_modest(bool hurry)
{
	/* not SCHED_IDLE: on a busy machine that would never end */
	if (!hurry)
		setpriority(PRIO_PROCESS, 0, 19);
}

static void default_signals(void)
{
	sigset_t none;

	for (int i = 1; i < _NSIG; i++)
		if (i != SIGPIPE)
			signal(i, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* ---------------------------------------------------------------- the file */

static int try_file(struct child *child, const char *path)
{
	return pathprof_code_open(&child->code, path, &child->job->id, NULL);
}

static int try_root(struct child *child, pid_t pid)
{
	char path[PATH_MAX];

	if (child->job->file[0] != '/' || snprintf(path, sizeof(path), "/proc/%d/root%s", pid,
						   child->job->file) >= (int)sizeof(path))
		return -ENOENT;
	return try_file(child, path);
}

/* A line of maps of that file (deleted or not), executable: the range's text. */
static bool maps_it(const struct child *child, const char *line, char range[64])
{
	const char *file = strchr(line, '/');
	size_t len = strlen(child->job->file);
	char rights[8];

	if (!file || sscanf(line, "%63s %7s", range, rights) != 2 || !strchr(rights, 'x'))
		return false;
	return strncmp(file, child->job->file, len) == 0 &&
	       (file[len] == '\n' || file[len] == '\0' || file[len] == ' ');
}

static int try_mappings(struct child *child, pid_t pid)
{
	char path[128], range[64], line[PATH_MAX + 256];
	FILE *maps;
	int r = -ENOENT;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	maps = fopen(path, "re");
	while (maps && r < 0 && fgets(line, sizeof(line), maps)) {
		if (!maps_it(child, line, range))
			continue;
		snprintf(path, sizeof(path), "/proc/%d/map_files/%s", pid, range);
		r = try_file(child, path);
	}
	if (maps)
		fclose(maps);
	return r;
}

static int find_file(struct child *child)
{
	const struct pp_names_job *job = child->job;
	int r = -ENOENT;

	for (uint32_t i = 0; i < job->pid_cnt && r < 0; i++)
		r = try_root(child, job->pids[i]);
	if (r < 0 && job->file[0] == '/')
		r = try_file(child, job->file);
	for (uint32_t i = 0; i < job->pid_cnt && r < 0; i++)
		r = try_mappings(child, job->pids[i]);
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
	default_signals();
	/* the daemon's files, locks and sockets are not ours to keep open */
	if (fd != ANSWER_FD && dup2(fd, ANSWER_FD) < 0)
		_exit(127);
	if (close_range(ANSWER_FD + 1, ~0u, 0) < 0)
		_exit(127);
	be_expendable();
	set_limits();
	be_modest(job->hurry);
	keep_rights(to_find, sizeof(to_find) / sizeof(to_find[0]));
	/* nothing is fetched over the network for a name */
	unsetenv("DEBUGINFOD_URLS");
	child.to = fdopen(ANSWER_FD, "w");
	if (!child.to)
		_exit(127);
	r = find_file(&child);
	keep_rights(NULL, 0);
	if (r == 0)
		r = name_all(&child, cache_dir);
	if (r < 0)
		refuse(&child, r);
	_exit(fflush(child.to) == 0 ? 0 : 1);
}
