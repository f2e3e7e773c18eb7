// SPDX-License-Identifier: GPL-2.0-or-later
// Compiled functions, and the engine's own, for so many seconds of CPU time.
const end = 1e6 * Number(process.argv[2]);
function fibonacci(n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
function parseAll(text) { return JSON.parse(text).length; }
function sortAll(list) { return list.slice().sort((x, y) => x - y)[0]; }
function countWords(words) {
	const counts = new Map();
	for (const word of words) counts.set(word, (counts.get(word) || 0) + 1);
	return counts.size;
}
const list = [], words = [];
for (let i = 0; i < 5000; i++) { list.push((i * 7919) % 10007); words.push('w' + (i % 501)); }
const text = JSON.stringify(list);
let sum = 0;
while (process.cpuUsage().user < end)
	sum += fibonacci(20) + parseAll(text) + sortAll(list) + countWords(words);
console.log(sum);
