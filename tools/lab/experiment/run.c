// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The services of a run for its experiments: traces of the programs, and running all programs at
 * once.
 *
 * Traces are kept under OUT/traces, so the second experiment on a program reads what the first
 * recorded; a trace is there under its name only when it is whole. Each child of
 * lab_run_each_program() owns its trace and its cursor, and hands its figures back through one
 * shared mapping in which no two write the same bytes.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BATCH_EVENTS 4096

void *lab_alloc(size_t cnt, size_t bytes)
{
	void *memory = calloc(cnt ? cnt : 1, bytes ? bytes : 1);

	if (!memory)
		lab_fail("out of memory");
	return memory;
}

static void make_folders(char *path)
{
	for (char *at = path + 1; (at = strchr(at, '/')); at++) {
		*at = '\0';
		if (mkdir(path, 0777) && errno != EEXIST)
			lab_fail("%s: %s", path, strerror(errno));
		*at = '/';
	}
}

char *lab_run_path(const struct lab_run *run, const char *format, ...)
{
	char *name, *path;
	va_list args;
	int r;

	va_start(args, format);
	r = vasprintf(&name, format, args);
	va_end(args);
	if (r < 0 || asprintf(&path, "%s/%s", run->out, name) < 0)
		lab_fail("out of memory");
	free(name);
	make_folders(path);
	return path;
}

FILE *lab_run_create(const struct lab_run *run, const char *name, const char *suffix)
{
	char *path = lab_run_path(run, "%s%s", name, suffix);
	FILE *file = fopen(path, "we");

	if (!file)
		lab_fail("%s: %s", path, strerror(errno));
	free(path);
	return file;
}

void lab_run_close(FILE *file, const char *name)
{
	bool bad = ferror(file);

	if (fclose(file) || bad)
		lab_fail("%s: not all of it could be written", name);
}

size_t lab_run_program_cnt(const struct lab_run *run)
{
	return run->program_cnt;
}

const struct lab_program *lab_run_program(const struct lab_run *run, size_t index)
{
	return index < run->program_cnt ? run->programs[index] : NULL;
}

bool lab_run_small(const struct lab_run *run)
{
	return run->small;
}

uint64_t lab_run_window_insns(const struct lab_run *run)
{
	return run->small ? 10000000 : 100000000;
}

static const char *const kind_names[] = {"branches", "loads", "memory"};
static const char *const kind_options[] = {NULL, "--loads", "--memory"};

/*
 * The most words that the tracer may record. A block takes one word, a load with its value five, an
 * access without a value three. The compiler's trace holds the 16 million loads of RPS figure 7 in
 * either setting.
 */
static uint64_t limit(const struct lab_run *run, const struct lab_program *program,
		      enum lab_trace_kind kind)
{
	static const uint64_t small[] = {20000000, 30000000, 30000000};
	static const uint64_t full[] = {200000000, 110000000, 500000000};

	if (kind == LAB_TRACE_LOADS && strcmp(program->name, "cc1") == 0)
		return full[kind];
	return run->small ? small[kind] : full[kind];
}

static char *tracer_path(void)
{
	char self[PATH_MAX], *path;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		lab_fail("/proc/self/exe: %s", strerror(errno));
	self[len] = '\0';
	if (asprintf(&path, "%s/pathprof-trace", dirname(self)) < 0)
		lab_fail("out of memory");
	if (access(path, X_OK))
		lab_fail("%s: %s", path, strerror(errno));
	return path;
}

#define WORDS_MAX 64

/* The words of a command while it is put together. */
struct words {
	const char *words[WORDS_MAX];
	size_t cnt;
};

static void add_word(struct words *words, const char *word)
{
	if (words->cnt < WORDS_MAX - 1)
		words->words[words->cnt++] = word;
}

/* Never returns: executes the tracer with these words, then the program's own. */
static void execute(struct words *words, const struct lab_program *program, const char *dir)
{
	add_word(words, "--");
	for (const char *const *command = lab_program_command(program); *command; command++)
		add_word(words, *command);
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (chdir(dir))
		_exit(126);
	lab_program_environment(program);
	execv(words->words[0], (char *const *)words->words);
	_exit(127);
}

static int run_tracer(const struct lab_run *run, const struct lab_program *program,
		      struct words *words)
{
	char *dir = lab_run_path(run, "inputs/%s/", program->name);
	int status;
	pid_t pid;

	lab_program_prepare(program, dir);
	pid = fork();
	if (pid < 0)
		lab_fail("fork: %s", strerror(errno));
	if (pid == 0)
		execute(words, program, dir);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			lab_fail("waitpid: %s", strerror(errno));
	free(dir);
	return status;
}

static void fail_run(const struct lab_run *run, const struct lab_program *program, int status)
{
	char *dir = lab_run_path(run, "inputs/%s/", program->name);

	lab_fail("%s: no whole trace of it was made (exit status %d, see %smessages); is %s "
		 "installed?",
		 program->name, WIFEXITED(status) ? WEXITSTATUS(status) : -1, dir,
		 program->package);
}

bool lab_trace_is_whole(const char *path)
{
	struct pathprof_trace *trace;
	bool whole;

	if (pathprof_trace_open(&trace, path, NULL) < 0)
		return false;
	whole = pathprof_trace_info(trace)->whole;
	pathprof_trace_free(trace);
	return whole;
}

static void record(const struct lab_run *run, const struct lab_program *program,
		   enum lab_trace_kind kind, const char *path)
{
	char *part = lab_run_path(run, "traces/%s-%s-%s.part", program->name, kind_names[kind],
				  run->small ? "small" : "full");
	char *tracer = tracer_path();
	struct words words = {{tracer, "-q", "-o", part, "--limit"}, 5};
	char limit_text[32], skip_text[32];
	int status;

	fprintf(stderr, "  %s: recording %s\n", program->name, kind_names[kind]);
	unlink(part);
	snprintf(limit_text, sizeof(limit_text), "%llu",
		 (unsigned long long)limit(run, program, kind));
	snprintf(skip_text, sizeof(skip_text), "%llu",
		 (unsigned long long)lab_program_skip(program));
	add_word(&words, limit_text);
	if (lab_program_skip(program)) {
		add_word(&words, "--skip");
		add_word(&words, skip_text);
	}
	if (kind_options[kind])
		add_word(&words, kind_options[kind]);
	status = run_tracer(run, program, &words);
	/* At the limit the program is killed, so its status says nothing; whether the file is whole
	 * does. */
	if (!lab_trace_is_whole(part))
		fail_run(run, program, status);
	if (rename(part, path))
		lab_fail("%s: %s", path, strerror(errno));
	free(part);
	free(tracer);
}

char *lab_run_paths(struct lab_run *run, const struct lab_program *program)
{
	char *path = lab_run_path(run, "paths/%s.paths", program->name);
	char *part = lab_run_path(run, "paths/%s.part", program->name);
	char *tracer = tracer_path();
	struct words words = {{tracer, "-q", "--paths", part}, 4};
	int status;

	if (access(path, R_OK)) {
		fprintf(stderr, "  %s: counting paths\n", program->name);
		unlink(part);
		status = run_tracer(run, program, &words);
		if (status)
			fail_run(run, program, status);
		if (rename(part, path))
			lab_fail("%s: %s", path, strerror(errno));
	}
	free(part);
	free(tracer);
	return path;
}

struct pathprof_trace *lab_run_trace(struct lab_run *run, const struct lab_program *program,
				     enum lab_trace_kind kind)
{
	char *path = lab_run_path(run, "traces/%s-%s-%s.trace", program->name, kind_names[kind],
				  run->small ? "small" : "full");
	struct pathprof_trace *trace;
	struct pathprof_error error;

	if (!pathprof_trace_is(path))
		record(run, program, kind, path);
	if (pathprof_trace_open(&trace, path, &error))
		lab_fail("%s", error.text);
	free(path);
	return trace;
}

/* Interactive programs leave their work to a thread of their own. */
static uint32_t busiest_stream(const struct pathprof_trace *trace)
{
	uint32_t busiest = 0;

	for (uint32_t i = 1; i < pathprof_trace_info(trace)->stream_cnt; i++)
		if (pathprof_trace_stream(trace, i)->word_cnt >
		    pathprof_trace_stream(trace, busiest)->word_cnt)
			busiest = i;
	return busiest;
}

uint32_t lab_trace_process(const struct pathprof_trace *trace)
{
	return pathprof_trace_stream(trace, busiest_stream(trace))->process;
}

void lab_trace_each(const struct pathprof_trace *trace, lab_events_fn *fn, void *context)
{
	struct pathprof_trace_event *events = lab_alloc(BATCH_EVENTS, sizeof(*events));
	struct pathprof_trace_cursor *cursor;
	struct pathprof_error error;
	ssize_t cnt;

	if (pathprof_trace_cursor_new(&cursor, trace, busiest_stream(trace), &error))
		lab_fail("%s", error.text);
	while ((cnt = pathprof_trace_read(cursor, events, BATCH_EVENTS, &error)) > 0)
		if (!fn(context, events, (size_t)cnt))
			break;
	if (cnt < 0)
		lab_fail("%s", error.text);
	pathprof_trace_cursor_free(cursor);
	free(events);
}

struct crowd {
	struct lab_run *run;
	enum lab_trace_kind kind;
	lab_program_fn *fn;
	char *results; /* shared with the children; each writes only its own */
	size_t result_bytes;
	pid_t pid[LAB_PROGRAMS_MAX]; /* 0: over */
	size_t running;
};

static void start(struct crowd *crowd, size_t index)
{
	const struct lab_program *program = crowd->run->programs[index];
	struct pathprof_trace *trace;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid < 0)
		lab_fail("fork: %s", strerror(errno));
	crowd->pid[index] = pid;
	crowd->running++;
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	trace = crowd->kind == LAB_TRACE_NONE ? NULL
					      : lab_run_trace(crowd->run, program, crowd->kind);
	crowd->fn(crowd->run, program, trace, crowd->results + index * crowd->result_bytes);
	pathprof_trace_free(trace);
	_exit(0);
}

static size_t index_of(const struct crowd *crowd, pid_t pid)
{
	for (size_t i = 0; i < crowd->run->program_cnt; i++)
		if (crowd->pid[i] == pid)
			return i;
	return SIZE_MAX;
}

static void wait_for_one(struct crowd *crowd)
{
	int status;
	pid_t pid = waitpid(-1, &status, 0);
	size_t index;

	if (pid < 0) {
		if (errno == EINTR)
			return;
		lab_fail("waitpid: %s", strerror(errno));
	}
	index = index_of(crowd, pid);
	if (index == SIZE_MAX)
		return;
	crowd->pid[index] = 0;
	crowd->running--;
	if (status)
		lab_fail("%s: this program's part of the experiment failed",
			 crowd->run->programs[index]->name);
	fprintf(stderr, "  %s: done\n", crowd->run->programs[index]->name);
}

void lab_run_each_program(struct lab_run *run, enum lab_trace_kind kind, lab_program_fn *fn,
			  void *results, size_t result_bytes)
{
	size_t bytes = run->program_cnt * result_bytes;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct crowd crowd = {.run = run, .kind = kind, .fn = fn, .result_bytes = result_bytes};

	if (!bytes)
		return;
	crowd.results =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (crowd.results == MAP_FAILED)
		lab_fail("%zu bytes for results: %s", bytes, strerror(errno));
	for (size_t i = 0; i < run->program_cnt; i++) {
		while (crowd.running >= (size_t)(processors > 0 ? processors : 1))
			wait_for_one(&crowd);
		start(&crowd, i);
	}
	while (crowd.running)
		wait_for_one(&crowd);
	memcpy(results, crowd.results, bytes);
	munmap(crowd.results, bytes);
}
