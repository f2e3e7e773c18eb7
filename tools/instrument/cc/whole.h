/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Programs that are compiled as one unit: each source becomes bitcode, as for -flto, and where the
 * program is linked all bitcode becomes one module, in which paths are numbered. So calls between
 * source files can be followed, as those within one are.
 *
 * Workload: a process for each command of a build; up to some thousand inputs.
 */
#ifndef CC_WHOLE_H
#define CC_WHOLE_H

#include <stdbool.h>
#include <stddef.h>

/* A command, as clang would take it. */
struct whole_command {
	char **arguments;       /* the compiler first; the vector has room for WHOLE_ROOM more */
	bool *is_input;         /* by argument: it is a file, or - for standard input */
	const bool *is_library; /* by argument: it is -lNAME */
	size_t cnt;
	const char *const *compiling; /* options to compile the whole with; NULL-terminated */
	bool is_static;               /* the linker looks for archives alone */
};
#define WHOLE_ROOM 8

/*
 * Compiles the inputs of a command that links: sources and bitcode among its inputs, and archives
 * of bitcode, become one object, which takes the place of the first; nothing is done if there are
 * none. Exits if a program that it runs fails. Returns a directory of temporary files that
 * whole_remove() takes away, or NULL.
 */
char *whole_compile(struct whole_command *command);
void whole_remove(char *directory);
/* Makes a directory for temporary files; exits on failure. */
char *whole_make_directory(void);

/* Runs the command and waits; returns its exit status as a shell does. */
int whole_run(char *const *arguments);

#endif
