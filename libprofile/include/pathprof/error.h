/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * How the library tells what went wrong: functions return a negative errno and, where a person
 * will want to know more, fill the caller's struct pathprof_error with one line that says what,
 * where and what to do next. The library itself never logs and never exits.
 */
#ifndef PATHPROF_ERROR_H
#define PATHPROF_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

struct pathprof_error {
	char text[512]; /* one line, no newline at its end; "" when there is nothing to say */
};

/*
 * Fills error (NULL: nobody asks) and returns code, so that a failing function may
 * `return pathprof_fail(error, -EINVAL, "%s:%u: ...", file, line);`
 */
int pathprof_fail(struct pathprof_error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif

#endif
