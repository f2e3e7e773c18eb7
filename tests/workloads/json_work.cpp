// SPDX-License-Identifier: GPL-2.0-or-later
// Work for JsonCpp: a document is made of a text's words, written, read again and asked.
// `json_work FILE ROUNDS`.
#include <cctype>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>

#include "json/json.h"

namespace {

// {"lines": [{"length": N, "words": [...]}], "seen": {word: N}}
Json::Value document_of(const std::string &text)
{
	Json::Value document, line(Json::objectValue);
	std::string word;
	for (const char c : text) {
		if (std::isalnum(static_cast<unsigned char>(c))) {
			word += c;
			continue;
		}
		if (!word.empty()) {
			Json::Value &seen = document["seen"][word];
			seen = seen.asInt() + 1;
			line["words"].append(word);
			word.clear();
		}
		if (c == '\n') {
			line["length"] = line["words"].size() * 1.5;
			document["lines"].append(line);
			line = Json::Value(Json::objectValue);
		}
	}
	return document;
}

double asked(const Json::Value &document)
{
	double sum = 0;
	for (const Json::Value &line : document["lines"])
		for (const Json::Value &word : line["words"])
			sum += document["seen"][word.asString()].asInt() + line["length"].asDouble();
	return sum;
}

} // namespace

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	std::ifstream file(argv[1]);
	const std::string text{ std::istreambuf_iterator<char>(file), {} };
	Json::StreamWriterBuilder writer;
	const std::unique_ptr<Json::CharReader> reader(Json::CharReaderBuilder().newCharReader());
	double sum = 0;
	size_t bytes = 0;
	for (long round = std::stol(argv[2]); round > 0; round--) {
		const std::string written = Json::writeString(writer, document_of(text));
		Json::Value again;
		std::string errors;
		if (!reader->parse(written.data(), written.data() + written.size(), &again, &errors))
			return 1;
		sum = asked(again);
		bytes = written.size();
	}
	std::cout << sum << ' ' << bytes << '\n';
	return 0;
}
