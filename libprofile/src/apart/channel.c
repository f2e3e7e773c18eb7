// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* Messages over a socket, and the texts in them: see pp_apart.h. */
#include "pp_apart.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#define HEAD_BYTES offsetof(struct pathprof_apart_message, text)

/* Room for one descriptor, and padding that a second one would fit into. */
union control {
	struct cmsghdr head;
	char bytes[CMSG_SPACE(sizeof(int))];
};

static void attach(struct msghdr *packet, union control *control, int fd)
{
	struct cmsghdr *head;

	packet->msg_control = control;
	packet->msg_controllen = sizeof(*control);
	head = CMSG_FIRSTHDR(packet);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(head), &fd, sizeof(fd));
}

static int send_packet(int socket, const struct pathprof_apart_message *message, int fd, int flags)
{
	struct iovec part = {(void *)message, HEAD_BYTES + message->bytes};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
	union control control = {.bytes = {0}};
	ssize_t sent;

	if (fd >= 0)
		attach(&packet, &control, fd);
	do
		sent = sendmsg(socket, &packet, flags | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	return sent < 0 ? -errno : 0;
}

int pp_apart_send(int socket, const struct pathprof_apart_message *message)
{
	return send_packet(socket, message, -1, 0);
}

int pp_apart_send_at_once(int socket, const struct pathprof_apart_message *message, int fd)
{
	int r = send_packet(socket, message, fd, MSG_DONTWAIT);

	return r == -EAGAIN ? -EBADMSG : r;
}

static int attached(struct msghdr *packet)
{
	const struct cmsghdr *head = CMSG_FIRSTHDR(packet);
	int fd;

	if (!head || head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS ||
	    head->cmsg_len != CMSG_LEN(sizeof(int)))
		return -1;
	memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

static int check(struct pathprof_apart_message *message, const struct msghdr *packet, size_t got)
{
	if (packet->msg_flags & (MSG_TRUNC | MSG_CTRUNC) || got < HEAD_BYTES ||
	    message->bytes >= sizeof(message->text) || got != HEAD_BYTES + message->bytes)
		return -EBADMSG;
	message->text[message->bytes] = '\0';
	return 0;
}

int pp_apart_receive(int socket, struct pathprof_apart_message *ret_message, int *ret_fd)
{
	struct iovec part = {ret_message, sizeof(*ret_message)};
	union control control;
	struct msghdr packet = {.msg_iov = &part,
				.msg_iovlen = 1,
				.msg_control = &control,
				.msg_controllen = CMSG_LEN(sizeof(int))};
	ssize_t got;
	int r;

	do
		got = recvmsg(socket, &packet, MSG_CMSG_CLOEXEC);
	while (got < 0 && errno == EINTR);
	if (got <= 0)
		return got ? -errno : -EPIPE;
	*ret_fd = attached(&packet);
	r = check(ret_message, &packet, (size_t)got);
	if (r < 0 && *ret_fd >= 0) {
		close(*ret_fd);
		*ret_fd = -1;
	}
	return r;
}

/* ---------------------------------------------------------------- texts */

bool pathprof_apart_add(struct pathprof_apart_message *message, const void *bytes, uint32_t len)
{
	/* The last byte is for the NUL behind a text. */
	if (len >= sizeof(message->text) - message->bytes)
		return false;
	memcpy(message->text + message->bytes, bytes, len);
	message->bytes += len;
	return true;
}

const char *pathprof_apart_take(const struct pathprof_apart_message *message, uint32_t *at)
{
	const char *text = message->text + *at;

	if (*at >= message->bytes)
		return NULL;
	*at += (uint32_t)strnlen(text, message->bytes - *at) + 1;
	return text;
}
