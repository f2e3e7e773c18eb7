#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A program that counts paths of what the optimiser left counts what the emulator sees in its machine
# code: functions are entered as often, and paths that correspond ran as often.
name=counting_machine
. "$(dirname "$0")/counting_common.bash"
command -v qemu-x86_64 >/dev/null || { echo "skip $name: qemu-x86_64 is not installed"; exit 0; }

cat >program.c <<'END'
#include <stdio.h>
#include <string.h>

static unsigned int state = 1;
static char text[600];

__attribute__((noinline)) static unsigned int draw(unsigned int below)
{
	state = state * 1103515245u + 12345u;
	return (state >> 8) % below;
}

__attribute__((noinline)) static int classify(int c)
{
	if (c == ' ')
		return 0;
	if (c >= 'a' && c < 'n')
		return draw(3) == 0 ? 1 : 2;
	return 3;
}

__attribute__((noinline)) static int words(const char *at)
{
	int cnt = 0, inside = 0;

	for (; *at; at++) {
		int kind = classify(*at);

		if (!kind) {
			inside = 0;
			continue;
		}
		if (!inside && kind != 3)
			cnt++;
		inside = 1;
		if (cnt == 60)
			break;
	}
	return cnt;
}

__attribute__((noinline)) static void sort(int *values, int cnt)
{
	for (int i = 1; i < cnt; i++) {
		int value = values[i], k = i;

		while (k > 0 && values[k - 1] > value) {
			values[k] = values[k - 1];
			k--;
		}
		values[k] = value;
	}
}

__attribute__((noinline)) static int find(const int *values, int cnt, int value)
{
	int low = 0, high = cnt;

	while (low < high) {
		int middle = (low + high) / 2;

		if (values[middle] == value) {
			printf("%d is there\n", value);
			return middle;
		}
		if (values[middle] < value)
			low = middle + 1;
		else
			high = middle;
	}
	return -1;
}

__attribute__((noinline)) static int depth(int n)
{
	if (n < 2)
		return 1;
	if (draw(2))
		return 1 + depth(n / 2);
	return depth(n - n / 3) + (draw(4) ? 0 : depth(n / 4));
}

int main(void)
{
	int values[50], all = 0;

	for (int round = 0; round < 30; round++) {
		for (int i = 0; i < 599; i++)
			text[i] = draw(5) ? (char)('a' + (int)draw(26)) : ' ';
		all += words(text);
		for (int i = 0; i < 50; i++)
			values[i] = (int)draw(200);
		sort(values, 50);
		for (int i = 0; i < 20; i++)
			all += find(values, 50, (int)draw(200));
		all += depth(60);
	}
	printf("%d\n", all);
	return 0;
}
END

# both FLAG...: one run, counted both ways.
both() {
	rm -rf counts && mkdir counts
	"$cc" -w --pathprof-late -fno-optimize-sibling-calls "$@" program.c -o program &&
		PATHPROF_DIR=counts timeout 100 "$build/bin/pathprof-trace" -q --paths program.paths -- ./program >out &&
		"$lab" counts --all counts/*.ppraw >counted.tsv
}
agree() { python3 -B "$here/counting_machine.py" program "$1" program.paths >said 2>&1; }

for level in -O1 -O2 -Os -O3; do
	if both $level && agree counted.tsv; then
		ok "$level: $(cat said)"
	else
		not_ok "$level" "$(head -n 3 said | paste -sd ';')"
	fi
done

# Planted faults, of the build for size, in which most paths correspond: a path that ran once more
# and another once less, and a call more.
both -Os
awk -F '\t' -v OFS='\t' '$2 == "find" && n < 2 { $4 += n++ ? 1 : -1 } { print }' counted.tsv >moved.tsv
awk -F '\t' -v OFS='\t' '$2 == "draw" { $4++ } { print }' counted.tsv >more.tsv
for planted in moved more; do
	if agree $planted.tsv; then not_ok "planted fault ($planted)" "it is not found"; else ok "planted fault ($planted)"; fi
done
exit $failed
