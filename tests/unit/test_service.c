// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The whole service with a source that is made up: bursts go in, windows lie in the store, and an
 * alert comes out at the socket and in the store. All else is as in pathprofd: the event loop, the
 * tracker, the profile, drift and its child that reads names.
 *
 * The program that the bursts speak of is real, a cat that waits for input, so that the tracker
 * finds its file and the child its names. It runs none of the branches; the source says it did.
 */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/privilege.h"
#include "../../daemon/service_state.h"
#include "../../daemon/shared/outlet.h"
#include "../../daemon/user_time.h"

#define WAYS     16
#define BRANCHES 33 /* in a burst; each but the last begins a path */
#define BURSTS   60 /* in a window */
#define PATHS    ((uint64_t)BURSTS * (BRANCHES - 1))
#define PASSED   3 /* samples that the source passes over in a window */
#define TRIES    60000

/* ---------------------------------------------------------------- a program */

struct program {
	pid_t pid;
	int input;             /* it ends when this closes */
	uint64_t code, offset; /* where its code lies, in memory and in the file */
	char file[256];
};

/* False until it runs a program of its own: its code comes from another file than this test's. */
static bool find_code(struct program *program)
{
	char path[64], line[512], rights[8], own[256];
	ssize_t len = readlink("/proc/self/exe", own, sizeof(own) - 1);
	bool found = false;
	FILE *maps;

	own[len > 0 ? len : 0] = '\0';
	snprintf(path, sizeof(path), "/proc/%d/maps", program->pid);
	maps = fopen(path, "re");
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%lx-%*x %7s %lx %*s %*u %255s", &program->code, rights,
			       &program->offset, program->file) == 4 &&
			strchr(rights, 'x') && strstr(program->file, "cat");
	if (maps)
		fclose(maps);
	return found && strcmp(program->file, own) != 0;
}

static struct program start_program(void)
{
	struct program program = {.pid = -1};
	int ends[2];

	CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
	program.pid = fork();
	if (program.pid == 0) {
		if (dup2(ends[0], 0) == 0)
			execlp("cat", "cat", (char *)NULL);
		_exit(127);
	}
	CU_ASSERT_FATAL(program.pid > 0);
	close(ends[0]);
	program.input = ends[1];
	for (int i = 0; i < TRIES && !find_code(&program); i++)
		usleep(1000);
	CU_ASSERT_FATAL(find_code(&program));
	return program;
}

static void end_program(const struct program *program)
{
	close(program->input);
	waitpid(program->pid, NULL, 0);
}

/* ---------------------------------------------------------------- a source */

/* The bursts that the source will hand over, and counts of its calls. */
static struct script {
	struct program program;
	uint64_t random;
	uint32_t ready;      /* bursts that wait */
	uint32_t taste;      /* which ways the program prefers */
	uint64_t ways[WAYS]; /* whole paths that were handed over, by where they begin */
	uint64_t passed;     /* samples passed over */
	int fd, opened, freed, configured, flushed;
	int probe_code, open_code, drain_code;
} script;

static uint32_t draw(void)
{
	script.random = script.random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((script.random >> 33) % WAYS);
}

static int probe(const struct pp_source_config *config, struct pathprof_error *why)
{
	return script.probe_code ? pathprof_fail(why, script.probe_code, "not here") : 0;
}

static int open_fake(struct pp_source **ret_source, const struct pp_source_config *config,
		     struct pathprof_error *error);

static int fd_of(struct pp_source *source)
{
	return script.fd;
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Branches back to one of WAYS places: between two of them lies a path of one branch. */
static void make_branches(struct pathprof_branch *branches)
{
	for (int i = 0; i < BRANCHES; i++) {
		uint32_t a = draw(), b = draw(), way = ((a < b ? a : b) + script.taste) % WAYS;
		uint64_t next = script.program.code + 16 * way;

		branches[i] = (struct pathprof_branch){
			.from = script.program.code + 16 * WAYS,
			.target = next,
			.next = next,
			.kind = PERF_BR_COND,
			.taken = 1,
		};
		script.ways[way] += i + 1 < BRANCHES;
	}
}

static int drain(struct pp_source *source, const struct pp_source_sink *sink)
{
	struct pathprof_branch branches[BRANCHES];
	const struct pathprof_burst burst = {
		.size_bytes = sizeof(burst) + sizeof(branches),
		.version = PATHPROF_ABI_VERSION,
		.source = PATHPROF_SOURCE_LBR,
		.pid = (uint32_t)script.program.pid,
		.tid = (uint32_t)script.program.pid,
		.time_ns = monotonic_ns(),
		.branch_cnt = BRANCHES,
		.taken_cnt = BRANCHES,
	};
	eventfd_t cnt;

	(void)eventfd_read(script.fd, &cnt);
	for (; script.ready; script.ready--) {
		make_branches(branches);
		sink->burst(sink->context, &burst, branches);
	}
	return script.drain_code;
}

static int flush(struct pp_source *source, const struct pp_source_sink *sink)
{
	script.flushed++;
	return drain(source, sink);
}

static void stats(struct pp_source *source, struct pp_source_stats *ret_stats)
{
	*ret_stats = (struct pp_source_stats){
		.sampler = "script",
		.drops[PATHPROF_DROP_BUDGET] = script.passed,
	};
}

static int configure(struct pp_source *source, const struct pp_source_config *config)
{
	script.configured++;
	return 0;
}

static void free_fake(struct pp_source *source)
{
	if (!source)
		return;
	close(script.fd);
	script.freed++;
	free(source);
}

static const struct pp_source_ops ops = {
	.name = "script",
	.source = PATHPROF_SOURCE_LBR,
	.basis = PATHPROF_BASIS_BRANCHES,
	.probe = probe,
	.open = open_fake,
	.fd = fd_of,
	.drain = drain,
	.flush = flush,
	.stats = stats,
	.configure = configure,
	.free = free_fake,
};

static int open_fake(struct pp_source **ret_source, const struct pp_source_config *config,
		     struct pathprof_error *error)
{
	struct pp_source *source;

	if (script.open_code)
		return pathprof_fail(error, script.open_code, "broken");
	source = calloc(1, sizeof(*source));
	script.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!source || script.fd < 0)
		abort();
	source->ops = &ops;
	script.opened++;
	*ret_source = source;
	return 0;
}

/* ---------------------------------------------------------------- a service */

struct scene {
	struct pp_service *service;
	struct pathprof_store *store; /* as pathprofctl opens it, beside the service */
	struct pp_config config;
	int follower;
};

static void begin_script(void)
{
	script = (__typeof__(script)){.program = start_program(), .random = 1};
}

static struct pp_config config_in(const char *dir)
{
	struct pp_config config;

	pp_config_defaults(&config);
	snprintf(config.db_path, sizeof(config.db_path), "%s/p.db", dir);
	/* windows close when the test says so */
	config.window_ns = UINT64_C(3600000000000);
	config.clock_hz = 0;
	config.tell_journal = 0;
	/* [Alert fast] stays */
	config.alerts[1].enabled = 0;
	return config;
}

static void turn(const struct scene *scene)
{
	for (int i = 0; i < 20; i++)
		CU_ASSERT_FATAL(sd_event_run(pp_service_event(scene->service), 0) >= 0);
}

static int follow(const struct scene *scene)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;

	CU_ASSERT_EQUAL_FATAL(pp_outlet_address(&address, scene->config.db_path), 0);
	CU_ASSERT_EQUAL_FATAL(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	CU_ASSERT(send(fd, PP_OUTLET_FOLLOW, strlen(PP_OUTLET_FOLLOW), MSG_NOSIGNAL) > 0);
	turn(scene);
	return fd;
}

/* A busy machine may need several tries to read the program's mappings; bursts would be lost. */
static void await_known(const struct scene *scene)
{
	struct pp_location location;
	int r = -ESRCH;

	for (int i = 0; i < TRIES && r; i++) {
		if (i)
			usleep(1000);
		r = pp_track_resolve(scene->service->track, script.program.pid, monotonic_ns(),
				     script.program.code, &location);
	}
	CU_ASSERT_EQUAL_FATAL(r, 0);
}

static void open_scene(struct scene *scene)
{
	struct pathprof_error error = {""};

	begin_script();
	*scene = (struct scene){.config = config_in(unit_tmpdir())};
	CU_ASSERT_EQUAL(pp_service_new_from(&scene->service, &scene->config, 0, &ops, &error), 0);
	CU_ASSERT_STRING_EQUAL(error.text, "");
	CU_ASSERT_PTR_NOT_EQUAL_FATAL(scene->service, NULL);
	await_known(scene);
	CU_ASSERT_EQUAL_FATAL(pathprof_store_open(&scene->store, scene->config.db_path,
						  PATHPROF_STORE_READ, &error),
			      0);
	scene->follower = follow(scene);
}

static void close_scene(struct scene *scene)
{
	pp_service_free(scene->service);
	CU_ASSERT_EQUAL(pathprof_store_check(scene->store, NULL), 0);
	pathprof_store_free(scene->store);
	close(scene->follower);
	end_program(&script.program);
	CU_ASSERT_EQUAL(script.freed, script.opened);
}

/* The event loop finds the source readable and drains it. */
static void run_bursts(struct scene *scene, uint32_t cnt, uint32_t taste)
{
	script.taste = taste;
	script.ready = cnt;
	CU_ASSERT_EQUAL_FATAL(eventfd_write(script.fd, 1), 0);
	for (int i = 0; i < TRIES && script.ready; i++)
		CU_ASSERT_FATAL(sd_event_run(pp_service_event(scene->service), 1000) >= 0);
	CU_ASSERT_EQUAL_FATAL(script.ready, 0);
}

static void windows(struct scene *scene, int cnt, uint32_t taste)
{
	for (int i = 0; i < cnt; i++) {
		run_bursts(scene, BURSTS, taste);
		script.passed += PASSED;
		pp_service_close_window(scene->service);
	}
}

/* ---------------------------------------------------------------- what is in the store */

struct seen {
	uint64_t ways[WAYS], other; /* samples of the program's paths, of what else there is */
};

static int take_path(void *context, const struct pathprof_path_row *row)
{
	struct seen *seen = context;
	uint64_t way = (row->start - script.program.offset) / 16;

	if (way < WAYS && row->start == script.program.offset + 16 * way && row->length == 1 &&
	    !strcmp(row->binary_name, script.program.file))
		seen->ways[way] += row->samples;
	else
		seen->other += row->samples;
	return 0;
}

static bool has_all_paths(const struct scene *scene)
{
	struct seen seen = {.other = 0};

	CU_ASSERT_EQUAL(pathprof_store_paths(scene->store, NULL, take_path, &seen, NULL), 0);
	return !seen.other && !memcmp(seen.ways, script.ways, sizeof(seen.ways));
}

static int add_window(void *context, const struct pathprof_window_row *row)
{
	struct pathprof_totals *sum = context;

	CU_ASSERT_EQUAL(row->source, PATHPROF_SOURCE_LBR);
	CU_ASSERT_EQUAL(row->totals.paths, PATHS);
	pathprof_totals_add(sum, &row->totals);
	return 0;
}

static void check_totals(const struct scene *scene, uint64_t windows)
{
	struct pathprof_totals sum = {0};

	CU_ASSERT_EQUAL(pathprof_store_windows(scene->store, NULL, add_window, &sum, NULL), 0);
	CU_ASSERT_EQUAL(sum.bursts, windows * BURSTS);
	CU_ASSERT_EQUAL(sum.branches, windows * BURSTS * BRANCHES);
	CU_ASSERT_EQUAL(sum.paths, windows * PATHS);
	CU_ASSERT_EQUAL(sum.drops[PATHPROF_DROP_BUDGET], windows * PASSED);
	CU_ASSERT_EQUAL(sum.drops[PATHPROF_DROP_UNRESOLVED], 0);
}

static int add_edge(void *context, const struct pathprof_edge_row *row)
{
	CU_ASSERT_EQUAL(row->from, script.program.offset + 16 * WAYS);
	*(uint64_t *)context += row->count;
	return 0;
}

static void test_stores_windows(void)
{
	struct scene scene;
	uint64_t edges = 0;

	open_scene(&scene);
	windows(&scene, 2, 0);
	CU_ASSERT(has_all_paths(&scene));
	check_totals(&scene, 2);
	CU_ASSERT_EQUAL(pathprof_store_edges(scene.store, NULL, add_edge, &edges, NULL), 0);
	CU_ASSERT_EQUAL(edges, 2 * BURSTS * BRANCHES);
	/* what came since is written when the service ends, and not before */
	run_bursts(&scene, 1, 0);
	CU_ASSERT_FALSE(has_all_paths(&scene));
	pp_service_free(scene.service);
	scene.service = NULL;
	CU_ASSERT(has_all_paths(&scene));
	close_scene(&scene);
}

/* The source has bursts that nobody drained yet. */
static void test_counts_the_last(void)
{
	struct scene scene;

	open_scene(&scene);
	run_bursts(&scene, 1, 0);
	script.ready = 2;
	pp_service_finish(scene.service);
	CU_ASSERT_EQUAL(pp_service_bursts(scene.service), 3);
	CU_ASSERT_EQUAL(pp_service_paths(scene.service), 3 * (BRANCHES - 1));
	CU_ASSERT(has_all_paths(&scene));
	close_scene(&scene);
}

/* Tables of counts are emptied when a window ends, and not each time that the clock is read. */
static void test_clock_empties_no_tables(void)
{
	struct scene scene;
	int before;

	open_scene(&scene);
	scene.service->config.clock_hz = 97;
	pp_service_open_clock(scene.service);
	if (!scene.service->clock) {
		unit_skip("cpu-clock events are refused");
		close_scene(&scene);
		return;
	}
	before = script.flushed;
	script.ready = 2;
	pp_service_read_clock(scene.service);
	CU_ASSERT_EQUAL(script.ready, 0);
	CU_ASSERT_EQUAL(script.flushed, before);
	pp_service_close_window(scene.service);
	CU_ASSERT_EQUAL(script.flushed, before + 1);
	/* a source that has died meanwhile is let go at once */
	script.drain_code = -EPIPE;
	pp_service_read_clock(scene.service);
	CU_ASSERT_EQUAL(script.freed, 1);
	close_scene(&scene);
}

/* ---------------------------------------------------------------- alerts */

struct told {
	int cnt;
	bool fired;
	char rule[40], binary[256], baseline[40];
};

static int take_message(void *context, const struct pathprof_message_row *row)
{
	struct told *told = context;

	told->cnt++;
	told->fired = row->fired;
	snprintf(told->rule, sizeof(told->rule), "%s", row->rule);
	snprintf(told->binary, sizeof(told->binary), "%s", row->binary);
	snprintf(told->baseline, sizeof(told->baseline), "%s", row->baseline);
	return 0;
}

static struct told told_by(const struct scene *scene)
{
	struct told told = {.cnt = 0};

	CU_ASSERT_EQUAL(pathprof_store_messages(scene->store, 0, take_message, &told, NULL), 0);
	return told;
}

/* A message waits for the child that reads names. */
static struct told wait_for(const struct scene *scene, int cnt)
{
	struct told told = told_by(scene);

	for (int i = 0; i < TRIES && told.cnt < cnt; i++) {
		CU_ASSERT_FATAL(sd_event_run(pp_service_event(scene->service), 1000) >= 0);
		told = told_by(scene);
	}
	return told;
}

static bool was_poked(const struct scene *scene)
{
	char byte;

	return recv(scene->follower, &byte, 1, MSG_DONTWAIT) == 1 && byte == '\n';
}

static void test_alerts(void)
{
	struct scene scene;
	struct told told;

	open_scene(&scene);
	windows(&scene, 9, 0);
	turn(&scene);
	CU_ASSERT_EQUAL(told_by(&scene).cnt, 0);
	CU_ASSERT_FALSE(was_poked(&scene));
	/* the rule fires at the second window in a row */
	windows(&scene, 2, WAYS / 2);
	told = wait_for(&scene, 1);
	CU_ASSERT_EQUAL(told.cnt, 1);
	CU_ASSERT(told.fired);
	CU_ASSERT_STRING_EQUAL(told.rule, "fast");
	CU_ASSERT_STRING_EQUAL(told.baseline, "rolling");
	CU_ASSERT_STRING_EQUAL(told.binary, script.program.file);
	CU_ASSERT(was_poked(&scene));
	windows(&scene, 2, 0);
	told = wait_for(&scene, 2);
	CU_ASSERT_EQUAL(told.cnt, 2);
	CU_ASSERT_FALSE(told.fired);
	CU_ASSERT(was_poked(&scene));
	CU_ASSERT(has_all_paths(&scene));
	close_scene(&scene);
}

/* ---------------------------------------------------------------- a source that fails */

static void test_refused(void)
{
	struct pp_config config = config_in(unit_tmpdir());
	struct pp_service *service = NULL;
	struct pathprof_error error = {""};

	begin_script();
	script.probe_code = -EOPNOTSUPP;
	CU_ASSERT_EQUAL(pp_service_new_from(&service, &config, 0, &ops, &error), -EOPNOTSUPP);
	CU_ASSERT_STRING_EQUAL(error.text, "not here");
	script.probe_code = 0;
	script.open_code = -EIO;
	CU_ASSERT_EQUAL(pp_service_new_from(&service, &config, 0, &ops, &error), -EIO);
	CU_ASSERT_STRING_EQUAL(error.text, "broken");
	CU_ASSERT_EQUAL(script.opened, 0);
	CU_ASSERT(access(config.db_path, F_OK) < 0);
	end_program(&script.program);
}

/* Bursts of a source that fails are kept, and another source is opened. */
static void test_dies(void)
{
	struct scene scene;

	open_scene(&scene);
	script.drain_code = -EPIPE;
	run_bursts(&scene, BURSTS, 0);
	CU_ASSERT_EQUAL(script.freed, 1);
	script.drain_code = 0;
	for (int i = 0; i < TRIES && script.opened < 2; i++)
		CU_ASSERT_FATAL(sd_event_run(pp_service_event(scene.service), 1000000) >= 0);
	CU_ASSERT_EQUAL_FATAL(script.opened, 2);
	pp_service_close_window(scene.service);
	windows(&scene, 1, 0);
	CU_ASSERT(has_all_paths(&scene));
	close_scene(&scene);
}

/* ---------------------------------------------------------------- settings */

/* A setting's text may be any bytes, and be cut off in the middle of a character. */
static void test_status_of_refused_settings(void)
{
	const struct pathprof_error why = {"p.conf:2: Source=\xff\xc3: bad value"};
	struct scene scene;
	char *status = NULL;

	open_scene(&scene);
	pp_service_refuse_settings(scene.service, &why);
	pp_service_report(scene.service);
	CU_ASSERT_EQUAL_FATAL(pathprof_store_status(scene.store, &status, NULL), 0);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(status, "\"settings_refused\":\"p.conf:2: Source=\xef\xbf\xbd\xef\xbf\xbd: "
			       "bad value\""));
	free(status);
	close_scene(&scene);
}

/* It was looked up when the source was opened. */
static void test_budget_without_the_group(void)
{
	struct scene scene;
	int before;

	open_scene(&scene);
	before = script.configured;
	snprintf(scene.service->config.cgroup, sizeof(scene.service->config.cgroup),
		 "has-ended.service");
	pp_service_configure_source(scene.service);
	CU_ASSERT_EQUAL(script.configured, before + 1);
	close_scene(&scene);
}

/* The source is told of a budget whose CPUs have come or gone. */
static void test_budget_of_cpus_that_went(void)
{
	const unsigned int online = pp_service_cpus_online();
	struct pp_service *service;
	struct scene scene;
	int before;

	open_scene(&scene);
	service = scene.service;
	service->cpu_cnt = service->allowance.cpu_cnt = service->busy.cpu_cnt = 16 * online;
	before = script.configured;
	pp_service_share_budget(service);
	CU_ASSERT_EQUAL(script.configured, before + 1);
	CU_ASSERT_EQUAL(service->cpu_cnt, online);
	CU_ASSERT_EQUAL(service->allowance.cpu_cnt, online);
	CU_ASSERT_EQUAL(service->busy.cpu_cnt, online);
	close_scene(&scene);
}

/* Nothing is missing any more, so there is nothing to start anew for. */
static void test_cpus_that_went(void)
{
	struct scene scene;

	open_scene(&scene);
	scene.service->events_code = -EACCES;
	pp_service_renew_events(scene.service);
	CU_ASSERT_EQUAL(scene.service->events_code, 0);
	close_scene(&scene);
}

static pid_t start_loop(void)
{
	pid_t child = fork();

	while (child == 0)
		if (getppid() == 1)
			_exit(0);
	return child;
}

/* There is no clock here. A loop makes itself felt, and the time before the start does not. */
static void test_user_time_without_a_clock(void)
{
	uint64_t all_ns;
	struct scene scene;
	pid_t loop;

	if (pp_user_time_read(PP_USER_TIME_STAT, PP_USER_TIME_NS, &all_ns) ||
	    !pp_privilege_has(PP_PRIVILEGE(CAP_SYS_PTRACE)))
		return;
	open_scene(&scene);
	pp_service_share_budget(scene.service);
	CU_ASSERT_EQUAL(scene.service->user_ns, 0);
	loop = start_loop();
	for (int i = 0; i < TRIES && pp_service_mark(scene.service).user_ns < 300000000; i++) {
		usleep(1000);
		pp_service_share_budget(scene.service);
	}
	kill(loop, SIGKILL);
	waitpid(loop, NULL, 0);
	CU_ASSERT(scene.service->user_ns >= 300000000 && scene.service->user_ns < all_ns);
	close_scene(&scene);
}

static const struct unit_test tests[] = {
	{"writes what the source hands over, window by window", test_stores_windows},
	{"counts what the source still had at its end", test_counts_the_last},
	{"the clock empties no tables of counts", test_clock_empties_no_tables},
	{"tells of a change when it comes and when it is over", test_alerts},
	{"does not start without its source", test_refused},
	{"goes on when its source has died", test_dies},
	{"its status tells of refused settings, whatever their bytes",
	 test_status_of_refused_settings},
	{"a new budget reaches a source whose control group has ended",
	 test_budget_without_the_group},
	{"a budget is one of the CPUs that are online", test_budget_of_cpus_that_went},
	{"what was refused of a CPU that went is forgotten", test_cpus_that_went},
	{"counts what programs run without a clock", test_user_time_without_a_clock},
};
UNIT_SUITE(service, tests)
