/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stepper process: takes samples, turns those the budget allows into bursts, sends them up.
 * Woken a few times a second on the default budget. It must outlive whatever kills its daemon just
 * long enough to let its target go: it takes no signal that can be blocked, and leaves when the
 * socket ends, not before no target can be harmed.
 *
 * One thread, no locks. The state is static: nothing is allocated while a target is held; only the
 * samplers allocate. Messages: step.h. A full socket costs the burst, never the target's time.
 */
#include "step.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../child_cpu.h"
#include "../oom_score.h"
#include "../privilege.h"
#include "sampler.h"
#include "step_engine.h"
#include "step_opener.h"
#include "step_post.h"

#define STATS_PERIOD_NS  (PP_NSEC_PER_SEC / 2)
#define STATS_POOR_NS    (60 * PP_NSEC_PER_SEC)
#define LIMBO_PERIOD_NS  (50 * PP_NSEC_PER_MSEC)
#define WIND_DOWN_MAX_NS (500 * PP_NSEC_PER_MSEC)
#define STEPS_BASE       512
#define STEPS_A_TAKEN    64
#define CONFIG_TIMEOUT_S 10
#define NICE_BEST        (-20)

struct stepper {
	int fd;
	bool ended; /* the socket has */
	uint32_t flags;
	uint32_t frequency_hz;      /* the sampler's, or what it will be opened with */
	struct pp_sampler *sampler; /* NULL: not opened yet */
	struct pp_step_holder holder;
	struct pp_step_budget budget;
	struct pp_step_limits limits;
	struct pp_step_post post;
	struct pp_step_stats stats;
	uint64_t cpu_ns; /* CLOCK_PROCESS_CPUTIME_ID when last charged */
	uint64_t stats_due_ns;
	bool stats_owed;            /* the socket was full when they were due */
	struct pp_step_stack stack; /* of the same burst as record */
	struct pp_step_record record;
};
static struct stepper stepper;

/* ---- becoming hard to kill */

static void on_signal(int signal)
{
}

/*
 * SIGALRM stays open to break off calls (step_target.c has its handler), SIGCHLD opens in ppoll
 * only. Neither handler has SA_RESTART.
 */
static void block_signals(void)
{
	struct sigaction action = {.sa_handler = on_signal};
	sigset_t all;

	sigaction(SIGCHLD, &action, NULL);
	sigfillset(&all);
	sigdelset(&all, SIGALRM);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

/*
 * A stopped target waits until we are scheduled, so nothing else may run first: a real-time policy,
 * which nice values of other groups cannot outweigh. We sleep nearly always, within our budget.
 * Children do not inherit it. Both are denied without CAP_SYS_NICE: then a stop takes longer on a
 * busy machine.
 */
void pp_step_run_first(void)
{
	struct sched_param first = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};

	if (sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first))
		setpriority(PRIO_PROCESS, 0, NICE_BEST);
}

static void harden(void)
{
	prctl(PR_SET_NAME, "pathprof-step");
	block_signals();
	setsid();
	pp_step_run_first();
	/* If it is refused, only this precaution is lost; `pathprofctl doctor` says so. */
	(void)pp_oom_score_set(PP_OOM_SCORE_NEVER);
}

/* ---- messages */

static bool is_config(const struct pp_step_config *config, ssize_t len_bytes)
{
	return len_bytes == (ssize_t)sizeof(*config) &&
	       config->header.size_bytes == sizeof(*config) &&
	       config->header.version == PP_STEP_VERSION &&
	       config->header.type == PP_STEP_TYPE_CONFIG && config->taken_wanted > 0 &&
	       config->taken_wanted <= PATHPROF_BURST_MAX &&
	       config->horizon <= PP_STEP_HORIZON_MAX && config->frequency_hz > 0 &&
	       config->hold_max_us > 0 && config->event_cnt <= PP_ISOLATED_CPU_MAX;
}

static uint32_t cpus_online(void)
{
	long cnt = sysconf(_SC_NPROCESSORS_ONLN);

	return cnt > 0 ? (uint32_t)cnt : 1;
}

/* Most messages bring another budget and the same rate: that lets the running periods end. */
static void set_rate(uint32_t frequency_hz)
{
	struct pp_sampler *sampler = stepper.sampler;
	bool is_new = frequency_hz != stepper.frequency_hz;

	stepper.frequency_hz = frequency_hz;
	if (is_new && sampler && sampler->ops->set_rate)
		sampler->ops->set_rate(sampler, frequency_hz);
}

static void apply(const struct pp_step_config *config)
{
	stepper.flags = config->flags;
	stepper.holder.pin.cpu_cnt = cpus_online();
	stepper.holder.pin.enabled = config->pin && stepper.holder.pin.hold;
	stepper.limits = (struct pp_step_limits){
		.taken_wanted = config->taken_wanted,
		.horizon = config->horizon,
		.breaks = stepper.stats.breaks,
		.step_max = config->horizon ? STEPS_BASE + config->horizon
					    : STEPS_BASE + STEPS_A_TAKEN * config->taken_wanted,
		.time_ns = config->hold_max_us * 1000ull,
		.call_ns = PP_STEP_CALL_NS,
		.lookahead = !(config->flags & PP_STEP_NO_LOOKAHEAD),
		.stack = config->flags & PP_STEP_STACKS ? &stepper.stack : NULL,
	};
	stepper.holder.spare.enabled = !(config->flags & PP_STEP_REALTIME);
	stepper.holder.spare.any_isolated =
		pp_isolated_cpus(PP_ISOLATED_WHERE, stepper.holder.spare.is_isolated);
	pp_step_budget_configure(&stepper.budget, config->overhead_ppm, stepper.holder.pin.cpu_cnt,
				 pp_monotonic_ns());
	set_rate(config->frequency_hz);
}

/* A message and the descriptors that came with it, max at most. Its length, or -errno. */
static ssize_t receive_fds(int fd, void *bytes, size_t len_bytes, int *ret_fds, size_t max,
			   size_t *ret_cnt)
{
	struct iovec part = {bytes, len_bytes};
	union {
		char bytes[CMSG_SPACE(PP_STEP_EVENTS_A_MESSAGE * sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
	size_t cnt = 0;

	if (got < 0)
		return -errno;
	if (header && header->cmsg_type == SCM_RIGHTS)
		cnt = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	if (cnt > max)
		return -EBADMSG;
	if (cnt)
		memcpy(ret_fds, CMSG_DATA(header), cnt * sizeof(int));
	*ret_cnt = cnt;
	return got;
}

/* The first message; with it the hold page (-1: there was none), and who opens breakpoints for us.
 */
static int receive_first(int fd, struct pp_step_config *ret_config, int *ret_page_fd)
{
	struct timeval timeout = {.tv_sec = CONFIG_TIMEOUT_S};
	int fds[2] = {-1, -1};
	ssize_t len_bytes;
	size_t cnt;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
	len_bytes = receive_fds(fd, ret_config, sizeof(*ret_config), fds, 2, &cnt);
	if (len_bytes < 0)
		return (int)len_bytes;
	*ret_page_fd = fds[0];
	if (fds[1] >= 0)
		pp_step_opener_use(fds[1]);
	return is_config(ret_config, len_bytes) ? 0 : -EBADMSG;
}

/* The events that follow it, as many as it says. */
static int receive_events(int fd, uint32_t event_cnt, int *ret_events)
{
	uint32_t have = 0;

	while (have < event_cnt) {
		size_t room = event_cnt - have, cnt = 0;
		char nothing = 0;
		ssize_t got;

		if (room > PP_STEP_EVENTS_A_MESSAGE)
			room = PP_STEP_EVENTS_A_MESSAGE;
		got = receive_fds(fd, &nothing, 1, ret_events + have, room, &cnt);
		if (got < 0 || !cnt)
			return got < 0 ? (int)got : -EBADMSG;
		have += (uint32_t)cnt;
	}
	return 0;
}

/* Without the page nobody could undo a pin: then nothing is pinned. */
static struct pp_step_hold *map_hold(int page_fd)
{
	void *page = MAP_FAILED;

	if (page_fd < 0)
		return NULL;
	page = mmap(NULL, sizeof(struct pp_step_hold), PROT_READ | PROT_WRITE, MAP_SHARED, page_fd,
		    0);
	close(page_fd);
	return page == MAP_FAILED ? NULL : page;
}

/* 0, -EAGAIN when the daemon does not keep up; any other error means that it is gone. */
static int send_up(const void *data, size_t len_bytes)
{
	if (send(stepper.fd, data, len_bytes, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	if (errno == EAGAIN || errno == ENOBUFS || errno == EINTR)
		return -EAGAIN;
	stepper.ended = true;
	return -EPIPE;
}

/* CPU time of the stepper, of children that it has waited for, and of the opener on its behalf. */
static uint64_t own_cpu_ns(void)
{
	struct rusage children;

	getrusage(RUSAGE_CHILDREN, &children);
	return pp_clock_ns(CLOCK_PROCESS_CPUTIME_ID) + pp_child_cpu_ns(&children) +
	       pp_step_opener_cpu_ns();
}

static void send_stats(void)
{
	stepper.stats.header =
		(struct pp_step_header){sizeof(stepper.stats), PP_STEP_VERSION, PP_STEP_TYPE_STATS};
	stepper.stats.cpu_ns = own_cpu_ns();
	stepper.stats.burst_ns = stepper.budget.cost_ns;
	stepper.stats.restarts = stepper.holder.restarts;
	stepper.stats.singles = stepper.holder.singles;
	stepper.stats.events_stale = stepper.sampler && stepper.sampler->ops->is_stale &&
				     stepper.sampler->ops->is_stale(stepper.sampler);
	stepper.stats_owed = send_up(&stepper.stats, sizeof(stepper.stats)) == -EAGAIN;
}

static void send_burst(void)
{
	const struct pathprof_burst *burst = &stepper.record.burst;

	/* Sent first, or bursts would take all the room that a slow reader makes. */
	if (stepper.stats_owed)
		send_stats();
	/* one that finds no room is missed: the burst has no callers then */
	if (stepper.limits.stack)
		(void)send_up(&stepper.stack, stepper.stack.header.size_bytes);
	if (send_up(burst, burst->size_bytes) == -EAGAIN)
		stepper.stats.drops[PATHPROF_DROP_QUEUE_FULL]++;
	else
		stepper.stats.bursts++;
}

static void receive(void)
{
	struct pp_step_config config;
	ssize_t len_bytes = recv(stepper.fd, &config, sizeof(config), MSG_DONTWAIT | MSG_TRUNC);

	if (len_bytes == 0 ||
	    (len_bytes < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR))
		stepper.ended = true;
	else if (is_config(&config, len_bytes))
		apply(&config);
}

/* ---- bursts */

/* The CPU time since the last call. */
static uint64_t take_cpu_ns(void)
{
	uint64_t cpu_ns = own_cpu_ns(), spent_ns = cpu_ns - stepper.cpu_ns;

	stepper.cpu_ns = cpu_ns;
	return spent_ns;
}

static void end_burst(const struct pp_step_target *target, uint64_t cost_ns)
{
	pp_step_budget_learn(&stepper.budget, cost_ns);
	pp_step_budget_pause(&stepper.budget, target->interrupted_ns, pp_monotonic_ns());
}

/*
 * Charges and reports the time that target was held, and learns from it if there was a burst. Until
 * it stops it runs, or waits for a CPU as it would without us.
 */
static void charge_hold(const struct pp_step_target *target, bool held)
{
	uint64_t cpu_ns = own_cpu_ns() - stepper.cpu_ns;
	uint64_t hold_ns = target->stopped_ns
				   ? target->released_ns - target->stopped_ns - target->slept_ns
				   : 0;

	stepper.stats.stopped_ns += hold_ns;
	stepper.record.burst.stopped_ns = hold_ns;
	pp_step_budget_charge(&stepper.budget, hold_ns);
	if (held)
		end_burst(target, hold_ns + cpu_ns);
	pp_step_budget_charge(&stepper.budget, take_cpu_ns());
}

static void pause_sampler(void)
{
	if (stepper.sampler->ops->pause)
		stepper.sampler->ops->pause(stepper.sampler);
}

static void rest_sampler(uint64_t for_ns)
{
	if (stepper.sampler->ops->rest)
		stepper.sampler->ops->rest(stepper.sampler, for_ns);
}

static void profile(const struct pp_sample *sample)
{
	struct pp_step_target target = {.pid = sample->pid, .tid = sample->tid};
	enum pathprof_drop drop;
	bool held;

	pp_step_publish_busy(&stepper.holder.pin, &target);
	drop = pp_step_catch(&stepper.holder, &target);
	held = drop == PP_STEP_HELD;
	if (held) {
		pause_sampler();
		pp_step_burst(&stepper.holder, &target, &stepper.limits, &stepper.record);
	} else {
		stepper.stats.drops[drop]++;
	}
	pp_step_publish_idle(&stepper.holder.pin);
	charge_hold(&target, held);
	if (!held)
		return;
	stepper.stats.steps += stepper.record.burst.step_cnt;
	send_burst();
}

/* Whether a burst begins by this sample; else the stepper goes where it waits for the next. */
static bool takes(struct pp_sample *sample, uint64_t now_ns)
{
	struct pp_step_pin *pin = &stepper.holder.pin;

	if (!pin->enabled)
		sample->cpu = -1;
	if (pp_step_post_takes(&stepper.post, sample, sched_getcpu(), now_ns))
		return true;
	if (pin->cpu_cnt > 1 && !pp_step_go_to(pin, stepper.post.cpu))
		pp_step_post_give_up(&stepper.post);
	return false;
}

/*
 * A real-time thread that never sleeps keeps its CPU from whoever waits there: a stepper that went
 * to it would see nobody else any more.
 */
static bool spares(const struct pp_sample *sample)
{
	const struct pp_step_target target = {.pid = sample->pid, .tid = sample->tid};
	enum pathprof_drop drop = pp_step_check_promises(&stepper.holder.spare, &target);

	if (drop == PP_STEP_HELD)
		return false;
	stepper.stats.drops[drop]++;
	pp_step_post_leave(&stepper.post);
	return true;
}

static void sample(void)
{
	struct pp_sample picked;
	uint64_t now_ns = pp_monotonic_ns(), seen = 0;
	int cpu = pp_step_post_cpu(&stepper.post, now_ns);
	bool is_any = stepper.sampler->ops->pick(stepper.sampler, cpu, &picked, &seen) == 1;
	bool spared = is_any && spares(&picked);
	bool taken = is_any && !spared && takes(&picked, now_ns);

	if (taken)
		profile(&picked);
	stepper.stats.samples += seen;
	stepper.stats.drops[PATHPROF_DROP_BUDGET] += seen - spared - taken;
	stepper.stats.drops[PATHPROF_DROP_TABLE_FULL] = stepper.sampler->left_out;
}

/* ---- the loop */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Sleeps until there is something to do; whether the sampler may be asked. */
static bool wait_for_work(uint64_t budget_wait_ns)
{
	const struct pp_step_limbo *limbo = &stepper.holder.limbo;
	bool may_sample = !budget_wait_ns && limbo->cnt < PP_STEP_LIMBO_MAX;
	uint64_t now_ns = pp_monotonic_ns();
	uint64_t wait_ns = stepper.stats_due_ns > now_ns ? stepper.stats_due_ns - now_ns : 0;
	struct pollfd fds[2] = {{.fd = stepper.fd, .events = POLLIN}, {.events = POLLIN}};
	int cpu = pp_step_post_cpu(&stepper.post, now_ns);
	struct timespec timeout;
	sigset_t mask;

	if (cpu < 0)
		pp_step_roam(&stepper.holder.pin);
	else
		wait_ns = min_u64(wait_ns, stepper.post.until_ns - now_ns);
	if (budget_wait_ns)
		wait_ns = min_u64(wait_ns, budget_wait_ns);
	if (limbo->cnt)
		wait_ns = min_u64(wait_ns, LIMBO_PERIOD_NS);
	timeout = (struct timespec){(time_t)(wait_ns / PP_NSEC_PER_SEC),
				    (long)(wait_ns % PP_NSEC_PER_SEC)};
	if (stepper.stats_owed)
		fds[0].events |= POLLOUT;
	if (stepper.holder.pin.hold)
		__atomic_store_n(&stepper.holder.pin.hold->due_ns, now_ns + wait_ns,
				 __ATOMIC_RELEASE);
	fds[1].fd = may_sample ? stepper.sampler->ops->fd(stepper.sampler, cpu) : -1;
	sigfillset(&mask);
	sigdelset(&mask, SIGCHLD);
	if (ppoll(fds, 2, &timeout, &mask) <= 0)
		return false;
	if (fds[0].revents & POLLOUT)
		send_stats();
	if (fds[0].revents & ~POLLOUT)
		receive();
	return may_sample && fds[1].revents;
}

/*
 * A budget that needs long to earn a burst would be spent on wake-ups before: nothing changes until
 * then, so nothing is told.
 */
static void tell_stats(uint64_t now_ns, uint64_t budget_wait_ns)
{
	if (now_ns < stepper.stats_due_ns)
		return;
	stepper.stats_due_ns = now_ns + STATS_PERIOD_NS;
	if (budget_wait_ns > STATS_PERIOD_NS)
		stepper.stats_due_ns = now_ns + min_u64(budget_wait_ns, STATS_POOR_NS);
	stepper.holder.pin.cpu_cnt = cpus_online();
	send_stats();
}

static bool has_lost_breakpoints(void)
{
	return stepper.stats.breaks == PP_STEP_BREAK_PERF &&
	       (pp_step_opener_has_gone() || pp_step_break_is_refused());
}

static void run(void)
{
	while (!stepper.ended) {
		uint64_t now_ns = pp_monotonic_ns(), budget_wait_ns;

		pp_step_budget_charge_wake(&stepper.budget, take_cpu_ns());
		budget_wait_ns = pp_step_budget_wait(&stepper.budget, now_ns);
		rest_sampler(budget_wait_ns);
		tell_stats(now_ns, budget_wait_ns);
		if (wait_for_work(budget_wait_ns) && !stepper.ended) {
			sample();
			stepper.stats_due_ns =
				min_u64(stepper.stats_due_ns, now_ns + STATS_PERIOD_NS);
		}
		if (stepper.holder.limbo.cnt)
			pp_step_poll_limbo(&stepper.holder);
		/* The next stepper finds another way to stop its targets. */
		if (has_lost_breakpoints())
			stepper.ended = true;
	}
}

/*
 * To exit with a target in mid-step would kill it, and one that sleeps in the kernel takes its
 * time: hours, where a file server is gone. SIGCHLD tells when it has come out.
 */
static void wind_down(void)
{
	uint64_t pause_ns = PP_NSEC_PER_MSEC;
	sigset_t mask;

	sigfillset(&mask);
	sigdelset(&mask, SIGCHLD);
	pp_step_poll_limbo(&stepper.holder);
	while (!pp_step_may_leave(&stepper.holder.limbo)) {
		struct timespec pause = {0, (long)pause_ns};

		ppoll(NULL, 0, &pause, &mask);
		pause_ns = min_u64(2 * pause_ns, WIND_DOWN_MAX_NS);
		pp_step_poll_limbo(&stepper.holder);
	}
	send_stats();
}

static int open_sampler(const struct pp_step_config *config, const int *events)
{
	struct pp_sampler_config wanted = {
		.only_pid = config->only_pid,
		.family = stepper.holder.pin.hold ? &stepper.holder.pin.hold->family : NULL,
		.frequency_hz = config->frequency_hz,
		.realtime = config->flags & PP_STEP_REALTIME,
		.exclude = {config->daemon_pid, getpid()},
		.events = events,
		.event_cnt = config->event_cnt,
	};
	int r = -ENOSYS;

	stepper.stats.sampler = PP_STEP_SAMPLER_PERF;
	if (!(config->flags & PP_STEP_NO_PERF))
		r = pp_sampler_perf.open(&stepper.sampler, &wanted);
	if (!r)
		return 0;
	stepper.stats.sampler = PP_STEP_SAMPLER_PROC;
	return pp_sampler_proc.open(&stepper.sampler, &wanted);
}

/* Tried once: some hypervisors have no debug registers. */
static enum pp_step_break_kind find_breaks(const struct pp_step_config *config)
{
	if (config->flags & (PP_STEP_NO_BREAK | PP_STEP_NO_LOOKAHEAD))
		return PP_STEP_BREAK_NONE;
	return pp_step_break_probe(config->flags & PP_STEP_NO_PERF_BREAK ? PP_STEP_BREAK_PTRACE
									 : PP_STEP_BREAK_PERF);
}

/* Starting costs as much as minutes of a small budget: that is shown, but no burst waits for it. */
static void begin_account(void)
{
	stepper.cpu_ns = own_cpu_ns();
}

/* A service's stepper has its events from the daemon; a recording's opens those of new threads. */
static int give_up_rights(const struct pp_step_config *config)
{
	return config->only_pid ? 0 : pp_privilege_drop(PP_PRIVILEGE(CAP_SYS_ADMIN), NULL);
}

static int open_events(int fd, const struct pp_step_config *config)
{
	int *events = calloc(config->event_cnt + 1, sizeof(*events));
	int r = events ? receive_events(fd, config->event_cnt, events) : -ENOMEM;

	if (!r)
		r = open_sampler(config, events);
	/* the sampler has copies of its own */
	for (uint32_t i = 0; events && i < config->event_cnt; i++)
		if (events[i] > 0)
			close(events[i]);
	free(events);
	return r;
}

static int start(int fd)
{
	struct pp_step_config config = {0};
	int page_fd = -1;
	int r = receive_first(fd, &config, &page_fd);

	if (!r)
		r = give_up_rights(&config);
	if (r)
		return r;
	stepper.holder.only_pid = config.only_pid;
	stepper.holder.daemon_pid = config.daemon_pid;
	stepper.holder.unprivileged = !pp_privilege_has(PP_PRIVILEGE(CAP_SYS_PTRACE));
	stepper.holder.pin.hold = map_hold(page_fd);
	pp_step_pin_begin(&stepper.holder.pin);
	if (stepper.holder.pin.hold)
		stepper.holder.silent = &stepper.holder.pin.hold->silent;
	stepper.stats.breaks = find_breaks(&config);
	if (stepper.stats.breaks != PP_STEP_BREAK_NONE && !pp_step_opener_is_used())
		(void)pp_step_break_keep_ready();
	pp_step_budget_init(&stepper.budget, config.overhead_ppm, cpus_online(), pp_monotonic_ns());
	apply(&config);
	return open_events(fd, &config);
}

int pp_step_main(int fd)
{
	stepper = (struct stepper){.fd = fd};
	harden();
	stepper.stats.error = start(fd);
	if (stepper.stats.error) {
		stepper.stats.sampler = 0;
		send_stats();
		return EXIT_FAILURE;
	}
	begin_account();
	run();
	wind_down();
	stepper.sampler->ops->free(stepper.sampler);
	return EXIT_SUCCESS;
}
