// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The line of an error; see pathprof/error.h. */
#include "pathprof/error.h"

#include <stdarg.h>
#include <stdio.h>

int pathprof_fail(struct pathprof_error *error, int code, const char *format, ...)
{
	va_list args;

	if (error) {
		va_start(args, format);
		vsnprintf(error->text, sizeof(error->text), format, args);
		va_end(args);
	}
	return code;
}
