// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What C++ adds to export_mix.c: templates inlined deep, virtual calls, exceptions, blocks behind
 * calls that may throw, functions whose paths call more than a window of branches holds. For
 * tests/scenario/export_tools.sh.
 *
 *     export_classes [ROUNDS]      prints a figure that does not depend on how it was compiled
 */
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

struct shape {
	virtual ~shape()
	{
	}
	virtual unsigned long area(unsigned int round) const = 0;
};

struct square : shape {
	unsigned long side;
	explicit square(unsigned long s) : side(s)
	{
	}
	unsigned long area(unsigned int round) const override
	{
		return round & 1 ? side * side : side;
	}
};

struct stairs : shape {
	unsigned long width;
	explicit stairs(unsigned long w) : width(w)
	{
	}
	unsigned long area(unsigned int round) const override
	{
		unsigned long sum = 0;

		for (unsigned int i = 0; i < (round & 7); i++)
			sum += width / (i + 1);
		return sum;
	}
};

template <class T> static T clamp(T value, T low, T high)
{
	return value < low ? low : value > high ? high : value;
}

static unsigned long parse(const std::string &text)
{
	unsigned long value = 0;

	if (text.size() % 13 == 0)
		throw std::runtime_error("unlucky");
	for (char c : text)
		value = value * 31 + static_cast<unsigned char>(c);
	return value;
}

static unsigned int fibonacci(unsigned int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static unsigned long one_round(unsigned int round, unsigned int &seed)
{
	std::map<std::string, int> words;
	std::unordered_map<unsigned int, std::string> by_number;
	std::vector<unsigned int> numbers;
	unsigned long sum = 0;

	for (int i = 0; i < 60; i++) {
		seed = seed * 1664525 + 1013904223;
		std::string word = "k" + std::to_string(seed >> 20);
		words[word] += i;
		by_number[seed % 97] = word;
		numbers.push_back(seed >> 8);
	}
	std::sort(numbers.begin(), numbers.end(),
		  [](unsigned int a, unsigned int b) { return (a ^ 0x55) < (b ^ 0x55); });
	for (auto &entry : words) {
		try {
			sum += parse(entry.first + std::string(entry.second % 17, 'z'));
		} catch (const std::exception &) {
			sum += 7;
		}
	}
	return sum + fibonacci(round % 10) + numbers[round % numbers.size()];
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? static_cast<unsigned int>(atoi(argv[1])) : 100, seed = 1;
	unsigned long sum = 0;
	std::vector<std::unique_ptr<shape>> shapes;

	for (unsigned long i = 0; i < 50; i++) {
		if (i % 3)
			shapes.emplace_back(new square(i));
		else
			shapes.emplace_back(new stairs(i));
	}
	for (unsigned int round = 0; round < rounds; round++) {
		sum += one_round(round, seed);
		for (auto &s : shapes)
			sum += clamp(s->area(round), 1ul, 99ul);
	}
	printf("%lu\n", sum);
	return 0;
}
