/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The handle behind pathprof/code.h, and what its parts offer one another.
 *
 * Two kinds of address: a file offset (what callers speak) and a vaddr (what the ELF file's headers
 * say; symbols, .eh_frame and branch targets speak it). libdwfl adds a bias of its own to vaddrs.
 *
 * Workload: an operator looks at tens of paths of a few files; files of 100 MB and 10^6 symbols
 * occur. Nothing is read before it is asked for.
 *
 * Code bytes are read with pread and not mapped: a file that shrinks under us then gives short
 * reads instead of SIGBUS. (elfutils maps what it reads symbols and lines from.)
 *
 * Locking: one handle, one thread. Ownership: the handle owns everything it points to.
 */
#ifndef PP_CODE_H
#define PP_CODE_H

#include <elfutils/libdwfl.h>
#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/code.h"
#include "pp_cursor.h"

#define PP_CODE_WINDOW 16384
#define PP_NO_ROOT     (-1) /* debug files are not looked for by name */

/* An executable PT_LOAD, as much of it as the file holds. */
struct pp_segment {
	uint64_t offset, vaddr, len_bytes;
};

/* A section of the file; names are libelf's. {0} is before the first. */
struct pp_section {
	Elf_Scn *scn;
	const char *name; /* "" when it has none */
	uint64_t vaddr, size_bytes, entry_bytes, flags;
	uint32_t type, link;
};

/* Bounds of a function as .eh_frame has them, vaddrs. */
struct pp_frame {
	uint64_t start, end;
	uint64_t exceptions; /* its exception table (LSDA); 0: none */
	bool set_up;         /* it begins with a frame set up, as what is jumped into does */
	bool signal;         /* of a signal handler's caller: one byte too early */
};

/*
 * A function symbol, vaddrs. They are sorted by start; `outer` is how many of them, from the first,
 * are to be searched on when this one ends before what is looked for.
 */
struct pp_symbol {
	uint64_t start, end;
	const char *name; /* libdwfl's */
	uint32_t outer;
	uint8_t rank; /* of its binding: global over weak over local */
	bool sized;
	bool typed;    /* as a function, not just a label */
	bool resolver; /* of an indirect function */
};

/* The origin that addresses count from. */
struct pp_layout {
	uint64_t first_load, first_text; /* vaddr of the first PT_LOAD, and of the first of code */
	uint64_t is_pie;                 /* 0 or 1 */
	uint64_t is_bolted;              /* 0 or 1: llvm-bolt wrote it */
	uint64_t has_symbols;            /* 0 or 1: it has a symbol table of its own */
};

enum pp_lazy {
	PP_LAZY_NOT_YET = 0,
	PP_LAZY_THERE,
	PP_LAZY_ABSENT,
};

struct pathprof_code {
	char *path;
	int fd;
	int root_fd; /* path is below it: PATHPROF_OWN_ROOT, a descriptor, PP_NO_ROOT */
	struct pp_code_apart *apart; /* who reads the file; NULL: this process */
	struct pathprof_build_id id; /* of a file that is read apart */
	Elf *elf;

	struct pp_segment *segments;
	uint32_t segment_cnt;
	struct pp_layout layout;

	uint8_t window[PP_CODE_WINDOW]; /* bytes of the file at window_offset */
	uint64_t window_offset;
	size_t window_len;

	enum pp_lazy dwfl_state;
	Dwfl *dwfl;
	Dwfl_Module *module;
	uint64_t bias; /* libdwfl's address = vaddr + bias */

	enum pp_lazy dwarf_state;
	Dwarf *common; /* what dwz moved out of it; not the handle's when nothing is set */
	int common_fd;
	struct pp_nothing *nothing;

	enum pp_lazy frames_state;
	struct pp_frame *frames; /* by start */
	size_t frame_cnt;

	enum pp_lazy symbols_state;
	struct pp_symbol *symbols; /* by start, see symbols.c */
	size_t symbol_cnt;

	struct pp_data *data;   /* NULL: not asked for yet */
	struct pp_plt *plt;     /* the same */
	struct pp_lines *lines; /* the same */
};

/* elf.c. Opens code->fd's ELF structure, its segments and layout. */
int pp_elf_open(struct pathprof_code *code, struct pathprof_error *error);
/*
 * Up to size bytes at vaddr, never beyond its segment. Returns how many; 0: none there.
 */
size_t pp_elf_read(struct pathprof_code *code, uint64_t vaddr, uint8_t *buf, size_t size);
/* pread() that a signal does not interrupt. */
ssize_t pp_elf_read_file(int fd, void *buf, size_t size, uint64_t offset);

/* modules.c: libdwfl's view of the file, opened at first use. -ENOENT when it makes none of it. */
int pp_dwfl_open(struct pathprof_code *code);
/* The same, and its debug information; to be called before libdw's is asked for. */
int pp_dwfl_open_dwarf(struct pathprof_code *code);
void pp_dwfl_close(struct pathprof_code *code);

/* frames.c: the .eh_frame range vaddr lies in, or NULL. */
const struct pp_frame *pp_frames_find(struct pathprof_code *code, uint64_t vaddr);
/* All of them, by start; they may overlap. The handle's. */
size_t pp_frames_all(struct pathprof_code *code, const struct pp_frame **ret_frames);

/* symbols.c: all of them, sorted as struct pp_symbol says; the best of those that start together
 * comes last. The handle's. */
size_t pp_symbols_all(struct pathprof_code *code, const struct pp_symbol **ret_symbols);

/* sections.c: the one after *section; false: there is none. */
bool pp_section_next(const struct pathprof_code *code, struct pp_section *section);
/* The first of that name the file has bytes of. */
bool pp_section_named(const struct pathprof_code *code, const char *name,
		      struct pp_section *ret_section);
/* A cursor over the section's bytes, which are libelf's; false when the file does not hold them. */
bool pp_section_open(const struct pp_section *section, struct pp_cursor *ret_cursor);

/* data.c, plt.c. NULL-safe. */
void pp_data_free(struct pp_data *data);
void pp_plt_free(struct pp_plt *plt);

#endif
