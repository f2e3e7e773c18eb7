// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stepping collector against the exact truth: `pathprofd --record` on the native program, and
 * the exact trace of the same program under emulation. Both are reduced to one module, the one in
 * which most instructions run, keyed by file offset: the C library picks other code under
 * emulation, and a program may be a few lines around a library that does its work.
 *
 * The collector samples on a clock, so its weights lie between how often paths run and how long
 * they take. Beside it stand windows cut out of the trace, as many and as long: over taken branches
 * (only chance and the shortness of windows remain) and over instructions (a clock without the
 * machine's stalls).
 *
 * Workload: a program of a second or less, run whole again and again for the seconds of its
 * setting. One program at a time: the collector shares its processor. Progress is printed while a
 * step takes longer than two seconds.
 */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "../collect/step_store.h"
#include "../collect/trace_pass.h"
#include "experiment.h"
#include "run.h" /* programs run natively here, which no other experiment does */

#define SEED       0x73746570ULL
#define WORDS_MAX  64
#define NS_PER_S   1000000000LL
#define TICK_S     2
#define SMALL_S    12 /* of stepping, a program */
#define FULL_S     300
#define BLOCKS_MAX 1500000000ULL /* a program that is longer is left out */

/* Deterministic, one thread, short. The small setting has all but the last, whose trace takes
 * minutes: more than a thousand million blocks. */
static const char *const suitable[] = {"gzip", "lua",     "xz",      "bzip2",
				       "perl", "sqlite3", "python3", "cc1"};
#define SUITABLE_CNT (sizeof(suitable) / sizeof(suitable[0]))
#define SMALL_CNT    (SUITABLE_CNT - 1)

enum column {
	STEP_COUNT,  /* the collector against how often paths ran */
	STEP_PLAIN,  /* ... without the weights against window bias */
	STEP_INSNS,  /* ... with them, against the instructions spent */
	TAKEN_COUNT, /* windows over taken branches against how often */
	TAKEN_PLAIN, /* ... without the weights */
	CLOCK_COUNT, /* windows over instructions against how often */
	CLOCK_INSNS, /* ... against the instructions */
	COLUMN_CNT,
};
/* The names in tables and figures; only the table of programs has the first. */
static const char *const columns[COLUMN_CNT + 1] = {
	"windows taken",         "step: counts",
	"step: plain counts",    "step: instructions",
	"windows: counts",       "windows: plain counts",
	"clock windows: counts", "clock windows: instructions",
};

struct result {
	double overlap[LAB_LEVEL_CNT][COLUMN_CNT]; /* percent; NaN: not so many windows */
	double all[COLUMN_CNT];                    /* with all windows */
	double windows;
	double share;   /* of the program's instructions, percent, in the module compared */
	char label[64]; /* the program, and the module if it is not the program itself */
};

/*
 * Prints every few seconds what is being done, from a process of its own: slow steps are other
 * programs, or passes that know nothing of terminals.
 */
static pid_t begin_ticks(const struct lab_program *program, const char *doing)
{
	pid_t pid;

	fprintf(stderr, "  %s: %s\n", program->name, doing);
	fflush(stdout);
	pid = fork();
	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (unsigned int s = TICK_S;; s += TICK_S) {
		sleep(TICK_S);
		fprintf(stderr, "  %s: %s, %u s\n", program->name, doing, s);
	}
}

/* Without ticks (pid below 0) nothing is lost but they. */
static void end_ticks(pid_t pid)
{
	if (pid <= 0)
		return;
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static char *beside_self(const char *name)
{
	char self[PATH_MAX], *path;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (len < 0)
		lab_fail("/proc/self/exe: %s", strerror(errno));
	self[len] = '\0';
	if (asprintf(&path, "%s/%s", dirname(self), name) < 0)
		lab_fail("out of memory");
	return path;
}

/* Runs tool with options and the program's command, in the program's folder; waits for it. */
static int run_tool(const struct lab_program *program, const char *dir, const char *tool,
		    const char *const *options)
{
	const char *const *command = lab_program_command(program);
	const char *words[WORDS_MAX] = {tool};
	size_t cnt = 1;
	int status;
	pid_t pid;

	while (*options && cnt < WORDS_MAX - 1)
		words[cnt++] = *options++;
	while (*command && cnt < WORDS_MAX - 1)
		words[cnt++] = *command++;
	words[cnt] = NULL;
	fflush(stdout);
	pid = fork();
	if (pid < 0)
		lab_fail("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (chdir(dir))
			_exit(126);
		lab_program_environment(program);
		execv(tool, (char *const *)words);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			lab_fail("waitpid: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void record_whole(struct lab_run *run, const struct lab_program *program, const char *dir,
			 const char *path)
{
	char *part = lab_run_path(run, "traces/%s-whole.part", program->name);
	char *tracer = beside_self("pathprof-trace");
	char limit[32];
	const char *const options[] = {"-q", "-o", part, "--limit", limit, "--", NULL};

	pid_t ticks = begin_ticks(program, "recording the whole program");

	snprintf(limit, sizeof(limit), "%llu", BLOCKS_MAX);
	unlink(part);
	run_tool(program, dir, tracer, options);
	end_ticks(ticks);
	if (!lab_trace_is_whole(part))
		lab_fail("%s: no whole trace of it was made (see %smessages)", program->name, dir);
	if (rename(part, path))
		lab_fail("%s: %s", path, strerror(errno));
	free(part);
	free(tracer);
}

/* The whole program, from its first instruction: the collector sees it from there too. */
static struct pathprof_trace *trace_whole(struct lab_run *run, const struct lab_program *program,
					  const char *dir)
{
	char *path = lab_run_path(run, "traces/%s-whole.trace", program->name);
	struct pathprof_trace *trace;
	struct pathprof_error error;

	if (!lab_trace_is_whole(path))
		record_whole(run, program, dir, path);
	if (pathprof_trace_open(&trace, path, &error))
		lab_fail("%s", error.text);
	free(path);
	return trace;
}

/* false: the limit ended it. */
static bool is_short(const struct pathprof_trace *trace)
{
	const struct pathprof_trace_info *info = pathprof_trace_info(trace);
	uint64_t word_cnt = 0;

	for (uint32_t i = 0; i < info->stream_cnt; i++)
		word_cnt += pathprof_trace_stream(trace, i)->word_cnt;
	return word_cnt < BLOCKS_MAX;
}

/* The program again and again into one database. false: this machine cannot. */
static bool record_steps(struct lab_run *run, const struct lab_program *program, const char *dir,
			 const char *db)
{
	int64_t end_ns =
		(int64_t)pp_monotonic_ns() + (lab_run_small(run) ? SMALL_S : FULL_S) * NS_PER_S;
	pid_t ticks = begin_ticks(program, "stepping");
	char *tool = beside_self("pathprofd");
	/* Short stored windows: the curve begins within the first run. */
	const char *const options[] = {"--record",   "--quiet", "--source", "step",  "--db", db,
				       "--overhead", "60%",     "--window", "100ms", "--",   NULL};
	int recorded = 0, status = 0;

	unlink(db);
	while (status == 0 && (int64_t)pp_monotonic_ns() < end_ns) {
		status = run_tool(program, dir, tool, options);
		recorded += status == 0;
	}
	end_ticks(ticks);
	free(tool);
	return recorded > 0;
}

static double percent(const struct lab_profile *a, size_t column, const struct lab_profile *truth,
		      enum lab_truth_column truth_column)
{
	return 100 * lab_profile_overlap(a, column, truth, truth_column);
}

static void read_level(const struct lab_estimate *estimates, const struct lab_profile *truth,
		       size_t level, double *ret_overlap)
{
	size_t column = LAB_WEIGHT_SPAN * LAB_LEVEL_CNT + level;
	const struct lab_profile *taken = &estimates[0].profile, *clock = &estimates[1].profile;

	ret_overlap[TAKEN_COUNT] = percent(taken, column, truth, LAB_TRUTH_COUNT);
	ret_overlap[TAKEN_PLAIN] =
		percent(taken, LAB_WEIGHT_PLAIN * LAB_LEVEL_CNT + level, truth, LAB_TRUTH_COUNT);
	ret_overlap[CLOCK_COUNT] = percent(clock, column, truth, LAB_TRUTH_COUNT);
	ret_overlap[CLOCK_INSNS] = percent(clock, column, truth, LAB_TRUTH_INSNS);
}

/* No more windows are cut than the collector took: the highest level holds all of them. */
static void read_windows(const struct lab_estimate *estimates, const struct lab_profile *truth,
			 struct result *result)
{
	for (size_t l = 0; l < LAB_LEVEL_CNT; l++)
		if (lab_levels[l] <= result->windows)
			read_level(estimates, truth, l, result->overlap[l]);
	read_level(estimates, truth, LAB_LEVEL_CNT - 1, result->all);
}

static void cut_windows(const struct pathprof_trace *trace, const struct lab_module *module,
			struct lab_truth *truth, uint32_t taken_wanted, struct result *result)
{
	struct lab_estimate *estimates = lab_alloc(2, sizeof(*estimates));

	for (size_t i = 0; i < 2; i++)
		lab_estimate_init(&estimates[i], i ? LAB_CLOCK_INSNS : LAB_CLOCK_TAKEN,
				  taken_wanted, (uint32_t)result->windows, truth, SEED + i);
	lab_pass_estimates(trace, estimates, 2);
	lab_profile_keep_module(&truth->profile, module);
	for (size_t i = 0; i < 2; i++)
		lab_profile_keep_module(&estimates[i].profile, module);
	read_windows(estimates, &truth->profile, result);
	for (size_t i = 0; i < 2; i++)
		lab_estimate_release(&estimates[i]);
	free(estimates);
}

struct steps {
	const struct lab_profile *truth;
	struct result *result;
	double windows_before;
};

static void read_steps(const struct lab_profile *steps, const struct lab_profile *truth,
		       double *ret_overlap)
{
	ret_overlap[STEP_COUNT] = percent(steps, LAB_STEP_WEIGHTED, truth, LAB_TRUTH_COUNT);
	ret_overlap[STEP_PLAIN] = percent(steps, LAB_STEP_PLAIN, truth, LAB_TRUTH_COUNT);
	ret_overlap[STEP_INSNS] = percent(steps, LAB_STEP_WEIGHTED, truth, LAB_TRUTH_INSNS);
}

/* A level is reached by the stored window that passes it, when that does not go far beyond. */
static void after_stored_window(void *context, const struct lab_profile *steps, uint64_t window_cnt)
{
	struct steps *s = context;

	for (size_t l = 0; l < LAB_LEVEL_CNT; l++)
		if (s->windows_before < lab_levels[l] && window_cnt >= lab_levels[l] &&
		    (double)window_cnt <= 1.5 * lab_levels[l])
			read_steps(steps, s->truth, s->result->overlap[l]);
	read_steps(steps, s->truth, s->result->all);
	s->windows_before = (double)window_cnt;
}

static bool is_c_library(const struct pathprof_trace_module_info *info)
{
	const char *slash = strrchr(info->name, '/');

	return strncmp(slash ? slash + 1 : info->name, "libc.so", 7) == 0;
}

static double insns_within(const struct lab_profile *truth, uint64_t start, uint64_t end)
{
	double insns = 0;

	for (size_t i = 0; i < truth->cnt; i++)
		if (truth->keys[i].start >= start && truth->keys[i].start < end)
			insns += truth->weights[i * truth->column_cnt + LAB_TRUTH_INSNS];
	return insns;
}

/* The module in which most instructions run, except the C library. Exits if the trace names
 * none. */
static struct lab_module busiest_module(const struct pathprof_trace *trace,
					const struct lab_profile *truth, struct result *result)
{
	double total = lab_profile_total(truth, LAB_TRUTH_INSNS), most = 0;
	const struct pathprof_trace_module_info *busiest = NULL;
	uint32_t process = lab_trace_process(trace);

	for (uint32_t i = 0; i < pathprof_trace_info(trace)->module_cnt; i++) {
		const struct pathprof_trace_module_info *m = pathprof_trace_module(trace, i);
		double insns;

		if (m->process != process || !m->build_id.len_bytes || is_c_library(m))
			continue;
		insns = insns_within(truth, m->start, m->end);
		if (insns > most) {
			most = insns;
			busiest = m;
		}
	}
	if (!busiest)
		lab_fail("%s: the trace names no module that it ran", result->label);
	result->share = 100 * most / total;
	return (struct lab_module){busiest->build_id, busiest->start, busiest->end,
				   busiest->offset};
}

/* Libraries are named, for the figures are theirs. */
static void name_module(const struct pathprof_trace *trace, const struct lab_module *module,
			struct result *result)
{
	uint32_t process = lab_trace_process(trace);
	struct lab_module program;

	if (lab_pass_main_module(trace, &program) && program.start == module->start)
		return;
	for (uint32_t i = 0; i < pathprof_trace_info(trace)->module_cnt; i++) {
		const struct pathprof_trace_module_info *m = pathprof_trace_module(trace, i);
		const char *slash = strrchr(m->name, '/');
		size_t len = strlen(result->label);

		if (m->process != process || m->start != module->start)
			continue;
		snprintf(result->label + len, sizeof(result->label) - len, " (%s)",
			 slash ? slash + 1 : m->name);
		return;
	}
}

static void compare(const struct pathprof_trace *trace, const char *db, struct result *result)
{
	struct steps steps = {.result = result};
	struct lab_step_store store;
	struct lab_module module;
	struct lab_truth truth;

	lab_truth_init(&truth);
	lab_pass_truth(trace, &truth);
	module = busiest_module(trace, &truth.profile, result);
	name_module(trace, &module, result);
	lab_step_store_open(&store, db, &module.build_id);
	result->windows = (double)(store.window_cnt < UINT32_MAX ? store.window_cnt : UINT32_MAX);
	cut_windows(trace, &module, &truth, store.taken_wanted, result);
	steps.truth = &truth.profile;
	lab_step_store_read(&store, after_stored_window, &steps);
	lab_step_store_release(&store);
	lab_truth_release(&truth);
}

static bool measure(struct lab_run *run, const struct lab_program *program, struct result *result)
{
	char *dir = lab_run_path(run, "inputs/%s/", program->name);
	char *db = lab_run_path(run, "traces/%s-step.db", program->name);
	struct pathprof_trace *trace;
	bool recorded;
	pid_t ticks;

	snprintf(result->label, sizeof(result->label), "%s", program->name);
	for (size_t l = 0; l < LAB_LEVEL_CNT; l++)
		for (size_t c = 0; c < COLUMN_CNT; c++)
			result->overlap[l][c] = NAN;
	lab_program_prepare(program, dir);
	trace = trace_whole(run, program, dir);
	recorded = is_short(trace) && record_steps(run, program, dir, db);
	if (recorded) {
		ticks = begin_ticks(program, "comparing");
		compare(trace, db, result);
		end_ticks(ticks);
		fprintf(stderr, "  %s: %.0f windows, overlap %.1f %%, without weights %.1f %%\n",
			result->label, result->windows, result->all[STEP_COUNT],
			result->all[STEP_PLAIN]);
	} else {
		fprintf(stderr, "  %s: cannot be stepped here, or is too long: left out\n",
			program->name);
	}
	pathprof_trace_free(trace);
	free(dir);
	free(db);
	return recorded;
}

static bool is_suitable(const struct lab_run *run, const struct lab_program *program)
{
	size_t cnt = lab_run_small(run) ? SMALL_CNT : SUITABLE_CNT;

	for (size_t i = 0; i < cnt; i++)
		if (strcmp(suitable[i], program->name) == 0)
			return true;
	return false;
}

/* The mean over the programs that have a figure; NaN: none has. */
static void mean_at(const struct result *results, size_t cnt, size_t level, double *ret_values)
{
	for (size_t c = 0; c < COLUMN_CNT; c++) {
		double sum = 0, figures = 0;

		for (size_t p = 0; p < cnt; p++) {
			if (isnan(results[p].overlap[level][c]))
				continue;
			sum += results[p].overlap[level][c];
			figures++;
		}
		ret_values[c] = figures > 0 ? sum / figures : NAN;
	}
}

static void write_curve(struct lab_run *run, const struct result *results, size_t cnt)
{
	struct lab_table *table = lab_table_new(
		"step", "Busiest module: overlap with the exact path profile, %, mean of programs",
		"windows", columns + 1, COLUMN_CNT);
	const struct lab_plot plot = {.form = LAB_PLOT_LINES,
				      .x = "windows taken",
				      .y = "overlap with the exact profile, %",
				      .x_log = true,
				      .y_max = 100};
	double values[COLUMN_CNT];
	char label[16];

	for (size_t l = 0; l < LAB_LEVEL_CNT; l++) {
		snprintf(label, sizeof(label), "%u", lab_levels[l]);
		mean_at(results, cnt, l, values);
		if (!isnan(values[TAKEN_COUNT]))
			lab_table_add(table, label, values);
	}
	lab_table_write(run, table);
	lab_plot_write(run, table, &plot);
	lab_table_free(table);
}

static void write_programs(struct lab_run *run, const struct result *results, size_t cnt)
{
	const char *titles[COLUMN_CNT + 2] = {"% of all instructions"};
	struct lab_table *table;

	memcpy(titles + 1, columns, sizeof(columns));
	table = lab_table_new("step-programs",
			      "Busiest module: overlap with the exact path profile, %", "program",
			      titles, COLUMN_CNT + 2);
	for (size_t p = 0; p < cnt; p++) {
		double values[COLUMN_CNT + 2] = {results[p].share, results[p].windows};

		memcpy(values + 2, results[p].all, sizeof(results[p].all));
		lab_table_add(table, results[p].label, values);
	}
	lab_table_add_average(table);
	lab_table_set_decimals(table, 0, 0);
	lab_table_set_decimals(table, 1, 0);
	lab_table_write(run, table);
	lab_table_free(table);
}

static void run_step(struct lab_run *run)
{
	static struct result results[LAB_PROGRAMS_MAX];
	size_t cnt = 0;

	for (size_t i = 0; i < lab_run_program_cnt(run); i++) {
		const struct lab_program *program = lab_run_program(run, i);

		if (is_suitable(run, program) && measure(run, program, &results[cnt]))
			cnt++;
	}
	if (!cnt)
		lab_fail("step: none of the programs was stepped");
	write_curve(run, results, cnt);
	write_programs(run, results, cnt);
}

const struct lab_experiment exp_collectors_step = {
	"step", "the stepping collector against the exact trace", "EOPP 5.2", run_step};
