// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Runs a command and writes the windows that the module's software source takes of it, in the form
 * that tests/truth/check.c reads.
 *
 *     vmread [-t TAKEN | -h HORIZON] [-n WINDOWS] [-s SECONDS] [-p PERIOD_NS] [-a] [-c] [-k]
 *            OUT CMD ARGS...
 *
 * The command is started as tests/truth/truth.c starts it, and is watched from its exec on. -a
 * watches every process, -c asks for compressed records (OUT then holds those), -k kills the
 * command when enough was seen.
 * Exit status: the command's (0 if it was killed), 125 for trouble. One line of figures on standard
 * error.
 *
 * Workload: ten thousand windows of 32 to 64 branches. One thread.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../truth/launch.h"
#include "common.h"
#include "reader.h"

#define EXIT_TROUBLE 125

struct options {
	uint32_t taken, horizon; /* one of the two */
	uint64_t windows, seconds, period_ns;
	bool all, chain, kill;
	const char *out;
	char **command;
};

struct sink {
	struct reader *reader;
	FILE *file;
	pid_t pid; /* 0: any */
	const struct options *options;
	uint64_t windows, branches, empty, traps, insns;
	uint64_t ends[PATHPROF_END_CNT];
	uint64_t types[PATHPROF_RECORD_CNT];
};

/* Instructions add up, and a burst is full when it has what was asked for, and only then. */
static void check_counts(struct sink *sink, const struct pathprof_burst *burst,
			 const struct pathprof_branch *branches)
{
	uint32_t horizon = sink->options->horizon;
	bool full = horizon ? burst->insn_cnt == horizon : burst->taken_cnt == sink->options->taken;
	uint64_t sum = 0;

	for (uint32_t i = 0; i < burst->branch_cnt; i++) {
		sum += branches[i].insns;
		if (!branches[i].insns)
			reader_complain(sink->reader, "a branch of no instruction", i);
	}
	if (sum > burst->insn_cnt || burst->insn_cnt > burst->step_cnt)
		reader_complain(sink->reader, "instructions of a burst", burst->insn_cnt);
	if (burst->horizon != horizon || (horizon && burst->insn_cnt > horizon))
		reader_complain(sink->reader, "horizon of a burst", burst->horizon);
	if ((burst->end == PATHPROF_END_FULL) != full)
		reader_complain(sink->reader, "end of a burst", burst->end);
}

static void check_burst(struct sink *sink, const struct pathprof_record *record,
			const struct pathprof_burst *burst)
{
	if (record->size_bytes != sizeof(*record) + burst->size_bytes ||
	    burst->size_bytes !=
		    sizeof(*burst) + burst->branch_cnt * sizeof(struct pathprof_branch))
		reader_complain(sink->reader, "size of a burst", burst->size_bytes);
	if (burst->version != PATHPROF_ABI_VERSION || burst->source != PATHPROF_SOURCE_SWLBR ||
	    burst->end >= PATHPROF_END_CNT || burst->taken_cnt > burst->branch_cnt)
		reader_complain(sink->reader, "header of a burst", burst->end);
	check_counts(sink, burst, (const void *)(burst + 1));
	if (sink->pid && burst->pid != (uint32_t)sink->pid)
		reader_complain(sink->reader, "a burst of another process", burst->pid);
}

static void keep(void *context, const struct pathprof_record *record)
{
	const struct pathprof_burst *burst = (const void *)(record + 1);
	struct sink *sink = context;

	sink->types[record->type % PATHPROF_RECORD_CNT]++;
	if (sink->options->chain) {
		fwrite(record, record->size_bytes, 1, sink->file);
		return;
	}
	if (record->type != PATHPROF_RECORD_BURST) {
		reader_complain(sink->reader, "not a burst", record->type);
		return;
	}
	check_burst(sink, record, burst);
	fwrite(burst, record->size_bytes - sizeof(*record), 1, sink->file);
	sink->windows++;
	sink->insns += burst->insn_cnt;
	sink->branches += burst->branch_cnt;
	sink->empty += !burst->branch_cnt;
	sink->traps += burst->step_cnt;
	sink->ends[burst->end % PATHPROF_END_CNT]++;
}

static int parse(int argc, char **argv, struct options *ret_options)
{
	struct options options = {
		.taken = 32, .windows = UINT64_MAX, .seconds = 60, .period_ns = 200000};
	int letter;

	while ((letter = getopt(argc, argv, "+t:h:n:s:p:ack")) != -1) {
		uint64_t number = optarg ? strtoull(optarg, NULL, 10) : 0;

		switch (letter) {
		case 't':
			options.taken = (uint32_t)number;
			break;
		case 'h':
			options.horizon = (uint32_t)number;
			break;
		case 'n':
			options.windows = number;
			break;
		case 's':
			options.seconds = number;
			break;
		case 'p':
			options.period_ns = number;
			break;
		case 'a':
			options.all = true;
			break;
		case 'c':
			options.chain = true;
			break;
		case 'k':
			options.kill = true;
			break;
		default:
			return -EINVAL;
		}
	}
	if (optind + 1 >= argc)
		return -EINVAL;
	options.out = argv[optind];
	options.command = argv + optind + 1;
	*ret_options = options;
	return 0;
}

/* Returns once the command's own code is about to run: the pipe closes with the exec. */
static pid_t start_command(char **command)
{
	int closed[2];
	char nothing;
	pid_t pid;

	if (pipe2(closed, O_CLOEXEC))
		return -1;
	pid = fork();
	if (pid == 0)
		launch_fixed(command);
	close(closed[1]);
	while (read(closed[0], &nothing, 1) < 0 && errno == EINTR)
		;
	close(closed[0]);
	return pid;
}

/* Until enough was seen, the time is up or the command has ended; whether it has. */
static bool watch(struct reader *reader, struct sink *sink, const struct options *options,
		  pid_t pid, int *ret_status)
{
	uint64_t end_ms = now_ms() + 1000 * options->seconds;

	while (sink->windows - sink->empty < options->windows && now_ms() < end_ms) {
		reader_wait(reader, 20);
		reader_drain(reader, keep, sink);
		if (waitpid(pid, ret_status, WNOHANG) == pid)
			return true;
	}
	return false;
}

static int finish_command(pid_t pid, bool ended, bool killed, int status)
{
	if (!ended && killed)
		kill(pid, SIGKILL);
	while (!ended && waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_TROUBLE;
	if (killed && !ended && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		return 0;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static bool is_skip(unsigned int stat)
{
	return stat <= PATHPROF_STAT_SKIP_CEILING || stat == PATHPROF_STAT_SKIP_REALTIME ||
	       stat == PATHPROF_STAT_SKIP_ISOLATED || stat == PATHPROF_STAT_SKIP_INIT;
}

static void report(const struct sink *sink, const struct reader *reader,
		   const struct pathprof_collector_stats *before,
		   const struct pathprof_collector_stats *after)
{
	fprintf(stderr,
		"vmread: windows %llu branches %llu insns %llu empty %llu traps %llu switched %llu "
		"lost %llu "
		"spent_ms %llu bad %llu ends",
		(unsigned long long)sink->windows, (unsigned long long)sink->branches,
		(unsigned long long)sink->insns, (unsigned long long)sink->empty,
		(unsigned long long)sink->traps,
		(unsigned long long)sink->ends[PATHPROF_END_SWITCH],
		(unsigned long long)reader_lost(reader),
		(unsigned long long)stats_since(before, after, PATHPROF_STAT_SPENT_NS) / 1000000,
		(unsigned long long)reader->bad);
	for (int i = 0; i < PATHPROF_END_CNT; i++)
		if (sink->ends[i])
			fprintf(stderr, " %d:%llu", i, (unsigned long long)sink->ends[i]);
	fprintf(stderr, " samples %llu skips",
		(unsigned long long)stats_since(before, after, PATHPROF_STAT_SAMPLES));
	for (unsigned int i = PATHPROF_STAT_SKIP_KERNEL; i <= PATHPROF_STAT_SKIP_ISOLATED; i++)
		if (is_skip(i) && stats_since(before, after, i))
			fprintf(stderr, " %u:%llu", i,
				(unsigned long long)stats_since(before, after, i));
	fprintf(stderr, " records");
	for (int i = 0; i < PATHPROF_RECORD_CNT; i++)
		if (sink->types[i])
			fprintf(stderr, " %d:%llu", i, (unsigned long long)sink->types[i]);
	fprintf(stderr, "\n");
}

/* Every record that got a number is either here or counted as lost. */
static void balance(struct reader *reader, const struct pathprof_collector_stats *before,
		    const struct pathprof_collector_stats *after)
{
	uint64_t records = stats_since(before, after, PATHPROF_STAT_RECORDS);

	if (records != reader_received(reader))
		reader_complain(reader, "records written but not found", records);
}

static int run(struct reader *reader, struct sink *sink, const struct options *options)
{
	struct pathprof_kmod_start start = {
		.source = PATHPROF_SOURCE_SWLBR,
		.mode = options->chain ? PATHPROF_MODE_CHAIN : PATHPROF_MODE_RAW,
		.flags = PATHPROF_START_JITTER,
		.period = options->period_ns,
		.window = options->horizon ? 0 : options->taken,
		.horizon = options->horizon,
		.budget_ppm = PATHPROF_BUDGET_MAX,
	};
	struct pathprof_collector_stats before = {0}, after = {0};
	pid_t pid = start_command(options->command);
	int status = 0;
	bool ended;
	int err;

	if (pid < 0) {
		perror("vmread: fork");
		return EXIT_TROUBLE;
	}
	start.pid = options->all ? 0 : (uint32_t)pid;
	sink->pid = options->all ? 0 : pid;
	err = reader_stats(reader, &before);
	err = err ? err : reader_start(reader, &start);
	if (err) {
		fprintf(stderr, "vmread: start: %s\n", strerror(-err));
		finish_command(pid, false, true, 0);
		return EXIT_TROUBLE;
	}
	ended = watch(reader, sink, options, pid, &status);
	if (reader_stop(reader) || reader_stats(reader, &after))
		reader_complain(reader, "stop", (uint64_t)errno);
	reader_drain(reader, keep, sink);
	status = finish_command(pid, ended, options->kill, status);
	balance(reader, &before, &after);
	report(sink, reader, &before, &after);
	return status;
}

int main(int argc, char **argv)
{
	static struct reader reader;
	struct sink sink = {.reader = &reader};
	struct options options;
	int err, status = EXIT_TROUBLE;

	if (parse(argc, argv, &options)) {
		fprintf(stderr,
			"usage: vmread [-t N | -h N] [-n N] [-s S] [-p NS] [-ackz] OUT CMD...\n");
		return EXIT_TROUBLE;
	}
	sink.options = &options;
	sink.file = fopen(options.out, "wb");
	if (!sink.file) {
		perror(options.out);
		return EXIT_TROUBLE;
	}
	err = reader_open(&reader);
	if (err)
		fprintf(stderr, "vmread: %s\n", strerror(-err));
	else
		status = run(&reader, &sink, &options);
	reader_close(&reader);
	return fclose(sink.file) || reader.bad ? EXIT_TROUBLE : status;
}
