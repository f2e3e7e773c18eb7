// SPDX-License-Identifier: GPL-2.0-or-later
/* Diagnostics: one line each, on standard error, safe to show. */
#include "../ctl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cleanup.h"
#include "text.h"

static void say(const char *format, va_list args)
{
	_cleanup_free_ char *safe = NULL;
	char text[2048];

	vsnprintf(text, sizeof(text), format, args);
	safe = text_escape(text);
	fflush(stdout);
	fprintf(stderr, "pathprofctl: %s\n", safe);
}

int ctl_fail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
	return CTL_FAILURE;
}

void ctl_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args);
	va_end(args);
}

int ctl_usage(const struct ctl_options *options, const char *format, ...)
{
	_cleanup_free_ char *longer = NULL;
	va_list args;

	if (options->verb)
		longer = ctl_printf("%s: %s: see pathprofctl %s --help", options->verb, format,
				    options->verb);
	else
		longer = ctl_printf("%s: see pathprofctl --help", format);
	va_start(args, format);
	say(longer, args);
	va_end(args);
	return CTL_USAGE;
}

int ctl_fail_error(const char *where, int code, const struct pathprof_error *error)
{
	if (error && error->text[0])
		return ctl_fail("%s", error->text);
	/* the reason was printed when that process died */
	if (code == -EOWNERDEAD)
		return ctl_fail("%s: the process that read the file is gone", where);
	return ctl_fail("%s: %s", where, strerror(-code));
}

int ctl_no_operands(const struct ctl_options *options)
{
	if (options->argc == 0)
		return CTL_OK;
	return ctl_usage(options, "%s: operand not expected", options->argv[0]);
}
