// SPDX-License-Identifier: GPL-2.0-or-later
// Templates, virtual calls, lambdas and the library, for so many seconds of CPU time.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <regex>
#include <string>
#include <vector>

struct Shape {
	virtual ~Shape() {}
	virtual double area(double) const = 0;
};
template <int N> struct Polygon : Shape {
	double area(double r) const override;
};
template <int N> __attribute__((noinline)) double Polygon<N>::area(double r) const
{
	double sum = 0;
	for (int i = 0; i < 100; i++)
		sum += r * N / (i + 1);
	return sum;
}

namespace {
__attribute__((noinline)) std::map<std::string, int> count_words(const std::vector<std::string> &words)
{
	std::map<std::string, int> counts;
	for (auto &word : words)
		counts[word]++;
	return counts;
}
}

int main(int, char **argv)
{
	clock_t end = clock() + atol(argv[1]) * CLOCKS_PER_SEC;
	std::vector<std::string> words;
	for (int i = 0; i < 20000; i++)
		words.push_back(std::to_string(i * 7919 % 5003));
	Polygon<3> three;
	Polygon<7> seven;
	const Shape *shapes[2] = {&three, &seven};
	std::regex sevens("[0-9]*7$");
	double sum = 0;
	while (clock() < end) {
		sum += count_words(words).size();
		for (int i = 0; i < 20000; i++)
			sum += shapes[i & 1]->area(i);
		auto sorted = words;
		std::sort(sorted.begin(), sorted.end(), [](const std::string &a, const std::string &b) { return a > b; });
		for (int i = 0; i < 300; i++)
			sum += std::regex_match(sorted[i], sevens);
	}
	printf("%g\n", sum);
}
