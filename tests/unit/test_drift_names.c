// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names of paths by a child: against the graph read in this process; files that are gone, of
 * another build, hostile; children that are killed; answers that no child would give. And paths of
 * two builds side by side, against sums over plain arrays.
 */
#include "test_code.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/drift/names.h"
#include "pathprof/portable.h"
#include "pathprof/events.h"
#include "pathprof/graph.h"
#include "pathprof/match.h"

extern char **environ;

#define PATHS 24

/* What came back. */
struct heard {
	int code;
	uint32_t cnt;
	struct pp_named_path paths[PATHS];
	char names[PATHS][64], sources[PATHS][256];
	size_t path_cnt, function_cnt, row_cnt;
	uint64_t first_function;
};

static void hear(void *context, int code, const struct pp_names_answer *answer)
{
	struct heard *heard = context;

	heard->cnt++;
	heard->code = code;
	heard->path_cnt = answer ? answer->path_cnt : 0;
	heard->function_cnt = answer ? answer->function_cnt : 0;
	heard->row_cnt = answer ? answer->table.row_cnt : 0;
	heard->first_function = heard->function_cnt ? answer->functions[0] : 0;
	for (size_t i = 0; i < heard->path_cnt && i < PATHS; i++) {
		heard->paths[i] = answer->paths[i];
		snprintf(heard->names[i], sizeof(heard->names[i]), "%s", answer->paths[i].name);
		snprintf(heard->sources[i], sizeof(heard->sources[i]), "%s",
			 answer->paths[i].source);
	}
}

struct desk {
	sd_event *event;
	struct pp_names *names;
	struct heard heard;
	char cache[200];
};

static void desk_init(struct desk *d)
{
	memset(d, 0, sizeof(*d));
	snprintf(d->cache, sizeof(d->cache), "%s/graphs", unit_tmpdir());
	CU_ASSERT_FATAL(sd_event_new(&d->event) >= 0);
	CU_ASSERT_EQUAL_FATAL(pp_names_new(&d->names, d->event, d->cache), 0);
}

static void desk_release(struct desk *d)
{
	pp_names_free(d->names);
	sd_event_unref(d->event);
}

static void wait_for_answer(struct desk *d)
{
	while (pp_names_busy(d->names))
		CU_ASSERT_FATAL(sd_event_run(d->event, UINT64_MAX) >= 0);
}

static void ask(struct desk *d, const struct pp_names_job *job)
{
	memset(&d->heard, 0, sizeof(d->heard));
	CU_ASSERT_EQUAL_FATAL(pp_names_ask(d->names, job, hear, &d->heard), 0);
	wait_for_answer(d);
	CU_ASSERT_EQUAL(d->heard.cnt, 1);
}

/* ---------------------------------------------------------------- a file of our own */

static const char program[] = "#include <stdlib.h>\n"
			      "__attribute__((noinline)) int helper(int x)\n"
			      "{ return x & 1 ? x * 3 + 1 : x / 2; }\n"
			      "__attribute__((noinline)) int loops(int n)\n"
			      "{ int s = 0; for (int i = 0; i < n; i++) { if (i % 3)\n"
			      "  s += helper(i); else s ^= i; } return s; }\n"
			      "int main(int argc, char **argv) { return loops(argc); }\n";

struct binary {
	char file[256];
	struct pathprof_build_id id;
	struct pp_names_path paths[PATHS];
	struct pp_named_path expected[PATHS];
	char names[PATHS][64];
	size_t path_cnt, function_cnt;
};

static void run(char *const *words)
{
	pid_t pid;
	int status = -1;

	CU_ASSERT_EQUAL_FATAL(posix_spawnp(&pid, words[0], NULL, NULL, words, environ), 0);
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT_EQUAL_FATAL(status, 0);
}

/* The oracle: the same, read here. One path a block, and one that begins at none. */
static void expect(struct binary *binary)
{
	struct pathprof_code *code = open_code(binary->file);
	struct pathprof_graph *graph = NULL;
	struct pathprof_matcher *matcher = NULL;
	const uint64_t *functions;
	uint32_t f;

	CU_ASSERT_EQUAL_FATAL(pathprof_graph_build(&graph, code, NULL, NULL, NULL), 0);
	CU_ASSERT_EQUAL_FATAL(pathprof_matcher_new(&matcher, graph), 0);
	CU_ASSERT_EQUAL(pathprof_matcher_functions(matcher, &functions, &binary->function_cnt), 0);
	f = pathprof_graph_function_named(graph, "loops");
	CU_ASSERT_NOT_EQUAL_FATAL(f, PATHPROF_GRAPH_NONE);
	for (uint32_t b = 0; b < graph->block_cnt && binary->path_cnt < PATHS - 1; b++) {
		struct pp_names_path *path = &binary->paths[binary->path_cnt];
		struct pathprof_event event;

		if (graph->blocks[b].function != f)
			continue;
		*path = (struct pp_names_path){graph->blocks[b].start, 3, 5};
		CU_ASSERT_EQUAL(pathprof_matcher_path(matcher, path->start, 3, 5, 1, &event), 0);
		binary->expected[binary->path_cnt].function = event.key_hi;
		binary->expected[binary->path_cnt].place = event.key_lo;
		strcpy(binary->names[binary->path_cnt++], "loops");
	}
	binary->paths[binary->path_cnt++] = (struct pp_names_path){1, 1, 1};
	pathprof_matcher_free(matcher);
	pathprof_graph_free(graph);
	pathprof_code_free(code);
}

static void make_binary(struct binary *binary)
{
	char source[256], words[6][16] = {"gcc", "-O2", "-g", "-w", "-o"};

	memset(binary, 0, sizeof(*binary));
	snprintf(source, sizeof(source), "%s/names.c", unit_tmpdir());
	snprintf(binary->file, sizeof(binary->file), "%s/names", unit_tmpdir());
	FILE *out = fopen(source, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(out);
	fputs(program, out);
	fclose(out);
	run((char *[]){words[0], words[1], words[2], words[3], words[4], binary->file, source,
		       NULL});
	CU_ASSERT_EQUAL_FATAL(pathprof_build_id_read_file(&binary->id, binary->file, NULL), 0);
	expect(binary);
}

static struct pp_names_job job_of(const struct binary *binary)
{
	return (struct pp_names_job){
		.id = binary->id,
		.file = binary->file,
		.paths = binary->paths,
		.path_cnt = binary->path_cnt,
	};
}

static bool is_as_expected(const struct heard *heard, const struct binary *binary)
{
	bool same = heard->code == 0 && heard->path_cnt == binary->path_cnt &&
		    heard->function_cnt == binary->function_cnt;

	for (size_t i = 0; i < binary->path_cnt && same; i++)
		same = heard->paths[i].function == binary->expected[i].function &&
		       heard->paths[i].place == binary->expected[i].place &&
		       !strcmp(heard->names[i], binary->names[i]);
	return same;
}

static void test_names(void)
{
	struct binary binary;
	struct pp_names_stats stats;
	struct pp_names_job job;
	struct desk d;

	make_binary(&binary);
	desk_init(&d);
	job = job_of(&binary);
	/* built, then out of the cache */
	for (int i = 0; i < 2; i++) {
		ask(&d, &job);
		CU_ASSERT(is_as_expected(&d.heard, &binary));
	}
	CU_ASSERT_EQUAL(access(d.cache, F_OK), 0);
	/* a planted fault: one place that is another's */
	binary.expected[1].place ^= 1;
	CU_ASSERT_FALSE(is_as_expected(&d.heard, &binary));
	pp_names_stats(d.names, &stats);
	CU_ASSERT_EQUAL(stats.jobs, 2);
	CU_ASSERT_EQUAL(stats.failed, 0);
	CU_ASSERT(stats.cpu_ns > 0);
	desk_release(&d);
}

static void test_hurry(void)
{
	struct binary binary;
	struct pp_names_job job;
	struct desk d;

	make_binary(&binary);
	desk_init(&d);
	job = job_of(&binary);
	job.hurry = true;
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, 0);
	CU_ASSERT_EQUAL(d.heard.function_cnt, 0);
	CU_ASSERT_STRING_EQUAL(d.heard.names[0], "loops");
	CU_ASSERT_PTR_NOT_NULL(strstr(d.heard.sources[0], "names.c:"));
	CU_ASSERT_STRING_EQUAL(d.heard.names[binary.path_cnt - 1], "");
	desk_release(&d);
}

static void test_frames(void)
{
	struct pathprof_unwind_table table;
	struct pathprof_code *code;
	struct binary binary;
	struct pp_names_job job;
	struct desk d;

	make_binary(&binary);
	code = open_code(binary.file);
	CU_ASSERT_EQUAL_FATAL(pathprof_unwind_table_new(&table, code, PP_NAMES_ROWS_MAX), 0);
	pathprof_code_free(code);
	desk_init(&d);
	job = (struct pp_names_job){.id = binary.id, .file = binary.file, .frames = true};
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, 0);
	CU_ASSERT_EQUAL(d.heard.row_cnt, table.row_cnt);
	job.id.bytes[0] ^= 1;
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, -ENOENT);
	pathprof_unwind_table_release(&table);
	desk_release(&d);
}

/* Rows that are no table are no answer. */
static void test_frames_checked(void)
{
	struct {
		struct pp_names_head head;
		struct pathprof_unwind_row rows[2];
	} bytes = {{.magic = PP_NAMES_MAGIC, .row_cnt = 2}, {{.start = 1}, {.start = 2}}};
	struct pp_names_answer answer;
	int code;

	CU_ASSERT_EQUAL_FATAL(pp_names_parse(&bytes, sizeof(bytes), 0, &code, &answer), 0);
	CU_ASSERT_EQUAL(answer.table.row_cnt, 2);
	pp_names_answer_release(&answer);
	CU_ASSERT_EQUAL(pp_names_parse(&bytes, sizeof(bytes) - 1, 0, &code, &answer), -EBADMSG);
	bytes.rows[1].start = 1;
	CU_ASSERT_EQUAL(pp_names_parse(&bytes, sizeof(bytes), 0, &code, &answer), -EBADMSG);
	bytes.head.row_cnt = PP_NAMES_ROWS_MAX + 1;
	CU_ASSERT_EQUAL(pp_names_parse(&bytes, sizeof(bytes), 0, &code, &answer), -EBADMSG);
}

/* Removed while it runs: found behind the mapping. Replaced: not mistaken for it. */
static void test_file_that_moved(void)
{
	struct binary binary;
	struct pp_names_job job;
	struct desk d;
	char name[300];
	pid_t pid = fork();

	if (pid == 0) {
		pause();
		_exit(0);
	}
	make_binary(&binary);
	desk_init(&d);
	job = job_of(&binary);
	snprintf(name, sizeof(name), "%s.old", binary.file);
	CU_ASSERT_EQUAL(rename(binary.file, name), 0);
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, -ENOENT);
	/* another file lies there now */
	run((char *[]){(char *)"/bin/cp", (char *)"/bin/true", binary.file, NULL});
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, -ENOENT);
	/* by the root of a process, which is ours here */
	job.file = name;
	job.pids[0] = pid;
	job.pid_cnt = 1;
	ask(&d, &job);
	CU_ASSERT(is_as_expected(&d.heard, &binary));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	desk_release(&d);
}

/* Its file is removed while it is mapped at that address. */
static void name_mapped_at(void *address)
{
	struct binary binary;
	struct pp_names_job job;
	struct desk d;
	int ready[2];
	char c;

	make_binary(&binary);
	CU_ASSERT_EQUAL_FATAL(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		int fd = open(binary.file, O_RDONLY);

		if (mmap(address, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED_NOREPLACE,
			 fd, 0) != address)
			_exit(1);
		(void)!write(ready[1], "r", 1);
		pause();
		_exit(0);
	}
	CU_ASSERT_EQUAL(read(ready[0], &c, 1), 1);
	desk_init(&d);
	job = job_of(&binary);
	job.pids[0] = pid;
	job.pid_cnt = 1;
	CU_ASSERT_EQUAL(unlink(binary.file), 0);
	ask(&d, &job);
	CU_ASSERT(geteuid() != 0 || is_as_expected(&d.heard, &binary));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready[0]);
	close(ready[1]);
	desk_release(&d);
}

/* Addresses below 0x10000000, as of programs that are no PIE, have leading zeros in maps. */
static void test_mapped_file(void)
{
	name_mapped_at((void *)0x7e0000000000);
	name_mapped_at((void *)0x400000);
}

/* ---------------------------------------------------------------- files of enemies */

/* The file with some of its bytes drawn anew, its identity kept: the child may say what it likes,
 * but it ends, and so does the waiting. */
static void spoil(const struct binary *binary, const char *name, uint32_t seed)
{
	static unsigned char bytes[1 << 17];
	FILE *file = fopen(binary->file, "re");
	size_t len = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

	fclose(file);
	for (int i = 0; i < 400; i++) {
		size_t at;

		seed = seed * 1103515245 + 12345;
		at = 0x400 + (seed >> 8) % (len - 0x400);
		bytes[at] = (unsigned char)(seed >> 16);
	}
	file = fopen(name, "we");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fwrite(bytes, 1, len, file);
	fclose(file);
}

static void test_hostile_files(void)
{
	struct binary binary;
	struct pp_names_job job;
	struct desk d;
	char name[300];

	make_binary(&binary);
	desk_init(&d);
	snprintf(name, sizeof(name), "%s/bad", unit_tmpdir());
	job = job_of(&binary);
	job.file = name;
	for (uint32_t seed = 1; seed <= 8; seed++) {
		spoil(&binary, name, seed);
		ask(&d, &job);
		CU_ASSERT(d.heard.code <= 0);
	}
	/* what would block, act or hang when opened */
	unlink(name);
	CU_ASSERT_EQUAL(mkfifo(name, 0600), 0);
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, -ENOENT);
	job.file = "/dev/zero";
	ask(&d, &job);
	CU_ASSERT_EQUAL(d.heard.code, -ENOENT);
	desk_release(&d);
}

/* ---------------------------------------------------------------- children that die */

static pid_t only_child(void)
{
	char path[64], text[64] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	if (file && !fgets(text, sizeof(text), file))
		text[0] = '\0';
	if (file)
		fclose(file);
	return (pid_t)atoi(text);
}

/* One that was killed may not have died yet, nor may its parent have looked again. */
static int child_runs_on(void)
{
	pid_t child = only_child();

	for (int i = 0; i < 6000; i++) {
		siginfo_t ended = {.si_pid = 0};

		if (!child || waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) ||
		    ended.si_pid == child)
			return 0;
		usleep(10000);
	}
	return 1;
}

static void test_killed(void)
{
	struct binary binary;
	struct pp_names_stats stats;
	struct pp_names_job job;
	struct desk d;

	make_binary(&binary);
	desk_init(&d);
	job = job_of(&binary);
	CU_ASSERT_EQUAL_FATAL(pp_names_ask(d.names, &job, hear, &d.heard), 0);
	CU_ASSERT_EQUAL(pp_names_ask(d.names, &job, hear, &d.heard), -EBUSY);
	CU_ASSERT(only_child() > 0);
	kill(only_child(), SIGKILL);
	wait_for_answer(&d);
	/* it may have been done before */
	CU_ASSERT(d.heard.cnt == 1 && d.heard.code <= 0);
	/* cut off in the middle: nothing of it counts */
	memset(&d.heard, 0, sizeof(d.heard));
	CU_ASSERT_EQUAL_FATAL(pp_names_ask(d.names, &job, hear, &d.heard), 0);
	kill(only_child(), SIGSTOP);
	kill(only_child(), SIGKILL);
	wait_for_answer(&d);
	CU_ASSERT_EQUAL(d.heard.cnt, 1);
	/* put off */
	memset(&d.heard, 0, sizeof(d.heard));
	CU_ASSERT_EQUAL_FATAL(pp_names_ask(d.names, &job, hear, &d.heard), 0);
	pp_names_cancel(d.names);
	CU_ASSERT(d.heard.cnt == 1 && d.heard.code == -ECANCELED && !pp_names_busy(d.names));
	CU_ASSERT(!child_runs_on());
	/* and it works as before */
	ask(&d, &job);
	CU_ASSERT(is_as_expected(&d.heard, &binary));
	pp_names_stats(d.names, &stats);
	CU_ASSERT_EQUAL(stats.jobs, 4);
	/* freed while one runs */
	CU_ASSERT_EQUAL_FATAL(pp_names_ask(d.names, &job, hear, &d.heard), 0);
	desk_release(&d);
	CU_ASSERT(!child_runs_on());
}

/* A process that holds another in its exit until it is killed itself. 0: it may not. */
static pid_t hold_exit(pid_t pid)
{
	int told[2];
	pid_t holder;
	char ok = 0;

	CU_ASSERT_EQUAL_FATAL(pipe(told), 0);
	holder = fork();
	CU_ASSERT_FATAL(holder >= 0);
	if (holder == 0) {
		ok = ptrace(PTRACE_SEIZE, pid, NULL, PTRACE_O_TRACEEXIT) == 0;
		(void)!write(told[1], &ok, 1);
		pause();
		_exit(0);
	}
	CU_ASSERT_EQUAL(read(told[0], &ok, 1), 1);
	close(told[0]);
	close(told[1]);
	if (ok)
		return holder;
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	return 0;
}

static uint64_t cpu_of(const struct desk *d)
{
	struct pp_names_stats stats;

	pp_names_stats(d->names, &stats);
	return stats.cpu_ns;
}

/* Whether the child of a new job is stopped; on a busy machine it may have been done before. */
static bool stops(struct desk *d, const struct pp_names_job *job)
{
	siginfo_t stopped = {.si_code = 0};

	CU_ASSERT_EQUAL_FATAL(pp_names_ask(d->names, job, hear, &d->heard), 0);
	kill(only_child(), SIGSTOP);
	CU_ASSERT_EQUAL(waitid(P_PID, (id_t)only_child(), &stopped, WSTOPPED | WEXITED | WNOWAIT),
			0);
	if (stopped.si_code == CLD_STOPPED)
		return true;
	wait_for_answer(d);
	return false;
}

/* A child that does not die at once when it is put off: what it has used stays counted. */
static void test_dies_late(void)
{
	struct binary binary;
	struct pp_names_job job;
	struct desk d;
	uint64_t before_ns, after_ns;
	bool is_stopped = false;
	pid_t holder;

	make_binary(&binary);
	desk_init(&d);
	job = job_of(&binary);
	for (int i = 0; i < 100 && !is_stopped; i++)
		is_stopped = stops(&d, &job);
	CU_ASSERT_FATAL(is_stopped);
	before_ns = cpu_of(&d);
	CU_ASSERT(before_ns > 0);
	holder = hold_exit(only_child());
	if (!holder) {
		unit_skip("no right to trace the child");
		desk_release(&d);
		return;
	}
	pp_names_cancel(d.names);
	after_ns = cpu_of(&d);
	CU_ASSERT(after_ns >= before_ns);
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	CU_ASSERT(!child_runs_on());
	ask(&d, &job);
	CU_ASSERT(is_as_expected(&d.heard, &binary));
	CU_ASSERT(cpu_of(&d) >= after_ns);
	CU_ASSERT_EQUAL(only_child(), 0);
	desk_release(&d);
}

/* ---------------------------------------------------------------- answers no child gives */

static int parse(const void *bytes, size_t len, size_t path_cnt)
{
	struct pp_names_answer answer = {.path_cnt = 0};
	int code = 0, r = pp_names_parse(bytes, len, path_cnt, &code, &answer);

	if (r == 0)
		pp_names_answer_release(&answer);
	return r < 0 ? r : code;
}

static void test_answers(void)
{
	struct {
		struct pp_names_head head;
		uint64_t functions[2];
		struct pp_names_record record;
		char texts[8];
	} good =
		{
			.head = {PP_NAMES_MAGIC, 0, 2, 1},
			.functions = {5, 9},
			.record = {.function = 5, .place = 6, .name_bytes = 3, .source_bytes = 5},
			.texts = {'a', '\033', 'c', 'x', '.', 'c', ':', '1'},
		},
	  bad;
	struct pp_names_answer answer;
	int code = 1;

	CU_ASSERT_EQUAL_FATAL(pp_names_parse(&good, sizeof(good), 1, &code, &answer), 0);
	CU_ASSERT_EQUAL(code, 0);
	CU_ASSERT_STRING_EQUAL(answer.paths[0].name, "a?c");
	CU_ASSERT_STRING_EQUAL(answer.paths[0].source, "x.c:1");
	CU_ASSERT(answer.function_cnt == 2 && answer.functions[1] == 9);
	pp_names_answer_release(&answer);
	bad = good;
	memcpy(bad.texts, "\302\233mx\303\251:1", sizeof(bad.texts));
	CU_ASSERT_EQUAL_FATAL(pp_names_parse(&bad, sizeof(bad), 1, &code, &answer), 0);
	CU_ASSERT_STRING_EQUAL(answer.paths[0].name, "??m");
	CU_ASSERT_STRING_EQUAL(answer.paths[0].source, "x\303\251:1");
	pp_names_answer_release(&answer);
	for (size_t len = 0; len < sizeof(good); len++)
		CU_ASSERT_EQUAL(parse(&good, len, 1), -EBADMSG);
	CU_ASSERT_EQUAL(parse(&good, sizeof(good), 2), -EBADMSG);
	bad = good;
	bad.functions[1] = 5;
	CU_ASSERT_EQUAL(parse(&bad, sizeof(bad), 1), -EBADMSG);
	bad = good;
	bad.record.name_bytes = 2;
	CU_ASSERT_EQUAL(parse(&bad, sizeof(bad), 1), -EBADMSG);
	bad = good;
	bad.head.function_cnt = UINT32_MAX;
	CU_ASSERT_EQUAL(parse(&bad, sizeof(bad), 1), -EBADMSG);
	bad = good;
	bad.head.code = 5;
	CU_ASSERT_EQUAL(parse(&bad, sizeof(bad), 1), -EBADMSG);
	bad.head.code = -ENOENT;
	CU_ASSERT_EQUAL(parse(&bad, sizeof(bad), 1), -ENOENT);
}

/* ---------------------------------------------------------------- two builds side by side */

#define EVENTS    40
#define FUNCTIONS 10

static uint64_t state;

static uint32_t draw(uint32_t bound)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((state >> 33) % bound);
}

/* A build: path i has key 1000 * build + i, function 100 + i % FUNCTIONS, place i. */
struct side {
	struct pathprof_portable *portable;
	struct pathprof_tally counts;
	bool named[EVENTS], nameless[EVENTS], has[FUNCTIONS];
	double weights[EVENTS];
};

static void make_side(struct side *side, uint8_t number, bool all_named)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};
	struct pathprof_portable_path paths[EVENTS];
	struct pathprof_event events[EVENTS];
	uint64_t *functions = malloc(FUNCTIONS * sizeof(*functions));
	size_t path_cnt = 0, function_cnt = 0;

	memset(side, 0, sizeof(*side));
	memset(id.bytes, number, sizeof(id.bytes));
	side->portable = pathprof_portable_new(&id);
	for (uint64_t f = 0; f < FUNCTIONS; f++) {
		side->has[f] = draw(4) > 0;
		if (side->has[f])
			functions[function_cnt++] = 100 + f;
	}
	pathprof_portable_set_functions(side->portable, functions, function_cnt);
	for (uint64_t i = 0; i < EVENTS; i++) {
		uint64_t key = 1000u * number + i;

		side->weights[i] = 1 + draw(50);
		events[i] = (struct pathprof_event){
			.key_hi = 1, .key_lo = key, .weight = side->weights[i]};
		/* a path that runs is in a function that is there */
		side->nameless[i] = !side->has[i % FUNCTIONS];
		side->named[i] = all_named || draw(8) > 0;
		if (side->named[i])
			paths[path_cnt++] = (struct pathprof_portable_path){
				key, side->nameless[i] ? 0 : 100 + i % FUNCTIONS, i};
	}
	CU_ASSERT_EQUAL(pathprof_portable_add(side->portable, paths, path_cnt), 0);
	/* again: nothing doubles */
	CU_ASSERT_EQUAL(pathprof_portable_add(side->portable, paths, path_cnt / 2), 0);
	CU_ASSERT_EQUAL(side->portable->path_cnt, path_cnt);
	CU_ASSERT_EQUAL(pathprof_tally_add(&side->counts, events, EVENTS), 0);
}

static void free_side(struct side *side)
{
	pathprof_portable_unref(side->portable);
	pathprof_tally_release(&side->counts);
}

/* The weight that a side should have of one portable path. */
static double expected(const struct side *side, const struct side *other, uint64_t place)
{
	return side->named[place] && !side->nameless[place] && other->has[place % FUNCTIONS]
		       ? side->weights[place]
		       : 0;
}

static bool is_sum(const struct pathprof_tally *counts, const struct side *side,
		   const struct side *other)
{
	double want = 0, have = 0;
	bool same = true;

	for (uint64_t i = 0; i < EVENTS; i++)
		want += expected(side, other, i);
	for (size_t i = 0; i < counts->cnt; i++) {
		const struct pathprof_event *event = &counts->events[i];

		have += event->weight;
		same &= event->key_lo < EVENTS &&
			event->key_hi == 100 + event->key_lo % FUNCTIONS &&
			event->weight == expected(side, other, event->key_lo);
	}
	return same && want == have;
}

static void test_pairs(void)
{
	state = 5;
	for (int round = 0; round < 50; round++) {
		struct pathprof_portable_pair pair;
		struct side a, b;
		double matched = 0, total = 0;

		make_side(&a, 1, true);
		make_side(&b, 2, true);
		CU_ASSERT_EQUAL_FATAL(
			pathprof_portable_pair(&pair, &a.counts, a.portable, &b.counts, b.portable),
			0);
		CU_ASSERT(is_sum(&pair.window, &a, &b));
		CU_ASSERT(is_sum(&pair.base, &b, &a));
		for (uint64_t i = 0; i < EVENTS; i++) {
			matched += expected(&a, &b, i);
			total += a.weights[i];
		}
		CU_ASSERT_DOUBLE_EQUAL(pair.matched, matched / total, 1e-12);
		/* a planted fault: one sample of another path */
		if (pair.window.cnt) {
			pair.window.events[0].weight++;
			CU_ASSERT_FALSE(is_sum(&pair.window, &a, &b));
		}
		pathprof_portable_pair_release(&pair);
		free_side(&a);
		free_side(&b);
	}
}

static double weight_of(const struct pathprof_tally *counts, uint64_t hi)
{
	double weight = 0;

	for (size_t i = 0; i < counts->cnt; i++)
		if (counts->events[i].key_hi == hi)
			weight += counts->events[i].weight;
	return weight;
}

/*
 * What has no name yet on one side is not drift: a program that did not change, whose old build had
 * some of its paths unnamed, has as large a share of unnamed on both sides.
 */
static void test_unnamed(void)
{
	state = 6;
	for (int round = 0; round < 50; round++) {
		struct pathprof_portable_pair pair;
		struct side a, b;
		double of_a, of_b, most = 0;

		make_side(&a, 1, round & 1);
		make_side(&b, 2, !(round & 1));
		for (int f = 0; f < FUNCTIONS; f++)
			a.has[f] |= b.has[f];
		CU_ASSERT_EQUAL_FATAL(
			pathprof_portable_pair(&pair, &a.counts, a.portable, &b.counts, b.portable),
			0);
		of_a = weight_of(&pair.window, PATHPROF_PORTABLE_UNNAMED_HI) / pair.window.total;
		of_b = weight_of(&pair.base, PATHPROF_PORTABLE_UNNAMED_HI) / pair.base.total;
		/* up to the last path that was given up, of weight 50 at most, and a share that
		   nothing was left for */
		most = 50 / pair.window.total + 50 / pair.base.total;
		CU_ASSERT(round & 1 ? of_a <= of_b + most : of_b <= of_a + most);
		pathprof_portable_pair_release(&pair);
		free_side(&a);
		free_side(&b);
	}
}

/* A build with so many functions, of a program whose builds all do the same. */
static void make_same(struct side *side, uint8_t number, const double *weights, uint64_t functions,
		      const bool *named)
{
	struct pathprof_build_id id = {.len_bytes = 20, .kind = PATHPROF_ID_BUILD_ID};
	struct pathprof_portable_path path;
	struct pathprof_event event;
	uint64_t *keys = malloc(functions * sizeof(*keys));

	memset(side, 0, sizeof(*side));
	memset(id.bytes, number, sizeof(id.bytes));
	side->portable = pathprof_portable_new(&id);
	for (uint64_t f = 0; f < functions; f++)
		keys[f] = 100 + f;
	pathprof_portable_set_functions(side->portable, keys, functions);
	for (uint64_t i = 0; i < EVENTS; i++) {
		if (i % FUNCTIONS >= functions)
			continue;
		event = (struct pathprof_event){
			.key_hi = 1, .key_lo = 1000u * number + i, .weight = weights[i]};
		path = (struct pathprof_portable_path){event.key_lo, 100 + i % FUNCTIONS, i};
		CU_ASSERT_EQUAL(pathprof_tally_add(&side->counts, &event, 1), 0);
		if (named[i])
			CU_ASSERT_EQUAL(pathprof_portable_add(side->portable, &path, 1), 0);
	}
}

/* Half of the sum of what each event's shares differ by. */
static double distance(const struct pathprof_tally *a, const struct pathprof_tally *b)
{
	double sum = 0, shared = 0;

	for (size_t i = 0; i < a->cnt; i++)
		for (size_t k = 0; k < b->cnt; k++)
			if (pathprof_event_order(&a->events[i], &b->events[k]) == 0) {
				double p = a->events[i].weight / a->total;
				double q = b->events[k].weight / b->total;

				sum += fabs(p - q);
				shared += p + q;
			}
	return (sum + 2 - shared) / 2;
}

/*
 * On a busy machine names come late, and those of some functions first. A new build that does what
 * the one before did, half of it in functions of its own, does not drift for that.
 */
static void test_named_in_part(void)
{
	state = 8;
	for (int round = 0; round < 50; round++) {
		struct pathprof_portable_pair pair;
		struct side a, b;
		double weights[EVENTS];
		bool all[EVENTS], some[EVENTS];

		for (uint64_t i = 0; i < EVENTS; i++) {
			weights[i] = 100 + draw(500);
			all[i] = true;
			some[i] = i % FUNCTIONS >= FUNCTIONS / 2 || i < FUNCTIONS;
		}
		make_same(&a, 1, weights, FUNCTIONS, some);
		make_same(&b, 2, weights, FUNCTIONS / 2, all);
		CU_ASSERT_EQUAL_FATAL(
			pathprof_portable_pair(&pair, &a.counts, a.portable, &b.counts, b.portable),
			0);
		CU_ASSERT(pair.window.total > 0 && pair.matched < 0.3);
		CU_ASSERT(distance(&pair.window, &pair.base) < 0.001);
		pathprof_portable_pair_release(&pair);
		/* and the other way round, where the baseline lacks names */
		CU_ASSERT_EQUAL_FATAL(
			pathprof_portable_pair(&pair, &b.counts, b.portable, &a.counts, a.portable),
			0);
		CU_ASSERT(distance(&pair.window, &pair.base) < 0.001);
		pathprof_portable_pair_release(&pair);
		free_side(&a);
		free_side(&b);
	}
}

static void test_unknown_functions(void)
{
	struct pathprof_portable_pair pair;
	struct side a, b;

	state = 7;
	make_side(&a, 1, true);
	make_side(&b, 2, true);
	pathprof_portable_set_functions(a.portable, NULL, 0);
	CU_ASSERT_EQUAL(pathprof_portable_pair(&pair, &a.counts, a.portable, &b.counts, b.portable),
			-ENODATA);
	free_side(&a);
	free_side(&b);
}

static const struct unit_test tests[] = {
	{"the table of frames is that of the file", test_frames},
	{"rows of frames that are no table are refused", test_frames_checked},
	{"a child names paths as the graph does", test_names},
	{"in a hurry it names functions and lines", test_hurry},
	{"a file that moved is found, another in its place is not taken for it",
	 test_file_that_moved},
	{"a file that was removed is read behind its mapping", test_mapped_file},
	{"hostile files end in an answer", test_hostile_files},
	{"a child that dies costs its answer only", test_killed},
	{"a child that dies late costs what it has used", test_dies_late},
	{"answers that no child gives are refused", test_answers},
	{"two builds are compared over what both can have", test_pairs},
	{"what has no name yet is no drift", test_unnamed},
	{"names of some functions first are no drift", test_named_in_part},
	{"a build whose functions are not known is not compared", test_unknown_functions},
};
UNIT_SUITE(drift_names, tests)
