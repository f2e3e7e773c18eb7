/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The file of an exact trace: every control transfer of one program, as pathprof-trace writes it
 * and pathprof/trace.h reads it. Little-endian; every offset and count is checked by the reader.
 *
 *     header | chunk ... | index chunk | footer
 *
 * A chunk is struct pathprof_trace_chunk and packed_bytes of payload, a zstd frame of raw_bytes
 * with a content checksum. A file without footer (its writer was killed) is read chunk by chunk
 * up to the last whole one.
 *
 * The program is cut into *blocks*: straight runs of instructions with one way in, as the emulator
 * translates them. A stream (one thread of one process) is a sequence of 32-bit words:
 *
 *     1 .. 0x7fffffff       a block of this id began to run
 *     PATHPROF_TRACE_ACCESS memory access by the block before it; address and value words follow
 *     PATHPROF_TRACE_MARK_* see there
 *
 * A block that is left by its last instruction says how that branch went by what runs next. Ids
 * are unique over all processes of the trace; a chunk that defines a block comes before every
 * chunk that holds its id.
 */
#ifndef PATHPROF_TRACE_FORMAT_H
#define PATHPROF_TRACE_FORMAT_H

#include <linux/types.h>

#define PATHPROF_TRACE_MAGIC   0x0a43525450504150ull /* "PAPPTRC\n" */
#define PATHPROF_TRACE_END     0x0a444e4550504150ull /* "PAPPEND\n" */
#define PATHPROF_TRACE_VERSION 1

/* The kinds of words beside blocks: pathprof_trace_header.flags. */
#define PATHPROF_TRACE_HAS_LOADS  1 /* every load: address and value */
#define PATHPROF_TRACE_HAS_MEMORY 2 /* every load and store: address */

/* Marks: the two top bits are set. */
#define PATHPROF_TRACE_MARK 0xc0000000u
#define PATHPROF_TRACE_MARK_LEFT                                                                   \
	0xc0000001u /* the last block was left before its end: a fault, or a signal in it */
#define PATHPROF_TRACE_MARK_SIGRETURN                                                              \
	0xc0000002u /* what runs next is where a handler returned to */
#define PATHPROF_TRACE_MARK_CUT                                                                    \
	0xc0000003u /* transfers are missing here: recording began, or a limit */

/* Memory access: the top bit set, the next one clear. Followed by the address (low word, high word)
 * and, when PATHPROF_TRACE_ACCESS_VALUE is set, by the value in the same way. */
#define PATHPROF_TRACE_ACCESS         0x80000000u
#define PATHPROF_TRACE_ACCESS_OFFSET  0x00001fffu       /* of the instruction in its block, bytes */
#define PATHPROF_TRACE_ACCESS_SIZE(w) (((w) >> 13) & 7) /* log2 of bytes */
#define PATHPROF_TRACE_ACCESS_STORE   0x00010000u
#define PATHPROF_TRACE_ACCESS_VALUE                                                                \
	0x00020000u /* zero-extended; of more than 8 bytes the lowest 8 */

struct pathprof_trace_header {
	__u64 magic;
	__u32 version;
	__u32 flags;   /* PATHPROF_TRACE_HAS_* */
	__u64 time_ns; /* CLOCK_REALTIME of the start */
	__u64 reserved;
};

enum pathprof_trace_chunk_type {
	PATHPROF_TRACE_COMMAND = 1,   /* the command's words, each ended by a zero byte */
	PATHPROF_TRACE_PROCESSES = 2, /* struct pathprof_trace_process */
	PATHPROF_TRACE_STREAMS = 3,   /* struct pathprof_trace_stream */
	PATHPROF_TRACE_MODULES = 4,   /* struct pathprof_trace_module, each followed by its name */
	PATHPROF_TRACE_BLOCKS = 5,    /* struct pathprof_trace_block */
	PATHPROF_TRACE_HANDLERS = 6,  /* struct pathprof_trace_handler */
	PATHPROF_TRACE_EXECS = 7,     /* struct pathprof_trace_exec, each followed by its name */
	PATHPROF_TRACE_WORDS = 8,     /* __u32 words of one stream */
	PATHPROF_TRACE_INDEX = 9,     /* struct pathprof_trace_place of every chunk before it */
};

struct pathprof_trace_chunk {
	__u32 type;
	__u32 stream;     /* of PATHPROF_TRACE_WORDS, else 0 */
	__u64 first_word; /* place of the first word in its stream; else 0 */
	__u32 raw_bytes;
	__u32 packed_bytes;
};
#define PATHPROF_TRACE_CHUNK_MAX (16u << 20) /* greatest raw_bytes of anything but the index */

struct pathprof_trace_place {
	__u64 offset; /* of the chunk in the file */
	struct pathprof_trace_chunk chunk;
};

struct pathprof_trace_footer {
	__u64 index_offset; /* of the index chunk */
	__u64 magic;        /* PATHPROF_TRACE_END */
};

struct pathprof_trace_process {
	__u32 process; /* 0 is the program itself, others were forked */
	__u32 parent;  /* process; its own for the first */
	__u32 pid;
	__u32 reserved;
};

struct pathprof_trace_stream {
	__u32 stream;
	__u32 process;
	__u32 thread; /* in its process, 0 first */
	__u32 reserved;
};

/* A range of code of one process. Later ones replace what they overlap. */
struct pathprof_trace_module {
	__u32 module; /* unique in the trace */
	__u32 process;
	__u64 start, end; /* addresses */
	__u64 offset;     /* of start in the file */
	__u8 build_id[20];
	__u8 build_id_len; /* bytes; 0: no file, or it has none */
	__u8 reserved[1];
	__u16 name_len; /* bytes that follow, no zero at the end; "[anon]" when there is no file */
};
#define PATHPROF_TRACE_NO_MODULE 0xffffffffu

/* How a block ends, beyond enum pp_kind / PERF_BR_* 1 to 6. */
#define PATHPROF_TRACE_ENDS_PLAIN   0 /* cut without a branch */
#define PATHPROF_TRACE_ENDS_SYSCALL 16
#define PATHPROF_TRACE_ENDS_REP                                                                    \
	17 /* a repeated string instruction: once, however often it turns                          \
	    */
#define PATHPROF_TRACE_ENDS_OTHER 18 /* far transfer, int, ud2, ... */

struct pathprof_trace_block {
	__u32 id;
	__u32 module; /* mapped there when the block was translated */
	__u64 start;  /* address */
	__u64 target; /* of a direct branch, else 0 */
	__u32 len_bytes;
	__u16 last_offset; /* of its last instruction from start */
	__u16 insn_cnt;
	__u32 kind;
	__u32 reserved;
};

struct pathprof_trace_handler {
	__u64 address;
	__u32 process;
	__u32 signal;
};

/* A program was executed in place of a traced process: what it did is not in the trace. */
struct pathprof_trace_exec {
	__u32 process;
	__u32 name_len;
};

#ifndef __cplusplus
_Static_assert(sizeof(struct pathprof_trace_header) == 32, "trace: header");
_Static_assert(sizeof(struct pathprof_trace_chunk) == 24, "trace: chunk");
_Static_assert(sizeof(struct pathprof_trace_place) == 32, "trace: place");
_Static_assert(sizeof(struct pathprof_trace_footer) == 16, "trace: footer");
_Static_assert(sizeof(struct pathprof_trace_process) == 16, "trace: process");
_Static_assert(sizeof(struct pathprof_trace_stream) == 16, "trace: stream");
_Static_assert(sizeof(struct pathprof_trace_module) == 56, "trace: module");
_Static_assert(sizeof(struct pathprof_trace_block) == 40, "trace: block");
_Static_assert(sizeof(struct pathprof_trace_handler) == 16, "trace: handler");
_Static_assert(sizeof(struct pathprof_trace_exec) == 8, "trace: exec");
#endif

#endif
