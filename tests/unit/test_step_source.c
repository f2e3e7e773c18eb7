// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The step source whole: a stepper process forked off this runner, watching a child; and how the
 * source takes what a broken stepper might send.
 */
#include "events_of.h"
#include "step_breaks_here.h"
#include "unit.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../daemon/step/source_step.h"
#include "../../daemon/step/step_engine.h"

#define PATIENCE_S 60 /* until a busy machine has let the stepper run */

static volatile uint64_t sink;

#define HELD_MAX 64

struct tally {
	uint64_t bursts, wrong, timed_out;
	uint64_t most;              /* bursts that one call brought */
	uint64_t held_ns[HELD_MAX]; /* of the first bursts */
	pid_t pid;
};

static void count(void *context, const struct pathprof_burst *burst,
		  const struct pathprof_branch *branches)
{
	struct tally *tally = context;

	if (tally->bursts < HELD_MAX)
		tally->held_ns[tally->bursts] = burst->stopped_ns;
	tally->bursts++;
	tally->timed_out += burst->end == PATHPROF_END_TIME;
	tally->wrong += burst->pid != (__u32)tally->pid || burst->version != PATHPROF_ABI_VERSION;
	for (uint32_t i = 1; i < burst->branch_cnt; i++)
		tally->wrong += branches[i].from < burst->start && branches[i].from == 0;
}

static int drain_once(struct pp_source *source, struct tally *tally)
{
	const struct pp_source_sink to = {.context = tally, .burst = count};
	uint64_t before = tally->bursts;
	int code = source->ops->drain(source, &to);

	if (tally->bursts - before > tally->most)
		tally->most = tally->bursts - before;
	return code;
}

/* It computes without end, and waits each so many rounds; 0: never. */
static pid_t start_child(uint64_t wait_each)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (uint64_t i = 0;; i++)
			if (i % 3)
				sink += i;
			else if (wait_each && i % wait_each == 0)
				usleep(1);
	}
	return pid;
}

static pid_t start_spinner(void)
{
	return start_child(0);
}

/* Some hundred microseconds lie between two of its waits. */
static pid_t start_waiter(void)
{
	return start_child(150000);
}

static void end_spinner(pid_t pid)
{
	int status = 0;

	CU_ASSERT_EQUAL(kill(pid, SIGKILL), 0);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

static struct pp_source_config config_at(pid_t pid, uint32_t frequency_hz)
{
	return (struct pp_source_config){.only_pid = pid,
					 .taken_wanted = 8,
					 .overhead_ppm = 500000,
					 .frequency_hz = frequency_hz,
					 .pin = true};
}

static struct pp_source *open_at(pid_t pid, uint32_t flags, uint32_t frequency_hz)
{
	struct pp_source_config config = config_at(pid, frequency_hz);
	struct pathprof_error error = {""};
	struct pp_source *source = NULL;

	if (pp_source_step_open(&source, &config, flags | PP_SOURCE_STEP_FORK, &error))
		CU_FAIL_FATAL("open");
	return source;
}

static struct pp_source *open_on(pid_t pid, uint32_t flags)
{
	return open_at(pid, flags, 1000);
}

/* Drains until there are that many bursts, or seconds are over. The last answer of drain. */
static int drain(struct pp_source *source, struct tally *tally, uint64_t bursts, int seconds)
{
	uint64_t end_ns = pp_monotonic_ns() + (uint64_t)seconds * PP_NSEC_PER_SEC;
	int code = 0;

	while (!code && tally->bursts < bursts && pp_monotonic_ns() < end_ns) {
		struct pollfd wanted = {.fd = source->ops->fd(source), .events = POLLIN};

		if (poll(&wanted, 1, 50) > 0)
			code = drain_once(source, tally);
	}
	return code;
}

/* Statistics come twice a second, and while the socket is full not at all: drains until they do. */
static void await_stats(struct pp_source *source, struct tally *tally,
			struct pp_source_stats *ret_stats)
{
	int code = 0;

	for (int second = 0; second < PATIENCE_S && !code; second++) {
		code = drain(source, tally, UINT64_MAX, 1);
		source->ops->stats(source, ret_stats);
		if (ret_stats->bursts >= 10)
			break;
	}
	CU_ASSERT_EQUAL(code, 0);
}

static void deliver(uint32_t flags, const char *sampler)
{
	struct tally tally = {.pid = start_spinner()};
	struct pp_source *source = open_on(tally.pid, flags);
	struct pp_source_stats stats;

	CU_ASSERT_EQUAL(drain(source, &tally, 10, PATIENCE_S), 0);
	CU_ASSERT(tally.bursts >= 10);
	CU_ASSERT_EQUAL(tally.wrong, 0);
	await_stats(source, &tally, &stats);
	CU_ASSERT(stats.bursts >= 10 && stats.steps > stats.bursts);
	CU_ASSERT(stats.stopped_ns > 0 && stats.cpu_ns > 0);
	CU_ASSERT_STRING_EQUAL(stats.sampler, sampler);
	source->ops->free(source);
	end_spinner(tally.pid);
}

static void test_perf(void)
{
	deliver(0, "cpu-clock");
}

static void test_proc(void)
{
	deliver(PP_STEP_NO_PERF, "proc");
}

/* Bursts that a busy machine has delayed may come yet: until a second has brought none. */
static void await_pause(struct pp_source *source, struct tally *tally)
{
	for (int second = 0; second < PATIENCE_S; second++) {
		tally->bursts = 0;
		CU_ASSERT_EQUAL(drain(source, tally, UINT64_MAX, 1), 0);
		if (!tally->bursts)
			return;
	}
	CU_FAIL("bursts go on");
}

static void test_death_is_told(void)
{
	struct tally tally = {.pid = start_spinner()};
	struct pp_source *source = open_on(tally.pid, 0);
	struct pp_source_config pause = {.only_pid = tally.pid, .frequency_hz = 100};

	/* Without budget it holds nobody, and may be killed. */
	CU_ASSERT_EQUAL(source->ops->configure(source, &pause), 0);
	await_pause(source, &tally);
	kill(pp_source_step_pid(source), SIGKILL);
	CU_ASSERT_EQUAL(drain(source, &tally, UINT64_MAX, PATIENCE_S), -EPIPE);
	CU_ASSERT_EQUAL(pp_source_step_pid(source), 0);
	source->ops->free(source);
	end_spinner(tally.pid);
}

static void test_zero_budget(void)
{
	struct tally tally = {.pid = start_spinner()};
	struct pp_source *source = open_on(tally.pid, 0);
	struct pp_source_config pause = {.only_pid = tally.pid, .frequency_hz = 100};

	CU_ASSERT_EQUAL(source->ops->configure(source, &pause), 0);
	await_pause(source, &tally);
	CU_ASSERT_EQUAL(drain(source, &tally, 1, 1), 0);
	CU_ASSERT_EQUAL(tally.bursts, 0);
	source->ops->free(source);
	end_spinner(tally.pid);
}

/* More bursts than a sample a second gives in all that time, after a reload to a thousand. */
static void speed_up(uint32_t flags)
{
	struct tally tally = {.pid = start_spinner()};
	struct pp_source *source = open_at(tally.pid, flags, 1);
	struct pp_source_config fast = config_at(tally.pid, 1000);

	CU_ASSERT_EQUAL(source->ops->configure(source, &fast), 0);
	CU_ASSERT_EQUAL(drain(source, &tally, 100, PATIENCE_S), 0);
	CU_ASSERT(tally.bursts >= 100);
	source->ops->free(source);
	end_spinner(tally.pid);
}

static void test_new_rate(void)
{
	speed_up(0);
}

static void test_new_rate_of_proc(void)
{
	speed_up(PP_STEP_NO_PERF);
}

/* Between bursts too, or the next waits for every CPU with its thread held. It opens no other here.
 */
static void test_one_event_stays(void)
{
	struct tally tally = {.pid = start_spinner()};
	struct pp_source *source = open_on(tally.pid, PP_STEP_NO_PERF);
	struct pp_source_config pause = {.only_pid = tally.pid, .frequency_hz = 100};

	if (breaks_are_here(PP_STEP_BREAK_PERF)) {
		CU_ASSERT_EQUAL(drain(source, &tally, 1, PATIENCE_S), 0);
		CU_ASSERT_EQUAL(source->ops->configure(source, &pause), 0);
		for (int i = 0; i < 10 * PATIENCE_S && events_of(pp_source_step_pid(source)) != 1;
		     i++) {
			drain_once(source, &tally);
			usleep(100000);
		}
		CU_ASSERT_EQUAL(events_of(pp_source_step_pid(source)), 1);
	}
	source->ops->free(source);
	end_spinner(tally.pid);
}

static uint64_t cpu_ms_of(pid_t pid)
{
	struct timespec time = {0};
	clockid_t clock;

	CU_ASSERT_EQUAL(clock_getcpuclockid(pid, &clock), 0);
	CU_ASSERT_EQUAL(clock_gettime(clock, &time), 0);
	return (uint64_t)time.tv_sec * 1000 + (uint64_t)time.tv_nsec / 1000000;
}

/* Samples in so many seconds, as a share of what they would be: one a millisecond. */
static double share_of_samples(struct pp_source *source, struct tally *tally, unsigned int seconds)
{
	struct pp_source_stats before, after;
	uint64_t begin_ms = cpu_ms_of(tally->pid), end_ms;

	source->ops->stats(source, &before);
	CU_ASSERT_EQUAL(drain(source, tally, UINT64_MAX, seconds), 0);
	source->ops->stats(source, &after);
	end_ms = cpu_ms_of(tally->pid);
	/* a span that shows nothing is none */
	if (after.bursts == before.bursts || end_ms == begin_ms)
		return 1;
	return (double)(after.samples - before.samples) / (double)(end_ms - begin_ms);
}

/*
 * A program is interrupted for samples only while a burst is due: not a thousand times in each
 * second of its time for a hundredth of a CPU. On a busy machine a burst that is due waits for a
 * CPU, so some of several spans may be bad ones.
 */
static void test_rests_between_bursts(void)
{
	struct tally tally = {.pid = start_spinner()};
	struct pp_source *source = open_on(tally.pid, 0);
	uint32_t cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN);
	struct pp_source_config poor = {.only_pid = tally.pid,
					.taken_wanted = 8,
					.overhead_ppm = 10000 / cpus,
					.frequency_hz = 1000,
					.pin = true};
	struct pp_source_stats before;
	double share = 1;

	await_stats(source, &tally, &before);
	CU_ASSERT_EQUAL(source->ops->configure(source, &poor), 0);
	CU_ASSERT_EQUAL(drain(source, &tally, UINT64_MAX, 1), 0);
	for (int i = 0; i < 30 && share >= 0.25; i++)
		share = share_of_samples(source, &tally, 4);
	CU_ASSERT(share < 0.25);
	source->ops->free(source);
	end_spinner(tally.pid);
}

/* Bursts of thousands of instructions of a child, if the time for them is enough; how long each was
 * held, and time-outs. */
static void hold_briefly(pid_t pid, uint64_t hold_max_ns, struct tally *ret_tally)
{
	struct pp_source *source = open_on(pid, 0);
	struct pp_source_config brief = {.only_pid = pid,
					 .taken_wanted = 8,
					 .horizon = 8192,
					 .hold_max_ns = hold_max_ns,
					 .overhead_ppm = 500000,
					 .frequency_hz = 1000,
					 .pin = true};

	*ret_tally = (struct tally){.pid = pid};
	CU_ASSERT_EQUAL(source->ops->configure(source, &brief), 0);
	CU_ASSERT_EQUAL(drain(source, ret_tally, UINT64_MAX, 1), 0);
	*ret_tally = (struct tally){.pid = pid};
	CU_ASSERT_EQUAL(drain(source, ret_tally, 20, PATIENCE_S), 0);
	CU_ASSERT_FATAL(ret_tally->bursts >= 20);
	source->ops->free(source);
	end_spinner(pid);
}

static void test_hold_max(void)
{
	struct tally tally;

	hold_briefly(start_spinner(), 300000, &tally);
	CU_ASSERT(tally.timed_out * 2 > tally.bursts);
}

static int compare_ns(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* A few bursts that waited for a CPU on a busy machine do not move it. */
static uint64_t median_ns(struct tally *tally)
{
	uint64_t cnt = tally->bursts < HELD_MAX ? tally->bursts : HELD_MAX;

	qsort(tally->held_ns, cnt, sizeof(tally->held_ns[0]), compare_ns);
	return tally->held_ns[cnt / 2];
}

/* One that waits is held for a fifth of the limit, the other for all of it. */
static bool is_held_for_less(void)
{
	struct tally computes, waits;

	hold_briefly(start_spinner(), 5000000, &computes);
	hold_briefly(start_waiter(), 5000000, &waits);
	return median_ns(&waits) < median_ns(&computes) / 2;
}

/* A busy machine may hold up the bursts of one of several tries. */
static void test_hold_of_one_that_waits(void)
{
	bool is = false;

	for (int i = 0; i < 10 && !is; i++)
		is = is_held_for_less();
	CU_ASSERT_TRUE(is);
}

static void test_slow_reader(void)
{
	struct tally tally = {.pid = start_spinner()};
	struct pp_source *source = open_on(tally.pid, 0);
	struct pp_source_config greedy = {.only_pid = tally.pid,
					  .taken_wanted = 512,
					  .overhead_ppm = 1000000,
					  .frequency_hz = 4000,
					  .pin = true};
	struct pp_source_stats stats;
	pid_t stepper = pp_source_step_pid(source);

	CU_ASSERT_EQUAL(source->ops->configure(source, &greedy), 0);
	sleep(2);
	CU_ASSERT_EQUAL(kill(stepper, 0), 0);
	CU_ASSERT_EQUAL(drain_once(source, &tally), 0);
	/* Totals come twice a second, where the socket has room for them. */
	for (int i = 0; i < 20 * PATIENCE_S; i++) {
		usleep(50000);
		drain_once(source, &tally);
		source->ops->stats(source, &stats);
		if (tally.bursts && stats.bursts + stats.drops[PATHPROF_DROP_QUEUE_FULL])
			break;
	}
	/* Every burst was either read or counted. */
	CU_ASSERT(stats.bursts + stats.drops[PATHPROF_DROP_QUEUE_FULL] > 0);
	CU_ASSERT(tally.bursts > 0 && tally.wrong == 0);
	source->ops->free(source);
	end_spinner(tally.pid);
}

/* Whether the kernel gives a socket room for megabytes. */
static bool has_wide_sockets(void)
{
	const int wanted = 4 << 20;
	int pair[2], bytes = 0;
	socklen_t len = sizeof(bytes);

	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	if (setsockopt(pair[0], SOL_SOCKET, SO_SNDBUFFORCE, &wanted, sizeof(wanted)))
		setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &wanted, sizeof(wanted));
	getsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &bytes, &len);
	close(pair[0]);
	close(pair[1]);
	return bytes >= wanted;
}

/*
 * The bursts of the first pause that has sixty, or of a longer one that followed, and how many were
 * lost by then.
 */
static uint64_t bursts_of_pause(uint64_t *ret_lost)
{
	struct tally tally = {.pid = start_spinner()};
	const struct pp_source_config config = {.only_pid = tally.pid,
						.taken_wanted = 8,
						.overhead_ppm = 500000,
						.frequency_hz = 1000,
						.stacks = true};
	struct pathprof_error error = {""};
	struct pp_source_stats stats = {0};
	struct pp_source *source = NULL;
	int code = pp_source_step_open(&source, &config, PP_SOURCE_STEP_FORK, &error);

	CU_ASSERT_EQUAL_FATAL(code, 0);
	for (useconds_t pause_us = 50000; tally.most < 60 && pause_us < 60000000; pause_us *= 2) {
		usleep(pause_us);
		drain_once(source, &tally);
	}
	await_stats(source, &tally, &stats);
	*ret_lost = stats.drops[PATHPROF_DROP_QUEUE_FULL];
	source->ops->free(source);
	end_spinner(tally.pid);
	return tally.most;
}

/*
 * The daemon reads no bursts while it reads a large program, and a short recording has few. More
 * than there is room for, as from a machine that was busy until just now, are no such pause.
 */
static void test_short_pause(void)
{
	uint64_t bursts = UINT64_MAX, lost = 0;

	for (int i = 0; i < 20 && bursts > 150; i++)
		bursts = bursts_of_pause(&lost);
	CU_ASSERT(bursts >= 60 && bursts <= 150);
	if (!has_wide_sockets())
		unit_skip("no socket may have more than net.core.wmem_max");
	else
		CU_ASSERT_EQUAL(lost, 0);
}

/* A stepper of our own, with its socket in our hand, greedy for the process `pid`. */
static pid_t start_stepper(pid_t pid, int *ret_fd)
{
	struct pp_step_config config = {
		.header = {sizeof(config), PP_STEP_VERSION, PP_STEP_TYPE_CONFIG},
		.only_pid = pid,
		.daemon_pid = getpid(),
		.taken_wanted = 512,
		.overhead_ppm = 1000000,
		.frequency_hz = 4000,
		.hold_max_us = 10000,
	};
	pid_t stepper;
	int pair[2];

	CU_ASSERT_EQUAL_FATAL(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	CU_ASSERT_EQUAL(send(pair[0], &config, sizeof(config), 0), sizeof(config));
	stepper = fork();
	if (stepper == 0) {
		close(pair[0]);
		_exit(pp_step_main(pair[1]));
	}
	close(pair[1]);
	*ret_fd = pair[0];
	return stepper;
}

/*
 * A reader that is always behind: it takes ten records a second, and bursts fill the place at once.
 * The totals come all the same, and tell of what had no room: six within seconds on a machine that
 * is quiet, and within a minute on any. Bursts that took each place would leave one now and then.
 */
static void test_totals_of_a_full_socket(void)
{
	static union {
		struct pp_step_header header;
		struct pp_step_stats stats;
		struct pp_step_record record;
	} buffer;
	pid_t spinner = start_spinner();
	uint64_t totals = 0, drops = 0;
	int fd = -1;
	pid_t stepper = start_stepper(spinner, &fd);

	sleep(2);
	for (int i = 0; i < 600 && (totals < 6 || !drops); i++) {
		if (recv(fd, &buffer, sizeof(buffer), MSG_DONTWAIT) > 0 &&
		    buffer.header.type == PP_STEP_TYPE_STATS) {
			totals++;
			drops = buffer.stats.drops[PATHPROF_DROP_QUEUE_FULL];
		}
		usleep(100000);
	}
	CU_ASSERT(totals >= 6);
	CU_ASSERT(drops > 0);
	close(fd);
	CU_ASSERT_EQUAL(waitpid(stepper, NULL, 0), stepper);
	end_spinner(spinner);
}

/* ---- what a broken stepper might send */

struct stacks {
	uint32_t cnt;
	size_t most_bytes;
};

static void take_stack(void *context, const struct pp_stack_seen *stack)
{
	struct stacks *stacks = context;

	stacks->cnt++;
	if (stack->state.stack_bytes > stacks->most_bytes)
		stacks->most_bytes = stack->state.stack_bytes;
}

/* A copy of the stepper's end of the socket; -1 if the kernel refuses it. */
static int socket_of(pid_t stepper)
{
	int process = (int)syscall(SYS_pidfd_open, stepper, 0);
	int fd = process < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, process, 3, 0);

	if (process >= 0)
		close(process);
	return fd;
}

static void send_stack(int fd, size_t len_bytes)
{
	static struct {
		struct pp_step_stack stack;
		uint8_t more[8];
	} message;

	message.stack.header =
		(struct pp_step_header){(uint32_t)len_bytes, PP_STEP_VERSION, PP_STEP_TYPE_STACK};
	message.stack.stack_bytes = (uint32_t)(len_bytes - offsetof(struct pp_step_stack, stack));
	CU_ASSERT_EQUAL(send(fd, &message, len_bytes, MSG_DONTWAIT), (ssize_t)len_bytes);
}

static void send_stacks(struct pp_source *source, int fd)
{
	struct stacks stacks = {0};
	const struct pp_source_sink to = {.context = &stacks, .burst = NULL, .stack = take_stack};
	struct pp_source_stats stats;

	send_stack(fd, sizeof(struct pp_step_stack) + 1);
	send_stack(fd, sizeof(struct pp_step_stack));
	send_stack(fd, offsetof(struct pp_step_stack, stack));
	CU_ASSERT_EQUAL(source->ops->drain(source, &to), 0);
	source->ops->stats(source, &stats);
	CU_ASSERT_EQUAL(stacks.cnt, 2);
	CU_ASSERT_EQUAL(stacks.most_bytes, PP_STACK_MAX_BYTES);
	CU_ASSERT_EQUAL(stats.drops[PATHPROF_DROP_MALFORMED], 1);
}

/* No budget: nothing comes but what the test sends. */
static void test_stack_too_long(void)
{
	pid_t spinner = start_spinner();
	struct pp_source_config config = config_at(spinner, 100);
	struct pathprof_error error = {""};
	struct pp_source *source = NULL;
	int fd;

	config.overhead_ppm = 0;
	CU_ASSERT_EQUAL_FATAL(pp_source_step_open(&source, &config, PP_SOURCE_STEP_FORK, &error),
			      0);
	fd = socket_of(pp_source_step_pid(source));
	if (fd < 0)
		unit_skip("pidfd_getfd is refused here");
	else
		send_stacks(source, fd);
	close(fd);
	source->ops->free(source);
	end_spinner(spinner);
}

/* ---- no process to be had */

/* The effect of a TasksMax= that is reached. False: there can be no filter. */
static bool refuse_processes(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_fork, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

enum { SAID_SO, SAID_ELSE, NO_FILTER };

static int start_without_processes(void)
{
	struct pp_source_config config = config_at(0, 100);
	struct pathprof_error error = {""};
	struct pp_source *source = NULL;

	if (!refuse_processes())
		return NO_FILTER;
	return pp_source_step_open(&source, &config, PP_SOURCE_STEP_FORK, &error) == -EAGAIN &&
			       strstr(error.text, "cannot start the stepper: ") &&
			       strstr(error.text, "TasksMax=")
		       ? SAID_SO
		       : SAID_ELSE;
}

static void test_no_process_left(void)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0)
		_exit(start_without_processes());
	CU_ASSERT_EQUAL_FATAL(waitpid(child, &status, 0), child);
	CU_ASSERT_FATAL(WIFEXITED(status));
	if (WEXITSTATUS(status) == NO_FILTER)
		unit_skip("no filters of system calls here");
	else
		CU_ASSERT_EQUAL(WEXITSTATUS(status), SAID_SO);
}

static void test_free_is_null_safe(void)
{
	pp_source_step.free(NULL);
}

static void test_probe(void)
{
	struct pathprof_error why = {""};
	int code = pp_source_step.probe(&(struct pp_source_config){0}, &why);

	if (code)
		unit_skip(why.text);
	else
		CU_ASSERT_STRING_EQUAL(why.text, "");
}

static const struct unit_test tests[] = {
	{"delivers bursts, threads found by perf", test_perf},
	{"delivers bursts, threads found by /proc", test_proc},
	{"a stepper's death is told, and reaped", test_death_is_told},
	{"no budget, no bursts", test_zero_budget},
	{"a new rate holds at once, threads found by perf", test_new_rate},
	{"a new rate holds at once, threads found by /proc", test_new_rate_of_proc},
	{"one event stays open between bursts", test_one_event_stays},
	{"no samples while no burst is due", test_rests_between_bursts},
	{"a burst ends at the limit of its hold", test_hold_max},
	{"one that waits is held for as long as it runs between waits",
	 test_hold_of_one_that_waits},
	{"a slow reader costs bursts, not the stepper", test_slow_reader},
	{"a reader that pauses for sixty bursts loses none", test_short_pause},
	{"totals come through a socket that is always full", test_totals_of_a_full_socket},
	{"a stack that is longer than its place is malformed", test_stack_too_long},
	{"a stepper for which there is no process is told as that", test_no_process_left},
	{"free takes NULL", test_free_is_null_safe},
	{"the probe says why, or nothing", test_probe},
};
UNIT_SUITE(step_source, tests)
