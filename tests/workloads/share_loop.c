// SPDX-License-Identifier: GPL-2.0-or-later
/* An endless loop over integers with few branches: one function, all of its process' time. */
#include <stdint.h>
#include <stdio.h>

static __attribute__((noinline)) uint64_t churn(uint64_t x)
{
	for (uint32_t i = 0; i < 100000; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		x *= 0x2545f4914f6cdd1d;
		x += x >> 32;
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
	}
	return x;
}

int main(void)
{
	uint64_t x = 88172645463325252;

	for (;;) {
		x = churn(x);
		if (!x)
			puts("zero");
	}
}
