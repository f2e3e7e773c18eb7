/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The same as unwind_calls.c for C++: virtual calls, templates of the library, and exceptions. */
#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <sys/time.h>
#include <vector>

struct shape {
	virtual ~shape() = default;
	virtual uint64_t area(uint64_t x, int depth) const = 0;
};

struct square : shape {
	uint64_t area(uint64_t x, int depth) const override
	{
		for (int i = 0; i < 50; i++)
			x = x * 2862933555777941757ull + 3037000493ull;
		return depth ? area(x, depth - 1) + x : x;
	}
};

struct book : shape {
	std::unique_ptr<shape> inner = std::make_unique<square>();

	uint64_t area(uint64_t x, int depth) const override
	{
		std::map<std::string, uint64_t> names;

		for (int i = 0; i < 8; i++)
			names[std::to_string(x + i)] = inner->area(x, depth);
		if (x % 3 == 0)
			throw std::runtime_error(names.begin()->first);
		return names.size() + names.begin()->second;
	}
};

__attribute__((noinline)) static uint64_t guarded(const shape &s, uint64_t x)
{
	try {
		return s.area(x, 3);
	} catch (const std::runtime_error &error) {
		return error.what()[0];
	}
}

int main()
{
	const itimerval often = {{0, 1013}, {0, 1013}};
	book b;
	uint64_t sum = 0;

	setitimer(ITIMER_PROF, &often, nullptr);
	for (uint64_t i = 0; i < UINT64_MAX; i++) {
		std::vector<uint64_t> numbers;

		for (uint64_t k = 0; k < 24; k++)
			numbers.push_back((i + k) * 7919 % 101);
		std::sort(numbers.begin(), numbers.end(), [&](uint64_t x, uint64_t y) {
			return b.inner->area(x, 1) < b.inner->area(y, 1);
		});
		sum += numbers[3] + guarded(b, i);
	}
	return sum & 1;
}
