/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The step source: starts the stepper process, reads its records, looks twice a second whether it
 * is still at its work, and takes another one where a process has put it to sleep (step_watch.h,
 * step_left.h). No ptrace call is made here: a daemon may be killed at any time, and a tracer may
 * not.
 *
 * Workload: tens of bursts a second on the default budget, thousands in tests. The event loop owns
 * it; no locks. The burst handed to the callback lives in the source's buffer until the next one.
 */
#include "source_step.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../clock/cpu_clock.h"
#include "../shared/log.h"
#include "../silent.h"
#include "step_engine.h"
#include "step_left.h"
#include "step_watch.h"

/* A service tries again; a recording has but one start, and a busy machine may take long. */
#define START_TIMEOUT_MS     5000
#define RECORDING_TIMEOUT_MS 60000
/* Many times what a stepper takes that can end; the window that is open is written only then. */
#define END_TIMEOUT_MS 1000
#define LOOK_PERIOD_MS 500
/* Strangers to the family are asked about anew each five seconds. */
#define LOOKS_TO_ASK_AGAIN 10
#define CHILD_FD           3
#define TAKEN_DEFAULT      32
#define RATE_DEFAULT_HZ    99
#define HOLD_MAX_NS        (2 * PP_NSEC_PER_MSEC)
/* Room for 200 bursts with their stacks, while the daemon reads a large program. */
#define QUEUE_BYTES (4 << 20)

struct step_source {
	struct pp_source base;
	struct pp_source_config config;
	uint32_t flags;
	int fd;        /* the stepper's socket */
	int look_fd;   /* a timer */
	int poll_fd;   /* epoll over both */
	pid_t stepper; /* 0: not running, or already waited for */
	struct pp_step_hold *hold;
	uint32_t silent_seen; /* entries of its table that were read */
	struct pp_step_watch watch;
	struct pp_step_stats stats;
	struct pp_step_stats past; /* sums of the steppers before this one */
	uint64_t malformed;
	uint64_t replaced;
	uint64_t look_cnt;
	uint64_t heard_ns; /* CLOCK_MONOTONIC of the last message */
	bool heard;        /* statistics have come at least once */
	union {
		struct pp_step_header header;
		struct pp_step_record record;
		struct pp_step_stats stats;
		struct pp_step_stack stack;
	} buffer;
};

/* ---- the child */

static int null_streams(void)
{
	int fd = open("/dev/null", O_RDWR);

	if (fd < 0)
		return -errno;
	for (int stream = 0; stream < 3; stream++)
		if (dup2(fd, stream) < 0)
			return -errno;
	if (fd > 2)
		close(fd);
	return 0;
}

/*
 * In the child: nothing of the daemon's is kept but the socket, so that no pipe or database stays
 * open behind its back. Only what is safe after fork in a threaded program.
 */
static _Noreturn void become_stepper(int fd, uint32_t flags)
{
	char number[] = {'0' + CHILD_FD, 0};
	char name[] = "pathprof-step";
	char option[] = "--stepper";
	char *const argv[] = {name, option, number, NULL};

	/* Above the standard streams, wherever the daemon had it. */
	fd = fcntl(fd, F_DUPFD, CHILD_FD + 1);
	if (fd < 0 || null_streams() || dup2(fd, CHILD_FD) < 0 || close_range(CHILD_FD + 1, ~0u, 0))
		_exit(127);
	if (flags & PP_SOURCE_STEP_FORK)
		_exit(pp_step_main(CHILD_FD));
	execv("/proc/self/exe", argv);
	_exit(127);
}

/* ---- starting */

static struct pp_step_config config_message(const struct step_source *source)
{
	return (struct pp_step_config){
		.header = {sizeof(struct pp_step_config), PP_STEP_VERSION, PP_STEP_TYPE_CONFIG},
		.only_pid = source->config.only_pid,
		.daemon_pid = getpid(),
		.taken_wanted = source->config.taken_wanted,
		.horizon = source->config.horizon,
		.hold_max_us = (uint32_t)(source->config.hold_max_ns / 1000),
		.overhead_ppm = source->config.overhead_ppm,
		.frequency_hz = source->config.frequency_hz,
		.pin = source->config.pin,
		.flags = (source->flags & ~(uint32_t)PP_SOURCE_STEP_FORK) |
			 (source->config.realtime ? PP_STEP_REALTIME : 0) |
			 (source->config.stacks ? PP_STEP_STACKS : 0),
	};
}

/* A message with some descriptors, PP_STEP_EVENTS_A_MESSAGE at most. */
static int send_fds(const struct step_source *source, void *bytes, size_t len_bytes, const int *fds,
		    size_t cnt)
{
	struct iovec part = {bytes, len_bytes};
	union {
		char bytes[CMSG_SPACE(PP_STEP_EVENTS_A_MESSAGE * sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = CMSG_SPACE(cnt * sizeof(int))};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);

	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(cnt * sizeof(int));
	memcpy(CMSG_DATA(header), fds, cnt * sizeof(int));
	return sendmsg(source->fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static uint32_t event_cnt(const struct step_source *source)
{
	const struct pp_cpu_clock *events = source->config.events;

	return events ? (uint32_t)pp_cpu_clock_event_cnt(events) : 0;
}

/* The configuration with the hold page and the opener's socket, then the events. */
static int send_first(const struct step_source *source, int page_fd)
{
	struct pp_step_config config = config_message(source);
	uint32_t left = event_cnt(source);
	const int *events = left ? pp_cpu_clock_events(source->config.events) : NULL;
	const int fds[] = {page_fd, source->config.opener_fd};
	char nothing = 0;
	int r;

	config.event_cnt = left;
	r = send_fds(source, &config, sizeof(config), fds, source->config.opener_fd ? 2 : 1);
	while (left && !r) {
		uint32_t cnt = left < PP_STEP_EVENTS_A_MESSAGE ? left : PP_STEP_EVENTS_A_MESSAGE;

		r = send_fds(source, &nothing, 1, events, cnt);
		events += cnt;
		left -= cnt;
	}
	return r;
}

/* Maps the hold page and sends it off with the configuration. */
static int share_page(struct step_source *source)
{
	int fd = memfd_create("pathprof-hold", MFD_CLOEXEC);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (ftruncate(fd, sizeof(*source->hold)))
		r = -errno;
	if (!r) {
		source->hold = mmap(NULL, sizeof(*source->hold), PROT_READ | PROT_WRITE, MAP_SHARED,
				    fd, 0);
		if (source->hold == MAP_FAILED) {
			source->hold = NULL;
			r = -errno;
		}
	}
	if (!r) {
		pp_silent_copy(&source->hold->silent, &source->silent_seen);
		r = send_first(source, fd);
	}
	close(fd);
	return r;
}

/* Without CAP_NET_ADMIN the kernel gives less. */
static void widen_queue(int fd)
{
	const int bytes = QUEUE_BYTES;

	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof(bytes)))
		(void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes));
}

/* -EBUSY: too many are left. */
static int start_stepper(struct step_source *source)
{
	struct epoll_event wanted = {.events = EPOLLIN};
	int pair[2];
	int r;

	if (pp_step_left_reap() >= PP_STEP_LEFT_MAX)
		return -EBUSY;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	widen_queue(pair[1]);
	source->fd = pair[0];
	source->heard = false;
	source->watch = (struct pp_step_watch){.started_ns = pp_monotonic_ns()};
	r = epoll_ctl(source->poll_fd, EPOLL_CTL_ADD, source->fd, &wanted) ? -errno : 0;
	if (!r)
		r = share_page(source);
	if (!r) {
		source->stepper = fork();
		if (source->stepper == 0)
			become_stepper(pair[1], source->flags);
		if (source->stepper < 0) {
			r = -errno;
			source->stepper = 0;
		}
	}
	close(pair[1]);
	return r;
}

static struct pp_source_config complete(const struct pp_source_config *config)
{
	struct pp_source_config whole = *config;

	if (!whole.taken_wanted)
		whole.taken_wanted = TAKEN_DEFAULT;
	if (!whole.hold_max_ns)
		whole.hold_max_ns = HOLD_MAX_NS;
	if (!whole.frequency_hz)
		whole.frequency_hz = RATE_DEFAULT_HZ;
	return whole;
}

/* ---- records */

static bool is_branch(const struct pathprof_branch *branch)
{
	return branch->kind >= 1 && branch->kind <= 6 && branch->taken <= 1;
}

static bool is_burst(const struct pathprof_burst *burst, const struct pathprof_branch *branches,
		     size_t len_bytes)
{
	if (len_bytes < sizeof(*burst) || burst->size_bytes != len_bytes ||
	    burst->version != PATHPROF_ABI_VERSION || burst->branch_cnt > PATHPROF_BURST_MAX ||
	    burst->end >= PATHPROF_END_CNT || burst->taken_cnt > burst->branch_cnt)
		return false;
	if (len_bytes != sizeof(*burst) + burst->branch_cnt * sizeof(*branches))
		return false;
	for (uint32_t i = 0; i < burst->branch_cnt; i++)
		if (!is_branch(&branches[i]))
			return false;
	return true;
}

static bool is_stats(const struct pp_step_stats *stats, size_t len_bytes)
{
	return len_bytes == sizeof(*stats) && stats->header.size_bytes == len_bytes &&
	       stats->header.version == PP_STEP_VERSION;
}

static bool is_stack(const struct pp_step_stack *stack, size_t len_bytes)
{
	return len_bytes >= offsetof(struct pp_step_stack, stack) && len_bytes <= sizeof(*stack) &&
	       stack->header.size_bytes == len_bytes && stack->header.version == PP_STEP_VERSION &&
	       stack->stack_bytes == len_bytes - offsetof(struct pp_step_stack, stack);
}

static void take_stack(const struct pp_step_stack *from, const struct pp_source_sink *sink)
{
	struct pp_stack_seen seen = {
		.pid = from->pid,
		.tid = from->tid,
		.time_ns = from->time_ns,
		.state = {.stack_address = from->address,
			  .stack = from->stack,
			  .stack_bytes = from->stack_bytes},
	};

	memcpy(seen.state.registers, from->registers, sizeof(from->registers));
	if (sink && sink->stack)
		sink->stack(sink->context, &seen);
}

static void take_record(struct step_source *source, size_t len_bytes,
			const struct pp_source_sink *sink)
{
	uint16_t type = len_bytes >= sizeof(struct pp_step_header) ? source->buffer.header.type : 0;

	if (type == PP_STEP_TYPE_STATS && is_stats(&source->buffer.stats, len_bytes)) {
		source->stats = source->buffer.stats;
		source->heard = true;
		source->heard_ns = pp_monotonic_ns();
	} else if (type == PATHPROF_SOURCE_STEP &&
		   is_burst(&source->buffer.record.burst, source->buffer.record.branches,
			    len_bytes)) {
		if (sink)
			sink->burst(sink->context, &source->buffer.record.burst,
				    source->buffer.record.branches);
	} else if (type == PP_STEP_TYPE_STACK && is_stack(&source->buffer.stack, len_bytes)) {
		take_stack(&source->buffer.stack, sink);
	} else {
		source->malformed++;
	}
}

/* 0: nothing more for now; -EPIPE: nothing will ever come again. */
static int read_records(struct step_source *source, const struct pp_source_sink *sink)
{
	for (;;) {
		ssize_t len_bytes = recv(source->fd, &source->buffer, sizeof(source->buffer),
					 MSG_DONTWAIT | MSG_TRUNC);

		if (len_bytes < 0 && errno == EINTR)
			continue;
		if (len_bytes < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return 0;
		if (len_bytes <= 0)
			return -EPIPE;
		take_record(source, (size_t)len_bytes, sink);
	}
}

/* ---- what both learn from each other */

/* Takes over the processes that the stepper has found silent since the last time. */
static void learn_silent(struct step_source *source)
{
	if (source->hold)
		pp_silent_learn(&source->hold->silent, &source->silent_seen);
}

/* The tracker works out when a process began from its fork, which may be a tick off. */
static bool is_member(void *context, pid_t pid, uint64_t start_time)
{
	const struct pp_resolver *resolver = context;
	const struct pp_track_process *process;

	if (!resolver->in_view(resolver->context, pid))
		return false;
	process = resolver->process(resolver->context, pid, 0);
	return process && process->start_time + 1 >= start_time &&
	       process->start_time <= start_time + 1;
}

/* Only the resolver knows of a process in the family whose parents have ended. */
static void answer_family(struct step_source *source)
{
	const struct pp_resolver *resolver = source->config.resolver;
	const bool again = ++source->look_cnt % LOOKS_TO_ASK_AGAIN == 0;

	if (!source->config.only_pid || !source->hold || !resolver || !resolver->in_view ||
	    !(again || pp_step_family_is_asked(&source->hold->family)))
		return;
	resolver->dispatch(resolver->context);
	pp_step_family_answer(&source->hold->family, again, is_member, (void *)resolver);
}

/* Blames the thread that the stepper turned to last. */
static void blame(struct step_source *source)
{
	if (pp_silent_blame(source->hold->busy_pid, PP_STEP_SILENT_STEPPER, "the stepper"))
		source->past.drops[PATHPROF_DROP_SILENT]++;
}

/* ---- ending */

/*
 * Uses SIGKILL only while no target comes to harm. A stepper that does not end in time still has a
 * target that sleeps in the kernel in mid-step: it stays, even when we end, and leaves when the
 * target wakes.
 */
static void end_stepper(struct step_source *source, int timeout_ms)
{
	if (source->fd >= 0)
		close(source->fd);
	source->fd = -1;
	learn_silent(source);
	if (source->stepper)
		pp_step_left_take(source->stepper, source->hold, timeout_ms);
	else if (source->hold)
		munmap(source->hold, sizeof(*source->hold));
	source->stepper = 0;
	source->hold = NULL;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void step_free(struct pp_source *base)
{
	struct step_source *source = (struct step_source *)base;

	if (!source)
		return;
	end_stepper(source, END_TIMEOUT_MS);
	close_fd(source->look_fd);
	close_fd(source->poll_fd);
	free(source);
}

/* ---- another stepper in place of one that sleeps */

static void add_past(struct step_source *source)
{
	struct pp_step_stats *past = &source->past;
	const struct pp_step_stats *stats = &source->stats;

	past->samples += stats->samples;
	past->bursts += stats->bursts;
	past->steps += stats->steps;
	past->stopped_ns += stats->stopped_ns;
	past->cpu_ns += stats->cpu_ns;
	past->restarts += stats->restarts;
	past->singles += stats->singles;
	for (unsigned int i = 0; i < PATHPROF_DROP_CNT; i++)
		past->drops[i] += stats->drops[i];
	source->stats = (struct pp_step_stats){
		.sampler = stats->sampler, .breaks = stats->breaks, .burst_ns = stats->burst_ns};
}

static int replace_stepper(struct step_source *source, enum pp_step_verdict verdict)
{
	learn_silent(source);
	if (verdict == PP_STEP_ASLEEP)
		blame(source);
	else
		pp_log(LOG_WARNING,
		       "step: the stepper, process %d, has not answered for %u s; another one is "
		       "started",
		       source->stepper,
		       (unsigned int)((pp_monotonic_ns() - source->heard_ns) / PP_NSEC_PER_SEC));
	add_past(source);
	source->replaced++;
	end_stepper(source, 0);
	return start_stepper(source);
}

static char state_of(pid_t pid)
{
	struct pp_step_stat stat;

	return pp_step_read_stat(pid, 0, &stat) ? 'X' : stat.state;
}

/* -EPIPE: there is no stepper any more. */
static int look(struct step_source *source)
{
	const uint64_t now_ns = pp_monotonic_ns();
	enum pp_step_verdict verdict;
	char state;

	pp_step_left_reap();
	learn_silent(source);
	answer_family(source);
	if (!source->stepper)
		return -EPIPE;
	state = state_of(source->stepper);
	if (pp_step_watch_is_starved(source->hold, state, now_ns))
		pp_step_free_stepper(source->stepper);
	verdict = pp_step_watch_look(&source->watch, source->hold, state, now_ns);
	if (verdict == PP_STEP_WELL)
		return 0;
	return replace_stepper(source, verdict) ? -EPIPE : 0;
}

static bool is_look_due(const struct step_source *source)
{
	uint64_t cnt;

	return read(source->look_fd, &cnt, sizeof(cnt)) == sizeof(cnt);
}

static int open_looks(struct step_source *source)
{
	const struct timespec period = {0, LOOK_PERIOD_MS * (long)PP_NSEC_PER_MSEC};
	const struct itimerspec often = {.it_interval = period, .it_value = period};
	struct epoll_event wanted = {.events = EPOLLIN};

	source->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	source->look_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (source->poll_fd < 0 || source->look_fd < 0 ||
	    timerfd_settime(source->look_fd, 0, &often, NULL) ||
	    epoll_ctl(source->poll_fd, EPOLL_CTL_ADD, source->look_fd, &wanted))
		return -errno;
	return 0;
}

/* ---- operations */

static int await_answer(struct step_source *source, struct pathprof_error *error)
{
	struct pollfd wanted = {.fd = source->fd, .events = POLLIN};
	const int timeout_ms = source->config.only_pid ? RECORDING_TIMEOUT_MS : START_TIMEOUT_MS;
	int r = 0;

	while (!source->heard && !r) {
		int ready = poll(&wanted, 1, timeout_ms);

		if (ready == 0)
			return pathprof_fail(error, -ETIMEDOUT,
					     "step: the stepper does not answer");
		if (ready > 0)
			r = read_records(source, NULL);
	}
	if (!source->heard)
		return pathprof_fail(error, -EPIPE,
				     "step: the stepper ended at once: is %s executable?",
				     "/proc/self/exe");
	if (source->stats.error)
		return pathprof_fail(error, source->stats.error,
				     "step: no way to find running threads: %s",
				     strerror(-source->stats.error));
	return 0;
}

static int refuse_start(int code, struct pathprof_error *error)
{
	if (code == -EBUSY)
		return pathprof_fail(error, code,
				     "step: %d steppers sleep in the kernel, where hostile "
				     "processes put them; none is added",
				     PP_STEP_LEFT_MAX);
	return pathprof_fail(error, code, "step: cannot start the stepper: %s%s", strerror(-code),
			     code == -EAGAIN ? " (TasksMax= of the unit, or ulimit -u, "
					       "bounds processes)"
					     : "");
}

int pp_source_step_open(struct pp_source **ret_source, const struct pp_source_config *config,
			uint32_t flags, struct pathprof_error *error)
{
	struct step_source *source;
	int r;

	if (config->cgroup || config->ip_max)
		return pathprof_fail(error, -EOPNOTSUPP,
				     "step: Cgroup= and Addresses= take a source that samples in "
				     "the kernel: kmod-lbr, bpf or kmod-swlbr");
	source = calloc(1, sizeof(*source));
	if (!source)
		return pathprof_fail(error, -ENOMEM, "step: out of memory");
	source->base.ops = &pp_source_step;
	source->config = complete(config);
	source->flags = flags;
	source->fd = source->poll_fd = source->look_fd = -1;
	r = open_looks(source);
	if (!r)
		r = start_stepper(source);
	r = r ? refuse_start(r, error) : await_answer(source, error);
	if (r) {
		step_free(&source->base);
		return r;
	}
	*ret_source = &source->base;
	return 0;
}

static int step_open(struct pp_source **ret_source, const struct pp_source_config *config,
		     struct pathprof_error *error)
{
	return pp_source_step_open(ret_source, config, 0, error);
}

static int step_fd(struct pp_source *base)
{
	return ((struct step_source *)base)->poll_fd;
}

static int step_drain(struct pp_source *base, const struct pp_source_sink *sink)
{
	struct step_source *source = (struct step_source *)base;
	int r = read_records(source, sink);

	if (!r && is_look_due(source))
		r = look(source);
	if (r == -EPIPE)
		end_stepper(source, END_TIMEOUT_MS);
	return r;
}

static const char *sampler_name(uint32_t sampler)
{
	switch (sampler) {
	case PP_STEP_SAMPLER_PERF:
		return "cpu-clock";
	case PP_STEP_SAMPLER_PROC:
		return "proc";
	default:
		return "none";
	}
}

static const char *stepping_name(uint32_t breaks)
{
	switch (breaks) {
	case PP_STEP_BREAK_PERF:
		return "breakpoints";
	case PP_STEP_BREAK_PTRACE:
		return "debug registers";
	default:
		return "single steps";
	}
}

static void step_stats(struct pp_source *base, struct pp_source_stats *ret_stats)
{
	const struct step_source *source = (const struct step_source *)base;

	*ret_stats = (struct pp_source_stats){
		.samples = source->past.samples + source->stats.samples,
		.bursts = source->past.bursts + source->stats.bursts,
		.steps = source->past.steps + source->stats.steps,
		.stopped_ns = source->past.stopped_ns + source->stats.stopped_ns,
		.cpu_ns = source->past.cpu_ns + source->stats.cpu_ns,
		.burst_ns = source->stats.burst_ns,
		.stepping = stepping_name(source->stats.breaks),
		.sampler = sampler_name(source->stats.sampler),
	};
	for (unsigned int i = 0; i < PATHPROF_DROP_CNT; i++)
		ret_stats->drops[i] = source->past.drops[i] + source->stats.drops[i];
	ret_stats->replaced = source->replaced;
	ret_stats->events_stale = source->stats.events_stale;
	if (!source->heard || source->watch.late_cnt)
		ret_stats->silent_since_ns = source->heard_ns;
	ret_stats->drops[PATHPROF_DROP_MALFORMED] += source->malformed;
}

static int step_configure(struct pp_source *base, const struct pp_source_config *config)
{
	struct step_source *source = (struct step_source *)base;
	struct pp_step_config message;

	source->config = complete(config);
	message = config_message(source);
	if (send(source->fd, &message, sizeof(message), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		return -errno;
	return 0;
}

/* Whether ptrace works here at all: on a child of our own, which no policy should refuse. */
static int try_child(void)
{
	pid_t parent = getpid();
	pid_t child = fork();
	int status;
	int r = 0;

	if (child < 0)
		return -errno;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() == parent)
			pause();
		_exit(0);
	}
	if (ptrace(PTRACE_SEIZE, child, NULL, NULL))
		r = -errno;
	kill(child, SIGKILL);
	while (waitpid(child, &status, __WALL) < 0 && errno == EINTR)
		;
	return r;
}

static int step_probe(const struct pp_source_config *config, struct pathprof_error *why)
{
#if defined(__x86_64__)
	int r = try_child();

	if (r)
		return pathprof_fail(
			why, r,
			"step: ptrace is refused (%s): in a container allow CAP_SYS_PTRACE, "
			"and see /proc/sys/kernel/yama/ptrace_scope",
			strerror(-r));
	return 0;
#else
	return pathprof_fail(why, -EOPNOTSUPP, "step: x86-64 only");
#endif
}

pid_t pp_source_step_pid(const struct pp_source *base)
{
	return ((const struct step_source *)base)->stepper;
}

uint64_t pp_source_step_restarts(const struct pp_source *base)
{
	const struct step_source *source = (const struct step_source *)base;

	return source->past.restarts + source->stats.restarts;
}

uint64_t pp_source_step_singles(const struct pp_source *base)
{
	const struct step_source *source = (const struct step_source *)base;

	return source->past.singles + source->stats.singles;
}

const struct pp_source_ops pp_source_step = {
	.name = "step",
	.source = PATHPROF_SOURCE_STEP,
	.basis = PATHPROF_BASIS_TIME,
	.apart = true,
	.probe = step_probe,
	.open = step_open,
	.fd = step_fd,
	.drain = step_drain,
	.stats = step_stats,
	.configure = step_configure,
	.free = step_free,
};
