// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader's side: see track_reader.h. It comes from fork in a process that may have threads; it
 * allocates, reads /proc and answers, one thing at a time.
 */
#include "track_reader_wire.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../oom_score.h"
#include "../privilege.h"
#include "pathprof/confine.h"
#include "track_proc.h"
#include "track_remote.h"

#define SOCKET_FD  3
#define NAME_BYTES (PATH_MAX + 32)
#define OOM_SCORE  500

struct child {
	struct pp_remote *remote; /* tells which files are a server's */
	bool query;               /* the kernel has PROCMAP_QUERY, as far as known */
	bool is_asked;            /* request has come and was not turned to */
	struct pp_reader_request request;
	struct pp_reader_answer answer;
	size_t len_bytes; /* of answer.vmas */
};

/* ---------------------------------------------------------------- messages */

static void set_head(struct child *child, struct pp_reader_head *head, int code)
{
	head->number = child->request.number;
	head->code = code;
}

/* An answer that cannot be sent is the end: nobody is there, or there is no memory. */
static void send_answer(struct child *child, int code, bool has_more)
{
	struct pp_reader_answer *answer = &child->answer;

	set_head(child, &answer->head, code);
	answer->head.has_more = has_more;
	if (send(SOCKET_FD, answer, sizeof(answer->head) + child->len_bytes, MSG_NOSIGNAL) < 0)
		_exit(1);
	answer->head.cnt = 0;
	child->len_bytes = 0;
}

static void send_file(struct child *child, int fd)
{
	struct pp_reader_head head = {0};
	struct iovec part = {&head, sizeof(head)};
	union {
		char bytes[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} control = {{0}};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct cmsghdr *header;

	set_head(child, &head, fd < 0 ? fd : 0);
	if (fd >= 0) {
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		header = CMSG_FIRSTHDR(&message);
		header->cmsg_level = SOL_SOCKET;
		header->cmsg_type = SCM_RIGHTS;
		header->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	}
	if (sendmsg(SOCKET_FD, &message, MSG_NOSIGNAL) < 0)
		_exit(1);
	if (fd >= 0)
		close(fd);
}

/* The next request about mappings. A file may be asked for while more of them are to come. */
static void receive(struct child *child)
{
	struct pp_reader_request *request = &child->request;

	do {
		if (recv(SOCKET_FD, request, sizeof(*request), 0) != (ssize_t)sizeof(*request))
			_exit(0);
		if (request->ask == PP_READER_LOOK)
			send_file(child,
				  pp_proc_look_mapped(request->pid, request->start, request->end));
	} while (request->ask == PP_READER_LOOK);
	child->is_asked = true;
}

/* ---------------------------------------------------------------- mappings */

static enum pp_reader_looked look(struct child *child, const struct pp_vma *vma, struct stat *stat)
{
	pid_t pid = child->request.pid;
	int fd;
	bool is_known;

	if (!vma->inode || vma->name[0] != '/' ||
	    pp_remote_has(child->remote, pid, vma->dev_major, vma->dev_minor))
		return PP_READER_NOT_LOOKED;
	fd = pp_proc_look_mapped(pid, vma->start, vma->end);
	if (fd < 0)
		return PP_READER_REFUSED;
	is_known = fstat(fd, stat) == 0;
	close(fd);
	return is_known ? PP_READER_LOOKED : PP_READER_REFUSED;
}

static void append(struct child *child, const struct pp_vma *vma, uint32_t name_bytes)
{
	struct pp_reader_vma *to = (void *)(child->answer.vmas + child->len_bytes);

	memset(to, 0, pp_reader_vma_bytes(name_bytes));
	to->start = vma->start;
	to->end = vma->end;
	to->offset = vma->offset;
	to->inode = vma->inode;
	to->dev_major = vma->dev_major;
	to->dev_minor = vma->dev_minor;
	to->name_bytes = name_bytes;
	to->looked = look(child, vma, &to->stat);
	memcpy(to + 1, vma->name, name_bytes - 1);
	child->len_bytes += pp_reader_vma_bytes(name_bytes);
	child->answer.head.cnt++;
}

/* -ECANCELED: the rest is not wanted any more. */
static int keep_vma(void *context, const struct pp_vma *vma)
{
	struct child *child = context;
	uint32_t name_bytes = (uint32_t)strnlen(vma->name, NAME_BYTES) + 1;

	if (child->len_bytes + pp_reader_vma_bytes(name_bytes) > PP_READER_BYTES) {
		send_answer(child, 0, true);
		receive(child);
		if (child->request.ask != PP_READER_MORE)
			return -ECANCELED;
		child->is_asked = false;
	}
	append(child, vma, name_bytes);
	return 0;
}

static int read_maps(struct child *child)
{
	int r = child->request.ask == PP_READER_MAPS ? 0 : -EPROTO;

	if (!r)
		r = pp_proc_vmas(child->request.pid, &child->query, child->request.until_ns,
				 keep_vma, child);
	return r > 0 ? 0 : r;
}

static _Noreturn void serve(struct child *child)
{
	for (;;) {
		int r;

		if (!child->is_asked)
			receive(child);
		child->is_asked = false;
		r = read_maps(child);
		if (!child->is_asked)
			send_answer(child, r, false);
	}
}

/* ---------------------------------------------------------------- life */

/* Rights to look at processes of others stay; without CAP_SYS_PTRACE all rights do. */
static int give_up_rights(void)
{
	static const int to_read[] = {CAP_DAC_READ_SEARCH, CAP_SYS_PTRACE, CAP_CHECKPOINT_RESTORE};

	/* the kernel shows a process to those who have all its capabilities, or this one */
	if (!pp_privilege_has(PP_PRIVILEGE(CAP_SYS_PTRACE)))
		return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
	return pathprof_confine_capabilities(to_read, sizeof(to_read) / sizeof(to_read[0]));
}

/* Nothing of the daemon's stays open behind its back. */
static int keep_only(int fd)
{
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	/* above the standard streams, wherever it was */
	fd = fcntl(fd, F_DUPFD_CLOEXEC, SOCKET_FD + 1);
	if (null < 0 || fd < 0)
		return -errno;
	for (int stream = 0; stream < SOCKET_FD; stream++)
		if (dup2(null, stream) < 0)
			return -errno;
	return dup2(fd, SOCKET_FD) < 0 ? -errno : pathprof_confine_descriptors(SOCKET_FD);
}

_Noreturn void pp_reader_child(int fd)
{
	struct child *child;
	sigset_t all;

	/* it ends when the socket does; what a terminal or a service manager sends is not for it */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "pathprof-read");
	(void)pp_oom_score_set(OOM_SCORE);
	child = calloc(1, sizeof(*child));
	if (!child || keep_only(fd) || give_up_rights() || pp_remote_new(&child->remote))
		_exit(127);
	child->query = true;
	serve(child);
}
