// SPDX-License-Identifier: GPL-2.0-or-later
// Work for pugixml: a document is made of a text's lines and words, written, parsed again, asked by XPath
// and sorted. `xml_work FILE ROUNDS`.
#include <cctype>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "pugixml.hpp"

namespace {

// <text><line n="1"><word kind="name" length="3">int</word>...</line>...</text>
void add_line(pugi::xml_node text, const std::string &line, int at)
{
	pugi::xml_node node = text.append_child("line");
	node.append_attribute("n") = at;
	std::istringstream words(line);
	for (std::string word; words >> word;) {
		const bool name = std::isalpha(static_cast<unsigned char>(word[0]));
		pugi::xml_node child = node.append_child("word");
		child.append_attribute("kind") = name ? "name" : "sign";
		child.append_attribute("length") = static_cast<unsigned>(word.size());
		child.text() = word.c_str();
	}
}

const char *const questions[] = {
	"count(//word[@kind='name'])",
	"sum(//word/@length)",
	"count(//line[word[@length > 6]])",
	"string-length(//line[last() div 2]/word[1])",
	"count(//word[starts-with(., 's') and contains(., 'a')])",
};

double asked(const pugi::xml_document &document)
{
	double sum = 0;
	for (const char *question : questions)
		sum += pugi::xpath_query(question).evaluate_number(document);
	pugi::xpath_node_set names = document.select_nodes("//word[@kind='name']");
	names.sort(true);
	for (const pugi::xpath_node &name : names)
		sum += name.node().text().get()[0];
	return sum;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	std::ifstream file(argv[1]);
	std::vector<std::string> lines;
	for (std::string line; std::getline(file, line);)
		lines.push_back(line);
	double sum = 0;
	size_t bytes = 0;
	for (long round = std::stol(argv[2]); round > 0; round--) {
		pugi::xml_document made, again;
		pugi::xml_node text = made.append_child("text");
		for (size_t i = 0; i < lines.size(); i++)
			add_line(text, lines[i], static_cast<int>(i));
		std::ostringstream out;
		made.save(out);
		const std::string written = out.str();
		if (!again.load_string(written.c_str()))
			return 1;
		sum = asked(again);
		bytes = written.size();
	}
	std::cout << sum << ' ' << bytes << '\n';
	return 0;
}
