// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recording one program: see config_args.h. The command is forked first and waits on a pipe, so
 * that source and tracker stand before its first instruction; a descriptor that exec closes tells
 * whether it came to run.
 */
#include "config_args.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/epoll.h>
#include <sys/pidfd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/children.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/plural.h"
#include "shared/log.h"
#include "service.h"
#include "service_state.h"
#include "track/track_proc.h"
#include "values/values.h"

#define PROGRESS_EVERY_US UINT64_C(1000000)

static const int forwarded[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
#define FORWARDED_CNT (sizeof(forwarded) / sizeof(forwarded[0]))

struct oneshot {
	const struct pp_args *args;
	struct pp_service *service;
	pid_t child;                 /* 0 with -p, and once it was reaped */
	int go;                      /* written to: the child may exec */
	int failure;                 /* read from: why exec failed */
	int pidfd;                   /* of -p */
	sigset_t mask;               /* before ours */
	struct sigaction on_sigchld; /* before ours */
	uint64_t begin_ns;
	uint64_t user_ns; /* of the child and what it waited for, once it was reaped */
	bool progress, progress_shown;
};

static void release(struct oneshot *shot)
{
	pp_service_free(shot->service);
	pp_cleanup_fd(&shot->go);
	pp_cleanup_fd(&shot->failure);
	pp_cleanup_fd(&shot->pidfd);
}

static void block_signals(struct oneshot *shot)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < FORWARDED_CNT; i++)
		sigaddset(&set, forwarded[i]);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, &shot->mask);
	pp_children_leave_status(&shot->on_sigchld);
}

/* Runs in the child. It has only two of our descriptors, the pipes, which exec closes. */
static _Noreturn void wait_and_exec(const struct oneshot *shot, int go, int failure)
{
	int error;
	char c;

	/* our end, too: if the parent dies, the read below must see the end of file */
	close(shot->go);
	sigaction(SIGCHLD, &shot->on_sigchld, NULL);
	sigprocmask(SIG_SETMASK, &shot->mask, NULL);
	if (read(go, &c, 1) != 1)
		_exit(125);
	/* Under Yama only ancestors may trace: the stepper, a child of our parent, is none.
	 * Elsewhere this fails, and is not needed. */
	prctl(PR_SET_PTRACER, getppid(), 0, 0, 0);
	execvp(shot->args->command[0], shot->args->command);
	error = errno;
	if (write(failure, &error, sizeof(error)) != (ssize_t)sizeof(error))
		_exit(125);
	_exit(error == ENOENT ? 127 : 126);
}

static int start_child(struct oneshot *shot)
{
	_cleanup_close_ int go = -EBADF, failure = -EBADF;
	int pair[2];

	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	go = pair[0];
	shot->go = pair[1];
	if (pipe2(pair, O_CLOEXEC) < 0)
		return -errno;
	shot->failure = pair[0];
	failure = pair[1];
	shot->child = fork();
	if (shot->child < 0)
		return -errno;
	if (shot->child == 0)
		wait_and_exec(shot, go, failure);
	return 0;
}

/* 0 once the command runs, else the errno of its exec, negative. */
static int let_go(struct oneshot *shot)
{
	int error = 0;
	ssize_t n;

	/* The child may have been killed meanwhile. It has its own setting of the signal by now. */
	signal(SIGPIPE, SIG_IGN);
	if (write(shot->go, "", 1) != 1)
		return -errno;
	do
		n = read(shot->failure, &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	return n == (ssize_t)sizeof(error) ? -error : 0;
}

static int exit_code(const siginfo_t *info)
{
	return info->si_code == CLD_EXITED ? info->si_status : 128 + info->si_status;
}

/* The call waitid, which glibc offers without the usage of resources. */
static int reap(struct oneshot *shot, siginfo_t *info)
{
	struct rusage usage = {{0}};

	if (syscall(SYS_waitid, P_PID, (id_t)shot->child, info, WEXITED | WNOHANG, &usage))
		return -1;
	shot->user_ns = (uint64_t)usage.ru_utime.tv_sec * PP_NSEC_PER_SEC +
			(uint64_t)usage.ru_utime.tv_usec * 1000;
	return 0;
}

/*
 * By SIGCHLD, not by a pidfd as sd-event watches children: a command that ends while the stepper
 * holds it makes its pidfd readable at once, but has no status for us before the stepper has let
 * go. The signal comes when it has. Others bring it too: the stepper's end, the command's stops.
 */
static int on_child(sd_event_source *event_source, const struct signalfd_siginfo *signal_info,
		    void *context)
{
	sd_event *event = sd_event_source_get_event(event_source);
	struct oneshot *shot = context;
	siginfo_t info = {.si_pid = 0};

	if (shot->child <= 0)
		return 0;
	if (reap(shot, &info)) {
		pp_log(LOG_ERR, "waiting for %s: %s", shot->args->command[0], strerror(errno));
		shot->child = 0;
		return sd_event_exit(event, 1);
	}
	if (!info.si_pid)
		return 0;
	shot->child = 0;
	return sd_event_exit(event, exit_code(&info));
}

static int on_target_end(sd_event_source *event_source, int fd, uint32_t events, void *context)
{
	return sd_event_exit(sd_event_source_get_event(event_source), 0);
}

/*
 * A signal of the terminal reaches the command as well; only a signal that was meant for us alone
 * is passed on. Either way the command decides when the recording ends. Without a command a signal
 * ends it.
 */
static int on_signal(sd_event_source *event_source, const struct signalfd_siginfo *info,
		     void *context)
{
	const struct oneshot *shot = context;

	if (shot->args->pid || shot->args->group)
		return sd_event_exit(sd_event_source_get_event(event_source), 0);
	if (shot->child > 0 && info->ssi_code != SI_KERNEL)
		kill(shot->child, (int)info->ssi_signo);
	return 0;
}

/* A program that reads key by key, as an editor does, has drawn the screen and shows it still. */
static bool is_screen_taken(void)
{
	struct termios state;

	return tcgetattr(STDERR_FILENO, &state) == 0 && !(state.c_lflag & ICANON);
}

static void print_progress(struct oneshot *shot)
{
	const uint64_t bursts = pp_service_bursts(shot->service);
	const uint64_t paths = pp_service_paths(shot->service);

	fprintf(stderr, "\rpathprofd: %" PRIu64 " s, %" PRIu64 " %s, %" PRIu64 " %s\033[K",
		(pp_monotonic_ns() - shot->begin_ns) / 1000000000, bursts,
		pp_plural(bursts, "burst", "bursts"), paths, pp_plural(paths, "path", "paths"));
	shot->progress_shown = true;
}

static int on_progress(sd_event_source *timer, uint64_t now_us, void *context)
{
	if (!is_screen_taken())
		print_progress(context);
	return sd_event_source_set_time_relative(timer, PROGRESS_EVERY_US);
}

/* The timer is a floating source: the loop owns it. */
static int watch_progress(struct oneshot *shot, sd_event *event)
{
	sd_event_source *timer = NULL;
	int r;

	if (!shot->progress)
		return 0;
	r = sd_event_add_time_relative(event, &timer, CLOCK_MONOTONIC, PROGRESS_EVERY_US, 0,
				       on_progress, shot);
	if (r >= 0)
		r = sd_event_source_set_enabled(timer, SD_EVENT_ON);
	if (r >= 0)
		r = sd_event_source_set_floating(timer, 1);
	sd_event_source_unref(timer);
	return r;
}

static int watch(struct oneshot *shot)
{
	sd_event *event = pp_service_event(shot->service);
	int r = 0;

	for (size_t i = 0; i < FORWARDED_CNT && r >= 0; i++)
		r = sd_event_add_signal(event, NULL, forwarded[i], on_signal, shot);
	if (r >= 0 && shot->child > 0)
		r = sd_event_add_signal(event, NULL, SIGCHLD, on_child, shot);
	if (r >= 0 && shot->pidfd >= 0)
		r = sd_event_add_io(event, NULL, shot->pidfd, EPOLLIN, on_target_end, shot);
	if (r >= 0 && shot->args->duration_ns)
		r = pp_service_exit_after(shot->service, shot->args->duration_ns, 0);
	return r < 0 ? r : watch_progress(shot, event);
}

static void end_child(struct oneshot *shot)
{
	if (shot->child <= 0)
		return;
	kill(shot->child, SIGKILL);
	waitpid(shot->child, NULL, 0);
}

/* The process that a thread is of; 0: not known. */
static pid_t process_of(pid_t tid)
{
	static const char key[] = "\nTgid:\t";
	const char *line = NULL;
	char text[512];

	if (pp_proc_read_of(tid, "status", text, sizeof(text)) > 0)
		line = strstr(text, key);
	return line ? (pid_t)strtol(line + sizeof(key) - 1, NULL, 10) : 0;
}

/* A process that cannot be recorded is told here: events that fail on it look like missing rights.
 */
static int open_process(struct oneshot *shot, struct pathprof_error *error)
{
	const pid_t pid = shot->args->pid, process = process_of(pid);
	struct pp_stat stat;
	const bool is_told = !pp_proc_stat(pid, &stat);

	if (process && process != pid)
		return pathprof_fail(error, -EINVAL,
				     "-p %d: this is a thread of process %d, and only whole "
				     "processes are recorded: -p %d",
				     pid, process, process);
	if (is_told && stat.is_kernel)
		return pathprof_fail(error, -EINVAL,
				     "-p %d: this is a thread of the kernel (%s), and only the "
				     "code of programs is recorded",
				     pid, stat.comm);
	if (is_told && pp_stat_is_dead(&stat))
		return pathprof_fail(error, -ESRCH,
				     "-p %d: it has ended, and only its exit status is left, for "
				     "which its parent %d has not asked yet",
				     pid, stat.ppid);
	shot->pidfd = pidfd_open(pid, 0);
	if (shot->pidfd < 0)
		return pathprof_fail(error, -errno, "-p %d: %s", pid, strerror(errno));
	return 0;
}

static int start_target(struct oneshot *shot, struct pathprof_error *error)
{
	int r;

	if (shot->args->group) {
		/* it is nobody's service, whatever it runs in */
		unsetenv("NOTIFY_SOCKET");
		return 0;
	}
	if (shot->args->pid)
		return open_process(shot, error);
	r = start_child(shot);
	return r < 0 ? pathprof_fail(error, r, "fork: %s", strerror(-r)) : 0;
}

/* The source may hold bursts still: the counts are whole once the service is finished. */
static void finish(const struct oneshot *shot)
{
	if (shot->progress_shown)
		fputs("\r\033[K", stderr);
	pp_service_finish(shot->service);
}

static void print_end(const struct oneshot *shot)
{
	char values[160], unseen[256];

	if (!shot->args->quiet)
		fprintf(stderr, "pathprofd: %" PRIu64 " %s, %" PRIu64 " %s recorded in %s\n",
			pp_service_bursts(shot->service),
			pp_plural(pp_service_bursts(shot->service), "burst", "bursts"),
			pp_service_paths(shot->service),
			pp_plural(pp_service_paths(shot->service), "path", "paths"),
			pp_service_db(shot->service));
	pp_service_describe_values(shot->service, values, sizeof(values));
	if (!shot->args->quiet && values[0])
		fprintf(stderr, "pathprofd: %s\n", values);
	pp_service_describe_unseen(shot->service, shot->user_ns, unseen, sizeof(unseen));
	if (!shot->args->quiet && unseen[0])
		fprintf(stderr, "pathprofd: %s\n", unseen);
}

static int not_run(struct oneshot *shot, int r)
{
	const char *command = *shot->args->command[0] ? shot->args->command[0] : "''";
	int status = 0;

	waitpid(shot->child, &status, 0);
	pp_service_abandon(shot->service);
	if (WIFSIGNALED(status)) {
		pp_log(LOG_ERR, "%s: signal %d ended it before it began: nothing was recorded",
		       command, WTERMSIG(status));
		return 128 + WTERMSIG(status);
	}
	pp_log(LOG_ERR, "%s: %s", command, strerror(-r));
	return r == -ENOENT ? 127 : 126;
}

/* Runs a recording on an open service. Returns the exit status. */
static int record(struct oneshot *shot)
{
	int r = watch(shot);

	if (r < 0) {
		pp_log(LOG_ERR, "event loop: %s", strerror(-r));
		end_child(shot);
		return 1;
	}
	if (shot->child > 0) {
		r = let_go(shot);
		if (r < 0)
			return not_run(shot, r);
	}
	r = pp_service_run(shot->service);
	finish(shot);
	print_end(shot);
	if (r < 0)
		end_child(shot);
	return r < 0 ? 1 : r;
}

/* From now on only its owner may open the database. "" is the file, the other two go with it. */
static int keep_private(const char *db, struct pathprof_error *error)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		char path[PP_CONFIG_PATH_MAX + 8];

		snprintf(path, sizeof(path), "%s%s", db, suffixes[i]);
		if (chmod(path, 0600) < 0 && errno != ENOENT)
			return pathprof_fail(error, -errno,
					     "%s: cannot be kept from others, and values can be "
					     "secrets: %s",
					     path, strerror(errno));
	}
	return 0;
}

static int add_values(struct oneshot *shot, struct pathprof_error *error)
{
	const struct pp_args *args = shot->args;
	const struct pp_values_request request = {
		.specs = args->values,
		.spec_cnt = args->value_cnt,
		.sampler = args->value_sampler,
		.pid = args->pid ? args->pid : shot->child,
		.command = args->pid ? NULL : args->command[0],
	};
	int r;

	if (!args->value_cnt)
		return 0;
	r = keep_private(pp_service_db(shot->service), error);
	return r < 0 ? r : pp_service_add_values(shot->service, &request, error);
}

/* A line of ours would cut through what a command writes to a terminal, or erase a part of it. */
static bool wants_progress(const struct pp_args *args)
{
	return !args->quiet && isatty(STDERR_FILENO) && !(args->command && isatty(STDOUT_FILENO));
}

int pp_oneshot_main(const struct pp_args *args, const struct pp_config *config)
{
	_cleanup_(release) struct oneshot shot = {
		.args = args,
		.go = -EBADF,
		.failure = -EBADF,
		.pidfd = -EBADF,
		.progress = wants_progress(args),
	};
	struct pathprof_error error = {""};
	int r;

	/* standard error is the program's then: only fatal errors are told */
	if (args->quiet)
		pp_log_init(LOG_ERR);
	block_signals(&shot);
	r = start_target(&shot, &error);
	if (r < 0) {
		pp_log(LOG_ERR, "%s", error.text);
		return 1;
	}
	shot.begin_ns = pp_monotonic_ns();
	r = pp_service_new(&shot.service, config, args->pid ? args->pid : shot.child, &error);
	if (r == 0)
		r = add_values(&shot, &error);
	if (r < 0) {
		pp_log(LOG_ERR, "%s", error.text);
		pp_service_abandon(shot.service);
		end_child(&shot);
		return 1;
	}
	return record(&shot);
}
