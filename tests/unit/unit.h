/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One runner for all unit tests. A file test_X.c ends with
 *
 *     static const struct unit_test tests[] = {{"returns what was put in", test_roundtrip}, ...};
 *     UNIT_SUITE(x, tests)
 *
 * and the runner (main.c) finds it. Assertions are CUnit's, and check.h makes them say both values.
 * unit_skip(reason) marks a test that cannot run here; the runner prints and counts it.
 */
#ifndef UNIT_H
#define UNIT_H

#include "check.h"

#include <stddef.h>

struct unit_test {
	const char *name;
	void (*run)(void);
};

void unit_register(const char *suite, const struct unit_test *tests, size_t cnt);
void unit_skip(const char *reason);
/* How many random cases a test tries: full under PATHPROF_ROUNDS=full, otherwise brief. */
unsigned int unit_rounds(unsigned int brief, unsigned int full);
/* A fresh directory for this test's files, removed at the end of the run. */
const char *unit_tmpdir(void);

#define UNIT_SUITE(name, tests)                                                                    \
	__attribute__((constructor)) static void unit_register_##name(void)                        \
	{                                                                                          \
		unit_register(#name, tests, sizeof(tests) / sizeof((tests)[0]));                   \
	}

#endif
