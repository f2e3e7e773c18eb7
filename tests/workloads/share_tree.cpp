// SPDX-License-Identifier: GPL-2.0-or-later
/* Fills, searches and empties an ordered map for ever: branches, calls, allocation. */
#include <cstdint>
#include <map>
#include <string>

int main()
{
	uint64_t x = 88172645463325252, found = 0;

	for (;;) {
		std::map<uint64_t, std::string> tree;

		for (int i = 0; i < 20000; i++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			tree[x % 65536] = "value";
			found += tree.count(x >> 20 & 65535);
		}
		__asm__ volatile("" : : "r"(found));
	}
}
