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
	bool *is_input;         /* by argument: it is a file, or - */
	const bool *is_library; /* and: it is -lNAME */
	size_t cnt;
	const char *const *compiling; /* options where the whole is compiled; NULL behind them */
};
#define WHOLE_ROOM 8

/*
 * For a command that links. Sources and bitcode among its inputs, and archives of bitcode, become
 * one object, which takes the place of the first; nothing is done if there are none. Exits if a
 * program that it runs fails. Returns a directory of temporary files that whole_remove() takes
 * away, or NULL.
 */
char *whole_compile(struct whole_command *command);
void whole_remove(char *directory);
/* One for temporary files; exits if there can be none. */
char *whole_make_directory(void);

/* Runs it to its end; the exit status is as a shell has it. */
int whole_run(char *const *arguments);

#endif
