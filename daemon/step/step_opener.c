/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Both sides of the opener: see step_opener.h. */
#include "step_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../oom_score.h"
#include "pathprof/confine.h"
#include "step_break.h"
#include "step_engine.h"

#define SOCKET_FD 3
/* An open waits for a thread of the process that executes a program, which may be for ever. */
#define OPEN_MAX_US 5000
#define ASK_MAX_NS  (20 * PP_NSEC_PER_MSEC)
/* The first request is a stepper's trial at its start, which decides how it stops its targets. */
#define FIRST_ASK_MAX_NS (2 * PP_NSEC_PER_SEC)
#define START_MAX_S      5

struct request {
	uint32_t number;
	int32_t tid;
};

struct answer {
	uint32_t number; /* of the request */
	uint32_t pad;
	uint64_t cpu_ns; /* spent on it */
};

union control {
	char bytes[CMSG_SPACE(PP_STEP_BREAK_MAX * sizeof(int))];
	struct cmsghdr align;
};

/* ---------------------------------------------------------------- the opener */

/* Signals that come while it is opening break the call off; they come again, lest one be early. */
static void limit_open(bool on)
{
	struct itimerval interval = {0};

	if (on)
		interval.it_interval.tv_usec = interval.it_value.tv_usec = OPEN_MAX_US;
	setitimer(ITIMER_REAL, &interval, NULL);
}

static bool send_answer(struct answer *answer, const int *fds, uint32_t cnt)
{
	struct iovec part = {answer, sizeof(*answer)};
	union control control = {{0}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *header;

	if (cnt) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(cnt * sizeof(int));
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(cnt * sizeof(int));
		memcpy(CMSG_DATA(header), fds, cnt * sizeof(int));
	}
	/* A full socket is no error: nobody reads answers whose requests were given up. */
	return sendmsg(SOCKET_FD, &message, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0 || errno == EAGAIN;
}

static bool serve(const struct request *request)
{
	uint64_t begun_ns = pp_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct answer answer = {.number = request->number};
	int fds[PP_STEP_BREAK_MAX];
	uint32_t cnt = 0;
	bool sent;

	if (request->tid > 0) {
		limit_open(true);
		cnt = pp_step_break_open_events(request->tid, fds);
		limit_open(false);
	}
	answer.cpu_ns = pp_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - begun_ns;
	sent = send_answer(&answer, fds, cnt);
	while (cnt)
		close(fds[--cnt]);
	return sent;
}

/* Serves until all who may ask have gone. The first answer says that it is ready. */
static _Noreturn void serve_all(void)
{
	if (!send_answer(&(struct answer){0}, NULL, 0))
		_exit(1);
	for (;;) {
		struct request request;
		ssize_t got = recv(SOCKET_FD, &request, sizeof(request), MSG_TRUNC);

		if (got < 0 && errno == EINTR)
			continue;
		if (got != (ssize_t)sizeof(request) || !serve(&request))
			_exit(got == 0 ? 0 : 1);
	}
}

#define ALLOW(call)                                                                                \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1),                                         \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static int forbid_other_calls(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_recvfrom),
		ALLOW(SYS_sendmsg),
		ALLOW(SYS_perf_event_open),
		ALLOW(SYS_close),
		ALLOW(SYS_setitimer),
		ALLOW(SYS_clock_gettime),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_exit_group),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return -errno;
	return 0;
}

static void on_tick(int signal)
{
}

static void take_ticks_only(void)
{
	struct sigaction action = {.sa_handler = on_tick};
	sigset_t all;

	sigaction(SIGALRM, &action, NULL);
	sigfillset(&all);
	sigdelset(&all, SIGALRM);
	sigprocmask(SIG_SETMASK, &all, NULL);
}

/* Nothing of the daemon's stays open behind its back, standard streams included. */
static int keep_only(int fd)
{
	if (dup2(fd, SOCKET_FD) < 0)
		return -errno;
	for (int stream = 0; stream < SOCKET_FD; stream++)
		close(stream);
	return pathprof_confine_descriptors(SOCKET_FD);
}

/* A stopped thread waits for it, as for the stepper. */
static _Noreturn void become_opener(int fd)
{
	static const int to_open[] = {CAP_SYS_ADMIN, CAP_SYS_PTRACE};

	prctl(PR_SET_NAME, "pathprof-break");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	take_ticks_only();
	setsid();
	pp_step_run_first();
	(void)pp_oom_score_set(PP_OOM_SCORE_NEVER);
	if (keep_only(fd) || pathprof_confine_capabilities(to_open, 2) || forbid_other_calls())
		_exit(127);
	(void)pp_step_break_keep_ready();
	serve_all();
}

/* A stepper that asks before would wait in vain, and take the opener for useless. */
static bool await_ready(int fd)
{
	const struct timeval start_max = {.tv_sec = START_MAX_S};
	const struct timeval ask_max = {.tv_usec = ASK_MAX_NS / 1000};
	struct answer answer;
	ssize_t got;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &start_max, sizeof(start_max));
	do
		got = recv(fd, &answer, sizeof(answer), 0);
	while (got < 0 && errno == EINTR);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &ask_max, sizeof(ask_max));
	return got == (ssize_t)sizeof(answer);
}

pid_t pp_step_opener_start(int *ret_fd)
{
	int pair[2];
	pid_t opener;
	int r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	opener = fork();
	r = -errno;
	if (opener == 0)
		become_opener(pair[1]);
	close(pair[1]);
	if (opener >= 0 && !await_ready(pair[0])) {
		kill(opener, SIGKILL);
		waitpid(opener, NULL, 0);
		opener = -1;
		r = -ETIME;
	}
	if (opener < 0) {
		close(pair[0]);
		return r;
	}
	*ret_fd = pair[0];
	return opener;
}

/* ---------------------------------------------------------------- the stepper */

static struct {
	int fd; /* -1: none */
	bool gone, answered;
	uint32_t number;
	uint64_t cpu_ns;
} asker = {.fd = -1};

void pp_step_opener_use(int fd)
{
	if (asker.fd >= 0)
		close(asker.fd);
	asker.fd = fd;
	asker.gone = asker.answered = false;
	/* Answers that another stepper did not wait for bear other numbers than ours will. */
	asker.number = (uint32_t)getpid() << 16;
}

bool pp_step_opener_is_used(void)
{
	return asker.fd >= 0;
}

bool pp_step_opener_has_gone(void)
{
	char byte;

	if (asker.fd >= 0 && !asker.gone)
		asker.gone = recv(asker.fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
	return asker.gone;
}

uint64_t pp_step_opener_cpu_ns(void)
{
	return asker.cpu_ns;
}

/* Takes the next answer. Returns how many descriptors came with it; -1: none came in time. */
static int receive(struct answer *ret_answer, int *ret_fds)
{
	struct iovec part = {ret_answer, sizeof(*ret_answer)};
	union control control;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(asker.fd, &message, MSG_CMSG_CLOEXEC);
	struct cmsghdr *header = got < 0 ? NULL : CMSG_FIRSTHDR(&message);
	size_t cnt = 0;

	if (header && header->cmsg_type == SCM_RIGHTS)
		cnt = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	if (cnt)
		memcpy(ret_fds, CMSG_DATA(header), cnt * sizeof(int));
	if (got == (ssize_t)sizeof(*ret_answer))
		return (int)cnt;
	asker.gone = got >= 0 || (errno != EINTR && errno != EAGAIN);
	return -1;
}

uint32_t pp_step_opener_ask(pid_t tid, int *ret_fds)
{
	const struct request request = {++asker.number, tid};
	uint64_t until_ns = pp_monotonic_ns() + (asker.answered ? ASK_MAX_NS : FIRST_ASK_MAX_NS);

	if (send(asker.fd, &request, sizeof(request), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		asker.gone = errno != EAGAIN;
	while (!asker.gone && pp_monotonic_ns() < until_ns) {
		struct answer answer;
		int cnt = receive(&answer, ret_fds);

		if (cnt >= 0 && answer.number == request.number) {
			asker.answered = true;
			asker.cpu_ns += answer.cpu_ns;
			return (uint32_t)cnt;
		}
		while (cnt > 0)
			close(ret_fds[--cnt]);
	}
	return 0;
}
