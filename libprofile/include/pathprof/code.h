/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Code of one ELF file: its bytes, symbols, source lines, instructions, and the blocks of a path.
 * All positions are file offsets. ELF and DWARF are read by elfutils (libelf, libdwfl: separate
 * debug files by build-id and debuglink, debuginfod when DEBUGINFOD_URLS is set), instructions by
 * Zydis.
 *
 * Files come from outside: every offset and count in them is checked, a bad file is -EINVAL or
 * -EBADMSG with one line, never a crash. One handle, one thread.
 */
#ifndef PATHPROF_CODE_H
#define PATHPROF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pathprof/apart.h"
#include "pathprof/build_id.h"
#include "pathprof/error.h"

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_code;

/*
 * Opens path. expect (NULL: any): a file of another identity is refused with -ESTALE, never
 * guessed at.
 */
int pathprof_code_open(struct pathprof_code **ret_code, const char *path,
		       const struct pathprof_build_id *expect, struct pathprof_error *error);
/*
 * The same of a file that is open already, read where it could be found; none of these descriptors
 * is taken. Its debug files are looked for by name below root_fd (see pathprof/foreign.h), or, if
 * that is -1, not at all.
 */
struct pathprof_code_file {
	int fd;
	int root_fd;
	const char *path; /* below root_fd */
};
int pathprof_code_open_fd(struct pathprof_code **ret_code, const struct pathprof_code_file *file,
			  const struct pathprof_build_id *expect, struct pathprof_error *error);
/*
 * The vDSO of this process: of every process that runs on the same kernel, so expect tells whether
 * it is the one profiled. -ENOENT: the kernel maps none.
 */
int pathprof_code_open_vdso(struct pathprof_code **ret_code, const struct pathprof_build_id *expect,
			    struct pathprof_error *error);
/*
 * The same of a file that a process apart reads (pathprof/apart.h), so that what it holds cannot
 * harm a caller with rights: those open files, and are all that is done here. Every function below
 * and every other one that takes a handle works as ever, but returns -EOWNERDEAD once that process
 * died of the file, which died was told.
 */
int pathprof_code_open_apart(struct pathprof_code **ret_code, const char *path,
			     const struct pathprof_build_id *expect, pathprof_apart_died_fn *died,
			     void *context, struct pathprof_error *error);
/* pathprof_build_id_read_file() the same way, of any regular file. */
int pathprof_build_id_read_apart(struct pathprof_build_id *ret_id, const char *path,
				 pathprof_apart_died_fn *died, void *context,
				 struct pathprof_error *error);
/* NULL-safe. */
void pathprof_code_free(struct pathprof_code *code);
/*
 * From now on errors and the text of pathprof_foreign_witness() give this name instead of the path
 * by which the file was found, such as /proc/123/exe. -ENOMEM: they keep that path.
 */
int pathprof_code_call(struct pathprof_code *code, const char *name);

/* The file's identity. -errno, error filled. */
int pathprof_code_build_id(const struct pathprof_code *code, struct pathprof_build_id *ret_id,
			   struct pathprof_error *error);

/* The file's owner, who chose the names in its debug information. -errno. */
int pathprof_code_owner(const struct pathprof_code *code, uid_t *ret_uid);

/* An executable segment: [offset, offset + len_bytes) of the file lies at vaddr. */
struct pathprof_code_segment {
	uint64_t offset, vaddr, len_bytes;
	bool is_fixed; /* it runs at vaddr: the file is neither a PIE nor a library */
};
/* In the order of the program headers. -ERANGE: there are not so many. */
int pathprof_code_segment(const struct pathprof_code *code, uint32_t index,
			  struct pathprof_code_segment *ret_segment);

/* -ERANGE when offset lies in no executable segment. */
int pathprof_code_offset_to_vaddr(const struct pathprof_code *code, uint64_t offset,
				  uint64_t *ret_vaddr);
int pathprof_code_vaddr_to_offset(const struct pathprof_code *code, uint64_t vaddr,
				  uint64_t *ret_offset);

/*
 * The function offset lies in. ret_name belongs to code. Without a symbol: -ENOENT, but when
 * .eh_frame knows the function's bounds *ret_start is set to its start and *ret_name to NULL, 0.
 */
int pathprof_code_function(struct pathprof_code *code, uint64_t offset, const char **ret_name,
			   uint64_t *ret_start);
/*
 * pathprof_code_function() will be asked about these: for a file that is read apart they are looked
 * up together, for others nothing is done. 0; -ENOMEM; or an error of the process.
 */
int pathprof_code_functions_ahead(struct pathprof_code *code, const uint64_t *offsets, size_t cnt);
/*
 * The reverse: the range of the function of that name, [start, end). If there are several, the one
 * with the strongest binding. -ENOENT when no symbol has it (pathprof_code_is_named()).
 */
int pathprof_code_find_function(struct pathprof_code *code, const char *name, uint64_t *ret_start,
				uint64_t *ret_end);
/* A function symbol, [start, end) in file offsets. name belongs to code. */
struct pathprof_code_symbol {
	const char *name;
	uint64_t start, end;
	uint32_t binding; /* the greater the better: local, weak, global */
	bool chosen_late; /* an indirect function: code here only says which other function it is */
};
typedef int pathprof_code_symbol_fn(void *context, const struct pathprof_code_symbol *symbol);
/*
 * Whether symbol is the name of a symbol that this name calls. A program calls realpath, and so do
 * people; the symbol is realpath@@GLIBC_2.3 where the linker kept the default version. An old
 * version has one @ and is called by its whole name.
 */
bool pathprof_code_is_named(const char *symbol, const char *name);
/* All of them, by start. A return of fn other than 0 ends the listing and is returned. */
int pathprof_code_symbols(struct pathprof_code *code, pathprof_code_symbol_fn *fn, void *context);

typedef int pathprof_code_needed_fn(void *context, const char *library);
/*
 * The names of the libraries that the file needs, in its order. A return of fn other than 0 ends
 * the listing and is returned. -EOPNOTSUPP: of a file that is read apart.
 */
int pathprof_code_needed(const struct pathprof_code *code, pathprof_code_needed_fn *fn,
			 void *context);
/* Whether Go compiled it, with parameters in other registers. False of a file read apart. */
bool pathprof_code_is_go(const struct pathprof_code *code);
/* -ENOENT without line information. *ret_file belongs to code. */
int pathprof_code_line(struct pathprof_code *code, uint64_t offset, const char **ret_file,
		       int *ret_line);

/* One instruction: its length in bytes, its text (Intel syntax, targets as file offsets' symbols
 * where known); -ENOEXEC when undecodable, -ERANGE outside code. */
int pathprof_code_instruction(struct pathprof_code *code, uint64_t offset, char *text,
			      size_t text_size, unsigned int *ret_len_bytes);

/* A straight run of a path: instructions [start, end), then how it went on. */
struct pathprof_block {
	uint64_t start, end; /* file offsets; end is after the last instruction */
	uint32_t kind;       /* PERF_BR_* of its last instruction */
	int taken;           /* for a conditional: 1 or 0 */
};
typedef int pathprof_block_fn(void *context, const struct pathprof_block *block);

/*
 * The blocks of a Ball-Larus-like path, in order, by reading the code from `start` and following
 * `outcomes`. Calls do not end a block's path (the callee is another path). -EBADMSG when the
 * code does not have that path.
 */
int pathprof_code_walk(struct pathprof_code *code, uint64_t start, uint32_t length,
		       uint32_t outcomes, pathprof_block_fn *fn, void *context,
		       struct pathprof_error *error);
/* The same of a piece, what one procedure runs between its calls: a call ends it, too. */
int pathprof_code_walk_piece(struct pathprof_code *code, uint64_t start, uint32_t length,
			     uint32_t outcomes, pathprof_block_fn *fn, void *context,
			     struct pathprof_error *error);

#ifdef __cplusplus
}
#endif

#endif
