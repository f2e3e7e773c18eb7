/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The two ends of a process apart: see pathprof/apart.h. A message is a packet of a socket; what a
 * packet does not have of struct pathprof_apart_message is text that is not used.
 */
#ifndef PP_APART_H
#define PP_APART_H

#include "pathprof/apart.h"
#include "pathprof/build_id.h"

/* Kinds of our own; a service's are below. */
enum {
	PP_APART_ANSWER = 0,
	PP_APART_FIRST_OWN = 0x10000,
	PP_APART_OPEN = PP_APART_FIRST_OWN, /* text: a path */
	PP_APART_FETCH,                     /* text: the bytes of a build-id */
	PP_APART_FILE,                      /* what was asked for; code, and a descriptor */
	PP_APART_PROGRESS,                  /* numbers: done, total */
};

/* Exit statuses: why it did not even begin. */
#define PP_APART_EXIT_DESCRIPTORS 121
#define PP_APART_EXIT_IDENTITY    122
#define PP_APART_EXIT_CAPS        123
#define PP_APART_EXIT_CALLS       124

/* channel.c. -errno. */
int pp_apart_send(int socket, const struct pathprof_apart_message *message);
/*
 * The asker's: -EBADMSG when there is no room, since a process apart reads each before it goes on.
 * fd -1: none goes along.
 */
int pp_apart_send_at_once(int socket, const struct pathprof_apart_message *message, int fd);
/*
 * *ret_fd: the caller's, -1: none came. -EPIPE at the end, -EBADMSG for no message, or one with
 * more than one descriptor; -errno.
 */
int pp_apart_receive(int socket, struct pathprof_apart_message *ret_message, int *ret_fd);

/* child.c: everything that the process does. */
_Noreturn void pp_apart_live(const struct pathprof_apart_service *service, int socket);

/* Time that a question may take; a busy process is ended by its limit of CPU time before. */
#define PP_APART_PATIENCE_NS INT64_C(600000000000)
/* apart.c. Another one for all questions, as tests need it. */
void pp_apart_set_patience(int64_t ns);

/* broker.c: does what the process asks for on the way to its answer. -EBADMSG: no such thing, or
 * it does not read what it asked for. -errno. */
int pp_apart_serve(int socket, struct pathprof_apart_message *message);

#endif
