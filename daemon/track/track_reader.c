// SPDX-License-Identifier: GPL-2.0-or-later
/* The tracker's side of the reader: see track_reader.h. Source: this project. */
#include "track_reader.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../child_cpu.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "../silent.h"
#include "track_reader_wire.h"

#define SLICE_MS      10
#define ASLEEP_MAX    10 /* slices in a row */
#define ASLEEP_SHORT  2
#define PATIENCE_NS   1000000000ull
#define LEFT_MAX      8
#define LEFT_A_USER   2
#define ASKED_MAX     64 /* a power of two: numbers of requests wrap */
#define END_MS        50
#define NSEC_PER_MSEC 1000000ll
#define WAIT_PART     10 /* of real time is for waiting */
#define WAIT_SAVED_NS (300 * NSEC_PER_MSEC)

/* A reader that was killed and is still there. */
struct left {
	struct pp_left_child child;
	uid_t uid;
};

struct pp_reader {
	int fd;
	pid_t child;            /* 0: none */
	uint32_t number;        /* of the last request that was sent */
	uint32_t answered;      /* all up to this number are, or never will be */
	pid_t asked[ASKED_MAX]; /* about whom, by number */
	uint64_t past_cpu_ns;   /* of those before this one */
	int64_t wait_left_ns;   /* that may be waited, when it was filled last */
	uint64_t filled_ns;
	struct left left[LEFT_MAX];
	unsigned int left_cnt;
	struct pp_reader_answer answer; /* mappings */
};

/* ---------------------------------------------------------------- time for waiting */

/* Whether so much was waited of late that nobody gets the whole patience. */
static bool is_short_of_time(struct pp_reader *reader)
{
	uint64_t now_ns = pp_monotonic_ns();
	int64_t earned_ns = (int64_t)(now_ns - reader->filled_ns) / WAIT_PART;

	if (earned_ns > WAIT_SAVED_NS - reader->wait_left_ns)
		reader->wait_left_ns = WAIT_SAVED_NS;
	else
		reader->wait_left_ns += earned_ns;
	reader->filled_ns = now_ns;
	return reader->wait_left_ns < WAIT_SAVED_NS / 2;
}

/* ---------------------------------------------------------------- life of a child */

static bool has_ended(struct pp_reader *reader, const struct left *left)
{
	return pp_left_child_has_ended(&left->child, &reader->past_cpu_ns);
}

static bool wait_ended(struct pp_reader *reader, const struct left *left)
{
	const struct timespec pause = {0, NSEC_PER_MSEC};

	for (int waited_ms = 0; !has_ended(reader, left); waited_ms++) {
		if (waited_ms >= END_MS)
			return false;
		nanosleep(&pause, NULL);
		reader->wait_left_ns -= NSEC_PER_MSEC;
	}
	return true;
}

static void reap(struct pp_reader *reader)
{
	for (unsigned int i = reader->left_cnt; i-- > 0;)
		if (has_ended(reader, &reader->left[i]))
			reader->left[i] = reader->left[--reader->left_cnt];
}

/* The child may be killed: it only reads, so no process comes to harm. */
static void end_child(struct pp_reader *reader, uid_t uid)
{
	struct left left;

	if (!reader->child)
		return;
	left = (struct left){pp_leave_child(reader->child, &reader->past_cpu_ns), uid};
	close(reader->fd);
	kill(reader->child, SIGKILL);
	reader->child = 0;
	reader->fd = -EBADF;
	reader->answered = reader->number;
	if (!wait_ended(reader, &left) && reader->left_cnt < LEFT_MAX)
		reader->left[reader->left_cnt++] = left;
}

static int start_child(struct pp_reader *reader)
{
	_cleanup_close_ int ours = -EBADF, its = -EBADF;
	int ends[2];
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -errno;
	ours = ends[0];
	its = ends[1];
	child = fork();
	if (child == 0)
		pp_reader_child(its);
	if (child < 0)
		return -errno;
	reader->child = child;
	reader->fd = pp_fd_take(&ours);
	return 0;
}

/* ---------------------------------------------------------------- one request */

/* Whether another reader may be risked for pid. */
static bool may_ask(struct pp_reader *reader, pid_t pid)
{
	unsigned int cnt = 0;
	uid_t uid;

	if (pp_silent_holds(pid) || (is_short_of_time(reader) && pp_silent_suspects(pid)))
		return false;
	reap(reader);
	if (!reader->left_cnt)
		return true;
	uid = pp_proc_uid(pid);
	for (unsigned int i = 0; i < reader->left_cnt; i++)
		cnt += reader->left[i].uid == uid;
	return reader->left_cnt < LEFT_MAX && cnt < LEFT_A_USER;
}

static void note_sent(struct pp_reader *reader, const struct pp_reader_request *request)
{
	reader->number = request->number;
	reader->asked[request->number % ASKED_MAX] = request->pid;
}

/*
 * The process that the reader is at: that of the oldest request without an answer, for it takes
 * them in turn. 0: so many were given up that it is not known.
 */
static pid_t pid_in_hand(const struct pp_reader *reader)
{
	uint32_t open_cnt = reader->number - reader->answered;

	if (open_cnt == 0 || open_cnt > ASKED_MAX)
		return 0;
	return reader->asked[(reader->answered + 1) % ASKED_MAX];
}

/* A reader that has ended since, as by the OOM killer, is replaced once. */
static int send_request(struct pp_reader *reader, struct pp_reader_request *request)
{
	int r = 0;

	request->number = reader->number + 1;
	for (int tries = 0; tries < 2; tries++) {
		if (!reader->child)
			r = start_child(reader);
		if (r)
			return r;
		if (send(reader->fd, request, sizeof(*request), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0) {
			note_sent(reader, request);
			return 0;
		}
		if (errno == EAGAIN)
			return -ETIME;
		end_child(reader, (uid_t)-1);
	}
	return -EIO;
}

/* A message and the descriptor that came with it. Its length, 0 at the end, or -errno. */
static ssize_t receive(int fd, void *bytes, size_t size, int *ret_fd)
{
	struct iovec part = {bytes, size};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	const struct cmsghdr *header = got < 0 ? NULL : CMSG_FIRSTHDR(&message);

	if (got < 0)
		return -errno;
	if (header && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(header), sizeof(int));
	return got;
}

static char state_of(pid_t child)
{
	struct pp_stat stat;

	return pp_proc_stat(child, &stat) ? 'X' : stat.state;
}

/* A wait for one answer. */
struct wait {
	bool is_short;
	char state; /* of the reader, at the end */
};

/*
 * 1: there is something to read; 0: the reader slept, was stopped, or was busy for too long. What
 * it takes of the time for waiting is what it slept.
 */
static int wait_for_answer(struct pp_reader *reader, struct wait *wait)
{
	struct pollfd ready = {.fd = reader->fd, .events = POLLIN};
	uint64_t begin_ns = pp_monotonic_ns();
	unsigned int asleep_cnt = 0;

	while (poll(&ready, 1, SLICE_MS) <= 0) {
		wait->state = state_of(reader->child);
		if (strchr("SDTt", wait->state)) {
			asleep_cnt++;
			reader->wait_left_ns -= SLICE_MS * NSEC_PER_MSEC;
		} else {
			asleep_cnt = 0;
		}
		if (asleep_cnt > (wait->is_short ? ASLEEP_SHORT : ASLEEP_MAX) ||
		    pp_monotonic_ns() - begin_ns > PATIENCE_NS)
			return 0;
	}
	return 1;
}

/*
 * A process that did not get the whole patience is left alone, but costs its user no points. The
 * one to blame may be that of a request that was given up before: then pid was merely not read.
 */
static int give_up(struct pp_reader *reader, pid_t pid, const struct wait *wait)
{
	bool is_asleep = wait->state == 'S' || wait->state == 'D';
	pid_t in_hand = pid_in_hand(reader);

	/* it is at work: the answer will come, and is passed over then */
	if (!is_asleep && wait->state != 'T' && wait->state != 't')
		return -ETIME;
	end_child(reader, in_hand ? pp_proc_uid(in_hand) : (uid_t)-1);
	if (!is_asleep || !in_hand)
		return -ETIME;
	pp_silent_blame(in_hand, wait->is_short ? 0 : PP_STEP_SILENT_SEIZE,
			"the reader of its mappings");
	return in_hand == pid ? -ETIMEDOUT : -ETIME;
}

/* The answer's length, or -errno. */
static ssize_t take_answer(struct pp_reader *reader, const struct pp_reader_request *request,
			   void *answer, size_t size, int *ret_fd)
{
	const struct pp_reader_head *head = answer;
	struct wait wait = {is_short_of_time(reader), 'R'};

	for (;;) {
		_cleanup_close_ int fd = -EBADF;
		ssize_t got;

		if (!wait_for_answer(reader, &wait))
			return give_up(reader, request->pid, &wait);
		got = receive(reader->fd, answer, size, &fd);
		if (got < (ssize_t)sizeof(*head)) {
			end_child(reader, (uid_t)-1);
			return -EIO;
		}
		reader->answered = head->number;
		/* one to a request that was given up */
		if (head->number != request->number)
			continue;
		*ret_fd = pp_fd_take(&fd);
		return got;
	}
}

static ssize_t ask(struct pp_reader *reader, struct pp_reader_request *request, void *answer,
		   size_t size, int *ret_fd)
{
	int r;

	if (!may_ask(reader, request->pid))
		return -ETIMEDOUT;
	r = send_request(reader, request);
	return r < 0 ? r : take_answer(reader, request, answer, size, ret_fd);
}

/* ---------------------------------------------------------------- what is asked for */

int pp_reader_look(struct pp_reader *reader, pid_t pid, uint64_t start, uint64_t end)
{
	struct pp_reader_request request = {
		.ask = PP_READER_LOOK, .pid = pid, .start = start, .end = end};
	struct pp_reader_head head = {0};
	_cleanup_close_ int fd = -EBADF;
	ssize_t got = ask(reader, &request, &head, sizeof(head), &fd);

	if (got < 0)
		return (int)got;
	if (head.code)
		return head.code;
	return fd < 0 ? -EBADMSG : pp_fd_take(&fd);
}

/* The mapping at bytes. NULL: none that makes sense within len_bytes. */
static const struct pp_reader_vma *parse_vma(const uint8_t *bytes, size_t len_bytes,
					     struct pp_vma *ret_vma)
{
	const struct pp_reader_vma *from = (const void *)bytes;
	const char *name = (const char *)(from + 1);

	if (len_bytes < sizeof(*from) || from->name_bytes == 0 ||
	    from->name_bytes > PP_READER_BYTES ||
	    pp_reader_vma_bytes(from->name_bytes) > len_bytes || name[from->name_bytes - 1])
		return NULL;
	*ret_vma = (struct pp_vma){
		.start = from->start,
		.end = from->end,
		.offset = from->offset,
		.dev_major = from->dev_major,
		.dev_minor = from->dev_minor,
		.inode = from->inode,
		.looked = from->looked == PP_READER_LOOKED ? &from->stat : NULL,
		.is_refused = from->looked == PP_READER_REFUSED,
		.name = name,
	};
	return from;
}

static int take_vmas(const struct pp_reader *reader, size_t len_bytes, pp_vma_fn *fn, void *context)
{
	const uint8_t *at = reader->answer.vmas;
	const uint32_t cnt = reader->answer.head.cnt;

	for (uint32_t i = 0; i < cnt; i++) {
		const struct pp_reader_vma *from;
		struct pp_vma vma;
		int r;

		from = parse_vma(at, len_bytes, &vma);
		if (!from)
			return -EBADMSG;
		r = fn(context, &vma);
		if (r)
			return r;
		at += pp_reader_vma_bytes(from->name_bytes);
		len_bytes -= pp_reader_vma_bytes(from->name_bytes);
	}
	return (int)cnt;
}

int pp_reader_vmas(struct pp_reader *reader, pid_t pid, uint64_t until_ns, pp_vma_fn *fn,
		   void *context)
{
	struct pp_reader_request request = {
		.ask = PP_READER_MAPS, .pid = pid, .until_ns = until_ns};
	const struct pp_reader_head *head = &reader->answer.head;
	int cnt = 0;

	do {
		_cleanup_close_ int fd = -EBADF;
		ssize_t got = ask(reader, &request, &reader->answer, sizeof(reader->answer), &fd);
		int r;

		if (got < 0)
			return (int)got;
		r = take_vmas(reader, (size_t)got - sizeof(*head), fn, context);
		if (r < 0 || head->code)
			return r < 0 ? r : head->code;
		cnt += r;
		request.ask = PP_READER_MORE;
	} while (head->has_more);
	return cnt;
}

/* ---------------------------------------------------------------- life */

uint64_t pp_reader_cpu_ns(const struct pp_reader *reader)
{
	return reader->past_cpu_ns + pp_child_running_ns(reader->child);
}

int pp_reader_new(struct pp_reader **ret_reader)
{
	struct pp_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return -ENOMEM;
	reader->fd = -EBADF;
	*ret_reader = reader;
	return 0;
}

void pp_reader_free(struct pp_reader *reader)
{
	if (!reader)
		return;
	end_child(reader, (uid_t)-1);
	reap(reader);
	free(reader);
}
