/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes made-up traces, so that the reader can be tested without tracing anything: a program of a
 * few blocks with one of each ending, and words chosen by the test. It writes whatever it is told,
 * sound or not.
 */
#ifndef TRACE_WRITER_H
#define TRACE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/trace.h"
#include "pathprof/trace_format.h"

#define TRACE_WRITER_STREAMS 4

struct trace_writer {
	uint8_t *bytes; /* the file so far */
	size_t len_bytes, room;
	struct pathprof_trace_place *places;
	size_t place_cnt;
	uint64_t word_cnt[TRACE_WRITER_STREAMS];
};

/* Blocks of the made-up program; each says where it begins and how it ends. */
enum trace_program {
	B_COND = 1,  /* 1000: to 2000, else B_BACK */
	B_BACK,      /* 1010: jmp to 1000 */
	B_CALL,      /* 2000: call of B_RET */
	B_RET,       /* 3000 */
	B_ICALL,     /* 2010 */
	B_IJMP,      /* 2020 */
	B_SYSCALL,   /* 4000 */
	B_PLAIN,     /* 4010 */
	B_REP,       /* 4020 */
	B_OTHER,     /* 4030 */
	B_HANDLER,   /* 5000: a signal handler, returns to B_RESTORER */
	B_RESTORER,  /* 5100: the system call that ends a handler */
	B_COND_TAIL, /* 1008: the second half of B_COND */
	B_HANDLER_2, /* 5200: another handler */
	B_PROGRAM_END,
};
extern const struct pathprof_trace_block trace_program[B_PROGRAM_END];

void trace_writer_init(struct trace_writer *w);
void trace_writer_release(struct trace_writer *w);
void trace_writer_chunk(struct trace_writer *w, uint32_t type, const void *bytes, size_t len_bytes);
/* A chunk of words of a stream, after those it has. */
void trace_writer_words(struct trace_writer *w, uint32_t stream, const uint32_t *words, size_t cnt);
/* Command, one process, streams, a module around the program, its blocks and handlers. */
void trace_writer_program(struct trace_writer *w, uint32_t stream_cnt);
/* Index and footer. */
void trace_writer_end(struct trace_writer *w);
/* The first len_bytes of it as a file of this test. Returns its name, valid until the next call. */
const char *trace_writer_save(const struct trace_writer *w, size_t len_bytes);

#endif
