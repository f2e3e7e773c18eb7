// SPDX-License-Identifier: GPL-2.0-or-later
/* Copies memory for ever: its time lies in the C library's memcpy, which hardly branches. */
#include <stdlib.h>
#include <string.h>

#define BYTES (1u << 20)

int main(void)
{
	char *from = calloc(1, BYTES), *to = malloc(BYTES);

	if (!from || !to)
		return 1;
	for (unsigned int i = 0;; i++) {
		memcpy(to, from, BYTES - i % 64);
		__asm__ volatile("" : : "r"(to) : "memory");
	}
}
