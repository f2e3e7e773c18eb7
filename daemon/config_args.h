/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command line of pathprofd. Flags that stand for a setting are kept as text, so that they
 * beat the file again each time it is read.
 */
#ifndef PP_CONFIG_ARGS_H
#define PP_CONFIG_ARGS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "shared/config.h"
#include "pathprof/error.h"

enum pp_args_mode {
	PP_ARGS_RUN,
	PP_ARGS_RECORD,
	PP_ARGS_CHECK,
	PP_ARGS_PRINT,
	PP_ARGS_HELP,
	PP_ARGS_VERSION,
};

struct pp_override {
	const char *section, *name, *value;
};
#define PP_OVERRIDE_MAX   16
#define PP_ARGS_VALUE_MAX 64

/* Strings belong to argv. */
struct pp_args {
	enum pp_args_mode mode;
	const char *file;     /* NULL: PP_CONFIG_FILE, which may be missing */
	uint64_t duration_ns; /* 0: no end */
	pid_t pid;            /* --record: this process; 0: run command */
	char **command;       /* --record: NULL-terminated */
	bool group;           /* --record: neither, but all that runs in Cgroup= */
	bool quiet;
	const char *values[PP_ARGS_VALUE_MAX]; /* --value */
	unsigned int value_cnt;
	const char *value_sampler; /* NULL: the default */
	struct pp_override overrides[PP_OVERRIDE_MAX];
	unsigned int override_cnt;
};

void pp_args_help(FILE *out);

/* -EINVAL: a usage error, one line in error. */
int pp_args_parse(struct pp_args *ret_args, int argc, char **argv, struct pathprof_error *error);

/*
 * The settings these arguments ask for: defaults, file and drop-ins, flags. A recording reads a
 * file only when one is named.
 */
int pp_args_config(const struct pp_args *args, struct pp_config *ret_config,
		   struct pathprof_error *error);

/*
 * oneshot.c: `pathprofd --record` profiles one program, without service and, where the kernel lets
 * it, without root. The program's standard streams are its own; what we say goes to standard error.
 * Returns the exit status: the command's (128 + signal when one ended it), 126 or 127 when it could
 * not be run, 0 for -p, 1 when nothing could be recorded.
 */
int pp_oneshot_main(const struct pp_args *args, const struct pp_config *config);

#endif
