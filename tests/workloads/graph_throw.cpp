// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Exceptions: thrown, caught, thrown on, through destructors, out of switches, loops and virtual
 * functions, past a noexcept that holds, from a cold part. Prints a checksum that depends on
 * nothing.
 */
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#define NOINLINE __attribute__((noinline))

static volatile uint64_t sink;

static NOINLINE void put(uint64_t value)
{
	sink = sink * 31 + value;
}

namespace
{
struct Small {
	int value;
};

struct Held {
	explicit Held(uint64_t n) : n(n) { put(n); }
	~Held() { put(n + 1); }
	uint64_t n;
};

struct Shape {
	virtual ~Shape() = default;
	virtual uint64_t area(int n) const = 0;
};

struct Square : Shape {
	uint64_t area(int n) const override
	{
		if (n % 4 == 3)
			throw Small{n};
		return static_cast<uint64_t>(n) * n;
	}
};

struct Line : Shape {
	uint64_t area(int n) const override { return n; }
};
}

static NOINLINE void throw_by(int n)
{
	switch (n) {
	case 0:
		throw Small{1};
	case 1:
		throw std::runtime_error("one");
	case 2:
		throw 17;
	case 3:
		throw std::string("three");
	case 4:
		put(4);
		break;
	case 5:
		throw std::out_of_range("five");
	default:
		put(5);
	}
}

static NOINLINE uint64_t catch_all_kinds(int n)
{
	Held held(static_cast<uint64_t>(n));

	try {
		Held inner(100);
		throw_by(n);
		put(1);
	} catch (const Small &s) {
		put(static_cast<uint64_t>(s.value));
		return 2;
	} catch (const std::out_of_range &e) {
		put(3);
	} catch (const std::exception &e) {
		put(static_cast<uint64_t>(e.what()[0]));
	} catch (int i) {
		put(static_cast<uint64_t>(i));
	} catch (...) {
		put(6);
	}
	return 7;
}

static NOINLINE void thrown_on(int n)
{
	Held a(1), b(2);

	try {
		throw_by(n);
	} catch (const std::exception &) {
		put(8);
		throw;
	} catch (int) {
		throw std::logic_error("was a number");
	}
	put(9);
}

static NOINLINE uint64_t in_a_loop(int cnt)
{
	uint64_t caught = 0;

	for (int i = 0; i < cnt; i++) {
		try {
			Held held(static_cast<uint64_t>(i));

			if (i % 3 == 1)
				continue;
			thrown_on(i % 7);
			if (i == 11)
				break;
		} catch (const std::exception &e) {
			caught++;
		} catch (...) {
			caught += 100;
		}
	}
	return caught;
}

static NOINLINE int guarded(int n) noexcept
{
	try {
		throw_by(n);
	} catch (...) {
		return 1;
	}
	return 2;
}

static NOINLINE uint64_t areas(int n)
{
	std::vector<std::unique_ptr<Shape>> shapes;
	uint64_t sum = 0;

	shapes.push_back(std::make_unique<Square>());
	shapes.push_back(std::make_unique<Line>());
	for (const auto &shape : shapes)
		sum += shape->area(n);
	return sum;
}

static NOINLINE uint64_t words(int n)
{
	std::map<std::string, uint64_t> seen;

	for (int i = 0; i < n; i++)
		seen["k" + std::to_string(i % 5)] += static_cast<uint64_t>(i);
	try {
		return seen.at("k4") + seen.at("none");
	} catch (const std::out_of_range &) {
		return seen.size();
	}
}

int main()
{
	for (int i = 0; i < 8; i++) {
		put(catch_all_kinds(i));
		put(static_cast<uint64_t>(guarded(i)));
		try {
			put(areas(i));
		} catch (const Small &s) {
			put(static_cast<uint64_t>(s.value));
		}
	}
	put(in_a_loop(14));
	put(words(9));
	std::printf("%llx\n", static_cast<unsigned long long>(sink));
	return 0;
}
