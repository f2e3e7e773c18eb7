/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * A table of natural logarithms of small counts: the moments of D under chance take tens of
 * thousands of them a measurement. Computed once a process, by the first caller; read by any
 * thread.
 */
#ifndef PP_LOGS_H
#define PP_LOGS_H

#include <math.h>
#include <stdint.h>

#define PP_LOGS 4096

struct pp_logs {
	double of[PP_LOGS]; /* of[0] is unused */
};

const struct pp_logs *pp_logs(void);

/* count >= 1, a whole number: the same as log(count). */
static inline double pp_log(const struct pp_logs *logs, double count)
{
	return count < PP_LOGS ? logs->of[(uint32_t)count] : log(count);
}

#endif
