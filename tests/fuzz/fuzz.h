/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declarations shared by the fuzz targets: the functions that the fuzzer calls, and the check. */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

/* Each target has the second; the first where something is to be made once. */
int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Aborts, which the fuzzer reports with the input. */
#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

#endif
