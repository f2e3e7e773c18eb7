// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a command under the step source and writes every burst, raw and in order, to a file.
 *
 *     bursts [-t TAKEN | -i INSNS] [-b PPM] [-f HZ] [-s SECONDS] [-n BURSTS] [-x] [-k] [-p PID]
 *            [-w USEC] [-a] [-u] [-l] [-m] [-o] [-d] [-e] [-c] OUT [CMD ARGS...]
 *
 * -x starts the command as `truth` does; -p watches a running process instead, -a all
 * that run beside it; -u leaves targets
 * unpinned; -k kills the command when enough was seen; -l switches look-ahead off (the negative
 * control); -w is the longest hold; -m finds threads by /proc; -o steps every instruction; -d sets
 * the thread's debug registers instead of perf's breakpoints; -e has perf's opened by another
 * process (step_opener.h); -c also copies stacks, which are dropped here. After SECONDS or BURSTS
 * the source is closed and the command runs on unwatched. Exit status: the command's, 128 + signal
 * when one ended it, 125 for trouble of ours. One line of figures on standard error.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/step/source_step.h"
#include "../../daemon/step/step_engine.h"
#include "../../daemon/step/step_opener.h"
#include "launch.h"

#define EXIT_TROUBLE 125

struct options {
	struct pp_source_config config;
	uint32_t flags;
	uint64_t seconds, bursts;
	int fixed, kill, all;
	const char *out;
	char **command;
};

struct sink {
	FILE *file;
	uint64_t since_ns; /* bursts before are left out */
	uint64_t cnt, branches, empty;
	uint64_t stopped_ns, stopped_max_ns, steps;
	uint64_t ends[PATHPROF_END_CNT];
};

static void keep(void *context, const struct pathprof_burst *burst,
		 const struct pathprof_branch *branches)
{
	struct sink *sink = context;

	if (burst->time_ns < sink->since_ns)
		return;
	fwrite(burst, sizeof(*burst), 1, sink->file);
	fwrite(branches, sizeof(*branches), burst->branch_cnt, sink->file);
	sink->cnt++;
	sink->branches += burst->branch_cnt;
	sink->empty += !burst->branch_cnt;
	sink->stopped_ns += burst->stopped_ns;
	sink->steps += burst->step_cnt;
	if (burst->stopped_ns > sink->stopped_max_ns)
		sink->stopped_max_ns = burst->stopped_ns;
	sink->ends[burst->end]++;
}

static int parse(int argc, char **argv, struct options *ret_options)
{
	struct options options = {
		.config = {.taken_wanted = 32,
			   .overhead_ppm = 600000,
			   .frequency_hz = 1000,
			   .hold_max_ns = 10000000,
			   .pin = true},
		.seconds = 3600,
		.bursts = UINT64_MAX,
	};
	int letter;

	while ((letter = getopt(argc, argv, "+t:i:b:f:s:n:p:axkulmodecw:")) != -1) {
		uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;

		switch (letter) {
		case 't':
			options.config.taken_wanted = (uint32_t)number;
			break;
		case 'i':
			options.config.horizon = (uint32_t)number;
			break;
		case 'o':
			options.flags |= PP_STEP_NO_BREAK;
			break;
		case 'd':
			options.flags |= PP_STEP_NO_PERF_BREAK;
			break;
		case 'e':
			if (pp_step_opener_start(&options.config.opener_fd) < 0)
				return -EINVAL;
			break;
		case 'b':
			options.config.overhead_ppm = (uint32_t)number;
			break;
		case 'w':
			options.config.hold_max_ns = number * 1000;
			break;
		case 'f':
			options.config.frequency_hz = (uint32_t)number;
			break;
		case 's':
			options.seconds = number;
			break;
		case 'n':
			options.bursts = number;
			break;
		case 'p':
			options.config.only_pid = (pid_t)number;
			break;
		case 'x':
			options.fixed = 1;
			break;
		case 'c':
			options.config.stacks = true;
			break;
		case 'k':
			options.kill = 1;
			break;
		case 'a':
			options.all = 1;
			break;
		case 'u':
			options.config.pin = false;
			break;
		case 'l':
			options.flags |= PP_STEP_NO_LOOKAHEAD;
			break;
		case 'm':
			options.flags |= PP_STEP_NO_PERF;
			break;
		default:
			return -EINVAL;
		}
	}
	if (optind >= argc || (optind + 1 >= argc) != (options.config.only_pid != 0))
		return -EINVAL;
	options.out = argv[optind];
	options.command = argv + optind + 1;
	*ret_options = options;
	return 0;
}

/* The pipes' ends that are left to us: one lets the command go, the other ends when it runs. */
struct launch {
	int go, runs;
};

/* The command, held back until something can be read from the pipe. */
static void become_command(const struct options *options, int gate)
{
	char byte;

	if (read(gate, &byte, 1) != 1)
		_exit(EXIT_TROUBLE);
	close(gate);
	if (options->fixed)
		launch_fixed(options->command);
	execvp(options->command[0], options->command);
	perror(options->command[0]);
	_exit(127);
}

static pid_t start_command(const struct options *options, struct launch *ret_launch)
{
	int gate[2], runs[2];
	pid_t pid;

	if (pipe(gate) || pipe2(runs, O_CLOEXEC))
		return -errno;
	pid = fork();
	if (pid == 0) {
		close(gate[1]);
		become_command(options, gate[0]);
	}
	close(gate[0]);
	close(runs[1]);
	*ret_launch = (struct launch){gate[1], runs[0]};
	return pid;
}

/*
 * Bursts count from when the command's own code runs: ours, ahead of it, lies elsewhere, and the
 * truth has none of it.
 */
static int let_go(const struct launch *launch, struct sink *sink)
{
	char byte;

	if (write(launch->go, "g", 1) != 1 || read(launch->runs, &byte, 1) != 0)
		return -1;
	close(launch->go);
	close(launch->runs);
	sink->since_ns = pp_monotonic_ns();
	return 0;
}

/* True when the command has ended. */
static int drain(struct pp_source *source, struct sink *to)
{
	const struct pp_source_sink sink = {.context = to, .burst = keep};

	int code = source->ops->drain(source, &sink);

	/* A SIGKILL leaves all lines written before it. */
	fflush(to->file);
	return code;
}

static int has_ended(pid_t pid, int *ret_status)
{
	if (pid <= 0)
		return 0;
	return waitpid(pid, ret_status, WNOHANG) == pid;
}

static int watch(struct pp_source *source, const struct options *options, pid_t command,
		 struct sink *sink, int *ret_status)
{
	uint64_t end_ns = pp_monotonic_ns() + options->seconds * PP_NSEC_PER_SEC;
	int ended = 0;

	while (!ended && pp_monotonic_ns() < end_ns && sink->cnt < options->bursts) {
		struct pollfd wanted = {.fd = source->ops->fd(source), .events = POLLIN};

		if (poll(&wanted, 1, 20) > 0 && drain(source, sink)) {
			fprintf(stderr, "bursts: the stepper has died\n");
			break;
		}
		if (command > 0)
			ended = has_ended(command, ret_status);
		else
			ended = kill(options->config.only_pid, 0) && errno == ESRCH;
	}
	return ended;
}

static void print_figures(struct pp_source *source, const struct sink *sink, uint64_t wall_ns)
{
	struct pp_source_stats stats;

	source->ops->stats(source, &stats);
	fprintf(stderr,
		"bursts: %llu bursts %llu empty %llu branches %llu steps %llu us_held_a_burst "
		"%.2f us_held_a_step %llu us_longest %.3f%% held %.3f%% cpu, %s, %llu samples, "
		"%llu restarts, %llu single; ends",
		(unsigned long long)sink->cnt, (unsigned long long)sink->empty,
		(unsigned long long)sink->branches, (unsigned long long)sink->steps,
		(unsigned long long)(sink->cnt ? sink->stopped_ns / sink->cnt / 1000 : 0),
		sink->steps ? (double)sink->stopped_ns / (double)sink->steps / 1000 : 0.0,
		(unsigned long long)sink->stopped_max_ns / 1000,
		100.0 * (double)stats.stopped_ns / (double)wall_ns,
		100.0 * (double)stats.cpu_ns / (double)wall_ns, stats.sampler,
		(unsigned long long)stats.samples,
		(unsigned long long)pp_source_step_restarts(source),
		(unsigned long long)pp_source_step_singles(source));
	for (int i = 0; i < PATHPROF_END_CNT; i++)
		if (sink->ends[i])
			fprintf(stderr, " %d:%llu", i, (unsigned long long)sink->ends[i]);
	fprintf(stderr, "; drops");
	for (int i = 0; i < PATHPROF_DROP_CNT; i++)
		if (stats.drops[i])
			fprintf(stderr, " %d:%llu", i, (unsigned long long)stats.drops[i]);
	fprintf(stderr, "\n");
}

/* Drains the stepper's remaining records, at least its statistics. */
static void settle(struct pp_source *source, struct sink *sink)
{
	struct pollfd wanted = {.fd = source->ops->fd(source), .events = POLLIN};

	for (int i = 0; i < 6; i++)
		if (poll(&wanted, 1, 100) > 0 && drain(source, sink))
			break;
}

static int exit_status(int status)
{
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Opens the source on the command or process, watches, and closes it. *ret_ended as watch. */
static int run(struct options *options, struct sink *sink, pid_t *ret_command, int *ret_ended,
	       int *ret_status)
{
	struct pathprof_error error = {""};
	struct pp_source *source;
	pid_t command = 0;
	struct launch launch = {-1, -1};
	uint64_t begin_ns;

	if (!options->config.only_pid)
		command = start_command(options, &launch);
	if (!options->config.only_pid && !options->all)
		options->config.only_pid = command;
	if (pp_source_step_open(&source, &options->config, options->flags, &error)) {
		fprintf(stderr, "bursts: %s\n", error.text);
		return -1;
	}
	begin_ns = pp_monotonic_ns();
	if (command > 0 && let_go(&launch, sink))
		return -1;
	*ret_ended = watch(source, options, command, sink, ret_status);
	begin_ns = pp_monotonic_ns() - begin_ns;
	settle(source, sink);
	print_figures(source, sink, begin_ns);
	source->ops->free(source);
	*ret_command = command;
	return 0;
}

static int finish(const struct options *options, pid_t command, int ended, int status)
{
	if (command <= 0 || ended)
		return exit_status(status);
	if (options->kill)
		kill(command, SIGKILL);
	waitpid(command, &status, 0);
	return options->kill ? 0 : exit_status(status);
}

int main(int argc, char **argv)
{
	struct options options;
	struct sink sink = {0};
	pid_t command = 0;
	int status = 0;
	int ended = 0;
	int code;

	if (argc == 3 && !strcmp(argv[1], "--stepper"))
		return pp_step_main((int)strtol(argv[2], NULL, 10));
	if (parse(argc, argv, &options)) {
		fprintf(stderr, "usage: see the head of bursts.c\n");
		return EXIT_TROUBLE;
	}
	sink.file = fopen(options.out, "wb");
	if (!sink.file) {
		perror(options.out);
		return EXIT_TROUBLE;
	}
	code = run(&options, &sink, &command, &ended, &status);
	if (fclose(sink.file) || code)
		return EXIT_TROUBLE;
	return finish(&options, command, ended, status);
}
