/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The bounds of a file's functions as far as its tables tell: symbols, .eh_frame, the linker's
 * stubs, exception tables. Graphs start from here and find functions that are known by calls alone.
 *
 * All positions are vaddrs. Workload: once a file; cc1 has 40,000. One thread; arrays are the
 * caller's to release, names stay the code's.
 */
#ifndef PP_FUNCTIONS_H
#define PP_FUNCTIONS_H

#include "pathprof/graph.h"
#include "pp_code.h"

/* A range that belongs together: a function, its cold part, or what is behind another within it. */
struct pp_range {
	uint64_t start, end; /* end > start */
	const char *name;    /* of its best symbol; NULL */
	uint32_t flags;      /* PATHPROF_FUNCTION_SYMBOL, _FRAME, _PLT, _IFUNC; _GUESSED: known to
				run (entry, .init); it ends where the next one begins */
	uint32_t owner;      /* index of the range it is a part of; its own otherwise. An owner's is
				its own */
	bool maybe_cold;     /* .eh_frame says that it begins with a frame set up: it is jumped
				into, not called; or its name says so, but not of which function */
};

struct pp_ranges {
	struct pp_range *ranges; /* by start; they do not overlap */
	size_t cnt;
	uint64_t entry; /* the file's entry point; 0: none */
};

/* -ENOMEM. Damaged records are left out. */
int pp_ranges_read(struct pp_ranges *ret_ranges, struct pathprof_code *code);
void pp_ranges_release(struct pp_ranges *ranges);
/* The range vaddr lies in, or NULL. */
const struct pp_range *pp_ranges_find(const struct pp_ranges *ranges, uint64_t vaddr);

/* A call within [start, end) that throws goes on at pad. */
struct pp_landing_pad {
	uint64_t start, end, pad;
};
/* By start. -ENOMEM. */
int pp_landing_pads_read(struct pp_landing_pad **ret_pads, size_t *ret_cnt,
			 struct pathprof_code *code);

/*
 * Data: len_bytes at vaddr of any segment the file holds; relocations are applied to what they set
 * by themselves (R_X86_64_RELATIVE), so that tables of pointers in position-independent files read
 * as they will be. -ERANGE.
 */
int pp_data_read(struct pathprof_code *code, uint64_t vaddr, void *buf, size_t len_bytes);
/* Whether that memory stays as the file has it: no write permission, or read-only once relocated.
 */
bool pp_data_is_constant(struct pathprof_code *code, uint64_t vaddr);
/*
 * The symbol that a pointer in memory will be bound to by the dynamic linker (GOT); NULL if vaddr
 * is no such pointer.
 */
const char *pp_data_import(struct pathprof_code *code, uint64_t vaddr);

#endif
