/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A process apart, without any rights, that reads what others wrote and answers questions about it.
 *
 *     pathprof_apart_new(&apart, &service, "names", say_death, NULL);
 *     message->kind = ...; message->numbers[0] = ...;
 *     r = pathprof_apart_ask(apart, message, fd, NULL, NULL);    -EOWNERDEAD: it died
 *
 * It is a fork of the caller that has given up everything (pathprof/confine.h) but a socket to it:
 * questions go there, with a descriptor if need be, and answers come back. While it works out an
 * answer it may ask for a file to be opened (only regular ones are, pathprof/foreign.h, and only
 * ELF files that are no core files), for debug information to be fetched by debuginfod, or tell how
 * far it is. Whatever comes from it may be made up: the asker checks lengths and ranges. A question
 * takes ten minutes at most, whatever it tells meanwhile; then the process is ended.
 *
 * The number of processes is limited; the one that was not asked for longest is ended, and started
 * again when it is asked. One that died is not started again.
 *
 * Workload: some processes a run, 10^2 to 10^6 questions, some 10 us each. One thread of a process
 * has all of them.
 */
#ifndef PATHPROF_APART_H
#define PATHPROF_APART_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PATHPROF_APART_TEXT_BYTES 65536

struct pathprof_apart;

/* A question, and then its answer. Kinds are the service's, from 1 on. */
struct pathprof_apart_message {
	uint32_t kind;
	int32_t code; /* of an answer: 0 or -errno */
	uint64_t numbers[4];
	uint32_t bytes; /* that text has */
	char text[PATHPROF_APART_TEXT_BYTES];
};

/* The work of a process apart; both functions run there. */
struct pathprof_apart_service {
	void (*prepare)(void); /* with all rights still, before any question; NULL: nothing */
	/* Turns the question into its answer. fd: the answerer's; -1: none came along */
	void (*answer)(struct pathprof_apart_message *message, int fd);
};

/* why: one line, with the name. */
typedef void pathprof_apart_died_fn(void *context, const char *why);
/* Nothing is started before it is needed. The service outlives it. -ENOMEM. */
int pathprof_apart_new(struct pathprof_apart **ret_apart,
		       const struct pathprof_apart_service *service, const char *name,
		       pathprof_apart_died_fn *died, void *context);
/* NULL-safe. */
void pathprof_apart_free(struct pathprof_apart *apart);

/*
 * Makes sure that it runs: 1 when it was started for that, and knows of no earlier question; 0;
 * -EOWNERDEAD; -errno of the start.
 */
int pathprof_apart_start(struct pathprof_apart *apart);
/*
 * Asks it, fd (-1: none) remains the caller's. progress (may be NULL) is told how far it is. 0 when
 * the message is an answer, with text ended by a NUL behind its bytes; -EOWNERDEAD, and died was
 * called. Each question to a dead process gives -EOWNERDEAD, without another call of died. Another
 * -errno: the process could not be started.
 */
typedef void pathprof_apart_progress_fn(void *context, uint64_t done, uint64_t total);
int pathprof_apart_ask(struct pathprof_apart *apart, struct pathprof_apart_message *message, int fd,
		       pathprof_apart_progress_fn *progress, void *context);
/* Why it died; NULL: it did not. */
const char *pathprof_apart_why(const struct pathprof_apart *apart);

/* For the answering side: tells the asker how far it is. */
void pathprof_apart_tell(uint64_t done, uint64_t total);

/*
 * Texts in a message, one behind another, NUL-ended. add: false when there is no room; take: the
 * one at *at, which moves behind it; NULL: there is none.
 */
bool pathprof_apart_add(struct pathprof_apart_message *message, const void *bytes, uint32_t len);
const char *pathprof_apart_take(const struct pathprof_apart_message *message, uint32_t *at);

#ifdef __cplusplus
}
#endif

#endif
