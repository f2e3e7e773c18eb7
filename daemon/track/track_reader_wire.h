/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages between the tracker and its reader (track_reader.h), over a socket that keeps them
 * apart: one answer to each request, which repeats its number. Both ends are forks of one
 * program, so the layout is nobody else's.
 */
#ifndef PP_TRACK_READER_WIRE_H
#define PP_TRACK_READER_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

enum pp_reader_ask {
	PP_READER_MAPS = 1, /* the first mappings of a process */
	PP_READER_MORE,     /* those behind the last answer's */
	PP_READER_LOOK,     /* the file behind one mapping: a descriptor comes with the answer */
};

struct pp_reader_request {
	uint32_t ask, number;
	int32_t pid;
	uint32_t zero;
	uint64_t until_ns;   /* MAPS: CLOCK_MONOTONIC */
	uint64_t start, end; /* LOOK: of the mapping */
};

struct pp_reader_head {
	uint32_t number;
	int32_t code; /* MAPS, MORE: 0 or -errno of all that was read; LOOK: 0 or -errno */
	uint32_t cnt; /* of mappings that follow */
	uint32_t has_more;
};

enum pp_reader_looked {
	PP_READER_NOT_LOOKED, /* the file is a server's, or there is none */
	PP_READER_LOOKED,
	PP_READER_REFUSED,
};

/* Then the name, terminated, and bytes up to a multiple of eight. */
struct pp_reader_vma {
	uint64_t start, end, offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t looked;
	uint32_t name_bytes; /* its end included */
	struct stat stat;
};

#define PP_READER_BYTES 32768

struct pp_reader_answer {
	struct pp_reader_head head;
	uint8_t vmas[PP_READER_BYTES] __attribute__((aligned(8)));
};

static inline size_t pp_reader_vma_bytes(uint32_t name_bytes)
{
	return (sizeof(struct pp_reader_vma) + name_bytes + 7) & ~(size_t)7;
}

/* The child: answers what is asked over fd until that ends. */
_Noreturn void pp_reader_child(int fd);

#endif
