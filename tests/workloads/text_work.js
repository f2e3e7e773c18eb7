// SPDX-License-Identifier: GPL-2.0-or-later
// The work of text_work.lua for MuJS: words counted letter by letter and sorted, lines marked up by
// patterns. `mujs text_work.js FILE ROUNDS`.

function letter(c) {
	return c >= 97 && c <= 122 || c >= 65 && c <= 90 || c === 95;
}

// How often each word comes.
function countWords(text) {
	var counts = {}, at = 0, last, word;
	while (at < text.length) {
		if (letter(text.charCodeAt(at))) {
			last = at + 1;
			while (last < text.length && letter(text.charCodeAt(last)))
				last++;
			word = "_" + text.substring(at, last);
			counts[word] = (counts[word] || 0) + 1;
			at = last;
		}
		at++;
	}
	return counts;
}

function mostFrequent(counts, most) {
	var list = [], word;
	for (word in counts)
		list.push(word);
	list.sort(function (a, b) {
		return counts[b] - counts[a] || (a < b ? -1 : 1);
	});
	return list.slice(0, most).map(function (w) { return counts[w] + " " + w; }).join("\n");
}

function markUp(line) {
	var directive = /^#\s*(\w+)\s+(.*)$/.exec(line);
	line = line.replace(/[<>&]/g, function (c) { return { "<": "&lt;", ">": "&gt;", "&": "&amp;" }[c]; });
	if (directive)
		return "<b>" + directive[1] + "</b> " + directive[2];
	return line.replace(/(\w+)\(/g, "<a>$1</a>(");
}

// Short strings: a long one is walked from its start for each letter.
var lines = read(scriptArgs[0]).split("\n"), rounds = +scriptArgs[1], words, page, i, w;
for (; rounds > 0; rounds--) {
	words = {};
	page = 0;
	for (i = 0; i < lines.length; i++) {
		var counts = countWords(lines[i]);
		for (w in counts)
			words[w] = (words[w] || 0) + counts[w];
		page += markUp(lines[i]).length;
	}
	words = mostFrequent(words, 40);
}
print(words);
print(page);
