// SPDX-License-Identifier: GPL-2.0-or-later
// For the tests of pathprof-cc: exceptions that pass frames with something to clean up, frames with
// nothing, and frames that throw on. Nothing of the C++ library is inlined: what of it the compiler
// takes from its headers, and what from the library, differs from build to build.
#include <cstdio>
#include <exception>

static int alive;

struct Guard {
	Guard() { alive++; }
	~Guard() { alive--; }
};

struct Malformed : std::exception {
	explicit Malformed(char c) : first(c) {}
	char first;
};

static int parse(const char *text)
{
	int value = 0;

	for (; *text; text++) {
		if (*text < '0' || *text > '9')
			throw Malformed(*text);
		value = value * 10 + (*text - '0');
	}
	if (value > 300)
		throw value;
	return value;
}

__attribute__((noinline)) static int passes(const char *text)
{
	return parse(text) + 1;
}

__attribute__((noinline)) static int cleans_up(const char *text)
{
	Guard guard;

	if (text[0] == '2')
		return passes(text + 1);
	return passes(text) / 10;
}

__attribute__((noinline)) static int throws_on(const char *text)
{
	try {
		return cleans_up(text);
	} catch (const Malformed &m) {
		if (m.first == 'b')
			return -1;
		throw;
	}
}

int main()
{
	static const char *const texts[] = {"1", "22", "333", "4444", "a", "bc", "d4", "25x", ""};
	long sum = 0;

	for (int i = 0; i < 200; i++) {
		try {
			sum += throws_on(texts[i * 7 % 9]);
		} catch (int value) {
			sum += value % 10;
		} catch (const Malformed &m) {
			sum += m.first;
		}
	}
	std::printf("%ld %d\n", sum, alive);
	return 0;
}
