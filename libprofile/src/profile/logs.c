// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/* The table of logarithms: see pp_logs.h. */
#include "pp_logs.h"

#include <pthread.h>

static struct pp_logs table;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void fill(void)
{
	for (uint32_t i = 1; i < PP_LOGS; i++)
		table.of[i] = log(i);
}

const struct pp_logs *pp_logs(void)
{
	pthread_once(&once, fill);
	return &table;
}
