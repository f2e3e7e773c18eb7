/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From a --value to a place: what it says, the file's identity, the function's offset, and where in
 * it the probe goes. Errors about a name that is not found tell the nearest ones.
 *
 * Workload: once a parameter; up to 10^6 symbols are looked through. One thread.
 */
#ifndef PP_VALUE_SITE_H
#define PP_VALUE_SITE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "pathprof/build_id.h"
#include "pathprof/error.h"

#define PP_VALUE_FUNCTION_MAX 512
#define PP_VALUE_SPEC_MAX     64 /* of one recording */

/*
 * The argument of --value: [FILE:]FUNCTION:ARG. FUNCTION is a linker's name or 0xOFFSET, a place in
 * the file; ARG the number of an integer parameter, 1 to 6, as the x86-64 ABI passes them. The last
 * two colons part it, so a FILE may have some of its own.
 */
struct pp_value_spec {
	char file[PATH_MAX]; /* "": the program, else its libraries */
	char function[PP_VALUE_FUNCTION_MAX];
	uint64_t offset; /* when is_offset */
	bool is_offset;
	uint32_t argument;
};

/* -EINVAL with what is wrong. */
int pp_value_spec_parse(struct pp_value_spec *ret_spec, const char *text,
			struct pathprof_error *error);

/* The process to record: a command that is not started yet, or a process that runs. */
struct pp_value_target {
	const char *command; /* NULL: pid runs */
	pid_t pid;
};

/*
 * A file that was found: looked up once, so that whoever reads it afterwards, the kernel among
 * them, has the same one, whatever its name leads to by then.
 */
struct pp_value_found {
	int fd;              /* of O_PATH; the caller closes it */
	char path[PATH_MAX]; /* by which it was found: for people */
};

#define PP_VALUE_FD_PATH_MAX 32
/* A name that leads to what fd is, in this process. */
void pp_value_fd_path(int fd, char ret_path[PP_VALUE_FD_PATH_MAX]);

/*
 * Which file a --value means: a path; a bare name, which is a program of $PATH or a library, or
 * something that the process to record has mapped; or, "", the program itself. Reads /proc and
 * looks for files, nothing else. -ENOENT with where was looked.
 */
int pp_value_file(const struct pp_value_target *target, const char *file,
		  struct pp_value_found *ret_found, struct pathprof_error *error);

/*
 * The libraries of that program, in the order in which they are searched for a name: those that a
 * command needs, and what they need; or what a process has mapped: its program first, then the
 * libraries from the highest address down, which is about the order in which they were loaded, the
 * dynamic linker last; no more than 1024 files of either. What fn returns, if not 0, ends it and is
 * returned; the descriptor is fn's. -ENOMEM.
 */
typedef int pp_value_library_fn(void *context, const struct pp_value_found *library);
int pp_value_libraries(const struct pp_value_target *target, const char *program,
		       pp_value_library_fn *fn, void *context);

struct pp_value_site {
	struct pathprof_build_id id;
	int fd;                          /* the file */
	char path[PP_VALUE_FD_PATH_MAX]; /* by which the kernel finds it while fd is open */
	char name[PATH_MAX];             /* the same for people and the store */
	char function[PP_VALUE_FUNCTION_MAX];
	uint32_t argument;
	uint64_t start; /* of the function, in the file */
	uint64_t probe; /* the instruction that is probed, in the file */
	bool emulated;  /* cheap: see probe_place.h */
};

/*
 * text is the whole --value, for messages. -ENOENT: no such file or function; -ENOTUNIQ: several
 * functions of that name; -EOPNOTSUPP: one of Go; -EINVAL.
 */
int pp_value_site_find(struct pp_value_site *ret_site, const char *text,
		       const struct pp_value_target *target, struct pathprof_error *error);
/* Releases a site that was found. */
void pp_value_site_release(struct pp_value_site *site);

#endif
