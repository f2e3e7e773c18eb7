// SPDX-License-Identifier: GPL-2.0-or-later
/* pathprofd: finds out what is asked for and starts it. */
#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>

#include "base/units.h"
#include "config_args.h"
#include "shared/log.h"
#include "service.h"
#include "step/step.h"

/* Blocks from here on go back to the kernel when they are freed, and the heap's end beyond this. */
#define APART_BYTES (1 << 20)
#define SPARE_BYTES (2 << 20)

/*
 * glibc raises the first of these limits to the size of what is freed. The heap then keeps the
 * holes of large tables that are made anew now and then, as the kernel's names are: 10 to 25 MiB an
 * hour.
 */
static void return_large_blocks(void)
{
	mallopt(M_MMAP_THRESHOLD, APART_BYTES);
	mallopt(M_TRIM_THRESHOLD, SPARE_BYTES);
}

static int stepper(const char *text)
{
	uint64_t fd = 0;

	if (pp_count_parse(text, &fd) < 0 || fd > INT_MAX) {
		fprintf(stderr, "pathprofd: --stepper %s: not a descriptor\n", text);
		return PP_EXIT_USAGE;
	}
	return pp_step_main((int)fd);
}

/* A write error on standard output is a failure, or a full disk would pass for success. */
static int finish_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return 0;
	fprintf(stderr, "pathprofd: standard output: %s\n", strerror(errno));
	return 1;
}

static int with_config(const struct pp_args *args)
{
	struct pathprof_error error = {""};
	struct pp_config config;

	if (pp_args_config(args, &config, &error) < 0) {
		pp_log(LOG_ERR, "%s", error.text);
		sd_notifyf(0, "STATUS=%s", error.text);
		return PP_EXIT_CONFIG;
	}
	if (args->mode == PP_ARGS_RECORD)
		return pp_oneshot_main(args, &config);
	if (args->mode == PP_ARGS_RUN)
		return pp_service_main(args, &config);
	pp_config_print(&config, stdout);
	return finish_output();
}

int main(int argc, char **argv)
{
	struct pathprof_error error = {""};
	struct pp_args args;

	if (argc == 3 && !strcmp(argv[1], "--stepper"))
		return stepper(argv[2]);
	return_large_blocks();
	pp_log_init(LOG_INFO);
	if (pp_args_parse(&args, argc, argv, &error) < 0) {
		fprintf(stderr, "pathprofd: %s\nTry `%s --help'.\n", error.text,
			argc > 1 && !strcmp(argv[1], "--record") ? "pathprofctl record"
								 : "pathprofd");
		return PP_EXIT_USAGE;
	}
	switch (args.mode) {
	case PP_ARGS_HELP:
		pp_args_help(stdout);
		return finish_output();
	case PP_ARGS_VERSION:
		puts("pathprofd " PATHPROF_VERSION);
		return finish_output();
	case PP_ARGS_PRINT:
		if (args.file || args.override_cnt)
			break;
		pp_config_print_defaults(stdout);
		return finish_output();
	case PP_ARGS_RUN:
	case PP_ARGS_RECORD:
	case PP_ARGS_CHECK:
		break;
	}
	return with_config(&args);
}
