/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The kind of a mapping, by the name that the kernel gives it in /proc/PID/maps and in perf's
 * records. One rule for recordings and for processes that run. Any thread.
 */
#ifndef PATHPROF_MAPPED_H
#define PATHPROF_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pathprof/build_id.h"
#include "pathprof/code.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Length of a name without the " (deleted)" of a file that was removed or replaced. */
size_t pathprof_mapped_name_len(const char *name);
/*
 * Does a mapping of that name have the base name of a file? The kernel records where a link leads
 * to: real_path (NULL: not known) is the file's without links.
 */
bool pathprof_mapped_is_named(const char *name, const char *path, const char *real_path);

/*
 * Memory that is no part of a program's file: anonymous memory with or without a name, heap, stack,
 * /dev/zero, System V segments, huge pages, a memfd. Code in it was generated, or it is a copy of
 * text. Memory with a build-id (id; NULL: none) is a file: programs load libraries from a memfd,
 * too.
 */
bool pathprof_mapped_is_memory(const char *name, const struct pathprof_build_id *id);

/*
 * Programs move their text onto huge pages: they lay memory over it and copy it there. Is memory at
 * [start, end) such a copy, where text of a file was mapped at [text_start, text_end)?
 *
 * A program never runs without its own text, so all of that which memory covers is copied,
 * however far the memory was rounded outwards. A library may have been unmapped before, of which
 * there is no record, and code be generated in its place: memory that lies whole within its text is
 * a copy, other memory is not.
 */
bool pathprof_mapped_is_copy(uint64_t start, uint64_t end, uint64_t text_start, uint64_t text_end,
			     bool is_program);

/*
 * The file's offset of what is mapped at [start, end), of which `offset` was recorded. Tools such
 * as patchelf move a program's code within the file and leave its build-id and its addresses as
 * they are; so a program that runs at fixed addresses is found by these, whichever of the files is
 * given. The segments are the file's.
 */
uint64_t pathprof_mapped_offset(const struct pathprof_code_segment *segments, uint32_t segment_cnt,
				uint64_t start, uint64_t end, uint64_t offset);

#ifdef __cplusplus
}
#endif

#endif
