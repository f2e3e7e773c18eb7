// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Does to a process what debuggers and tracers do, while the step source runs: for
 * tests/scenario/step_debuggers.sh.
 *
 *   step_disturb registers PID CNT SECONDS     keeps CNT of its debug registers in use by events
 *                                              of perf, on addresses that it never touches
 *   step_disturb trace PID SECONDS             traces it and lets it run
 *   step_disturb uprobes PID FILE OFFSET TIMES attaches a probe to the instruction at OFFSET of
 *                                              FILE and detaches it, so often; prints `N cycles N
 * hits`
 *
 * Exit 0: done, 1: something went wrong, 75: PID has ended, 77: that is refused here.
 */
#include <errno.h>
#include <inttypes.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXIT_ENDED 75
#define EXIT_SKIP  77
#define TRIES      20000 /* a millisecond apart: a stepper lets go in less, on a slow machine too */
/* Code of nobody: below the lowest address that can be mapped. */
#define NOWHERE  0x200
#define PROBE_MS 6

static void pause_ms(long ms)
{
	struct timespec pause = {ms / 1000, ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

static int open_event(struct perf_event_attr *attr, pid_t pid)
{
	attr->size = sizeof(*attr);
	return (int)syscall(SYS_perf_event_open, attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* A burst that is under way has some of them. */
static int open_breakpoint(struct perf_event_attr *attr, pid_t pid)
{
	for (int i = 0; i < TRIES; i++) {
		int fd = open_event(attr, pid);

		if (fd >= 0 || errno != ENOSPC)
			return fd;
		pause_ms(1);
	}
	return -1;
}

static int take_registers(pid_t pid, long cnt, long seconds)
{
	for (long i = 0; i < cnt; i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_BREAKPOINT,
			.sample_period = 1,
			.exclude_kernel = 1,
			.bp_type = HW_BREAKPOINT_X,
			.bp_addr = (uint64_t)(NOWHERE + i),
			.bp_len = sizeof(long),
		};

		if (open_breakpoint(&attr, pid) < 0) {
			int why = errno;

			perror("step_disturb: breakpoint");
			return why == ESRCH ? EXIT_ENDED : EXIT_SKIP;
		}
	}
	printf("taken\n");
	fflush(stdout);
	pause_ms(seconds * 1000);
	return 0;
}

static int seize(pid_t pid)
{
	for (int i = 0; i < TRIES; i++) {
		if (!ptrace(PTRACE_SEIZE, pid, NULL, NULL))
			return 0;
		if (errno != EPERM)
			break;
		pause_ms(1);
	}
	return -1;
}

static long cpu_ms(pid_t pid)
{
	struct timespec used = {0};
	clockid_t clock;

	if (!clock_getcpuclockid(pid, &clock))
		clock_gettime(clock, &used);
	return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* On a busy machine as long as it takes the process to run for half of that time. */
static void let_run(pid_t pid, long seconds)
{
	long until_ms = cpu_ms(pid) + seconds * 500;

	pause_ms(seconds * 1000);
	for (int i = 0; i < 4000 && cpu_ms(pid) < until_ms && !kill(pid, 0); i++)
		pause_ms(50);
}

static int trace(pid_t pid, long seconds)
{
	int status;

	if (seize(pid)) {
		int why = errno;

		perror("step_disturb: seize");
		return why == ESRCH ? EXIT_ENDED : EXIT_SKIP;
	}
	printf("traced\n");
	fflush(stdout);
	let_run(pid, seconds);
	if (waitpid(pid, &status, __WALL | WNOHANG) == pid && WIFEXITED(status))
		return EXIT_ENDED;
	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) || waitpid(pid, &status, __WALL) != pid ||
	    !WIFSTOPPED(status) || ptrace(PTRACE_DETACH, pid, NULL, NULL)) {
		perror("step_disturb: detach");
		return 1;
	}
	return 0;
}

/* PMU types are numbered as the kernel starts. */
static int uprobe_type(void)
{
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	int type = -1;

	if (file && fscanf(file, "%d", &type) != 1)
		type = -1;
	if (file)
		fclose(file);
	return type;
}

static int probe(pid_t pid, const char *path, uint64_t offset, long times)
{
	uint64_t hits = 0;
	int type = uprobe_type();
	long cycles = 0;

	for (; type >= 0 && cycles < times; cycles++) {
		struct perf_event_attr attr = {
			.type = (uint32_t)type,
			.config1 = (uint64_t)(uintptr_t)path,
			.config2 = offset,
		};
		uint64_t cnt = 0;
		int fd = open_event(&attr, pid);

		/* It may end before. */
		if (fd < 0 && errno == ESRCH)
			break;
		if (fd < 0) {
			perror("step_disturb: uprobe");
			return EXIT_SKIP;
		}
		pause_ms(PROBE_MS);
		if (read(fd, &cnt, sizeof(cnt)) == sizeof(cnt))
			hits += cnt;
		close(fd);
		pause_ms(PROBE_MS / 2);
	}
	printf("%ld cycles %" PRIu64 " hits\n", cycles, hits);
	return type < 0 ? EXIT_SKIP : 0;
}

int main(int argc, char **argv)
{
	pid_t pid = argc > 2 ? (pid_t)strtol(argv[2], NULL, 10) : 0;

	if (argc == 5 && !strcmp(argv[1], "registers"))
		return take_registers(pid, strtol(argv[3], NULL, 10), strtol(argv[4], NULL, 10));
	if (argc == 4 && !strcmp(argv[1], "trace"))
		return trace(pid, strtol(argv[3], NULL, 10));
	if (argc == 6 && !strcmp(argv[1], "uprobes"))
		return probe(pid, argv[3], strtoull(argv[4], NULL, 16), strtol(argv[5], NULL, 10));
	fprintf(stderr, "usage: see the head of step_disturb.c\n");
	return 1;
}
