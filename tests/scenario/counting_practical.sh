#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs that count cold paths together, and each of the others by itself, count both as often as they
# ran, whatever the profile says; functions that never ran in it count nothing. And so do those that leave
# obvious paths out, of all others.
name=counting_practical
. "$(dirname "$0")/counting_common.bash"
[ "${PATHPROF_ROUNDS:-short}" = full ] && programs=12 || programs=1
modes=("-O2" "-O2 --pathprof-late" "-O1 --pathprof-cut=calls" "-Os -fPIC" "-O1 -static")

train() { # MODE: `file` has the paths of program.c
	rm -rf first && mkdir first
	# shellcheck disable=SC2086 # a list of words
	"$cc" -w -fwrapv $1 program.c -o plain && PATHPROF_DIR=first timeout 100 ./plain >out
	interesting file 256 first/*.ppraw
}

# The profile is right, or of paths that ran as often as some number says, or of a part of the functions.
apart=0 cold=0 none=0 told=0 targeted=0
for seed in $(seq 1 $programs); do
	python3 "$here/counting_generate.py" "$seed" 10 >program.c
	for mode in "${modes[@]}"; do
		[ $programs -gt 1 ] || [[ $mode == -O2* ]] || continue
		train "$mode"
		awk -F '\t' -v OFS='\t' 'NR > 1 { $5 = $5 * 7919 % 1000 } { print }' file >other
		awk -F '\t' 'NR == 1 || $1 !~ /[02468]$/' file >part
		for profile in file other part; do
			if [ $programs -gt 1 ] || [ $profile = other ]; then
				# shellcheck disable=SC2086 # a list of words
				exact "program $seed $mode, obvious, profile $profile" program.c $mode --pathprof-obvious --pathprof-interesting=$profile
				told=$((told + $(grep -c 'profile$' counted.tsv)))
				# shellcheck disable=SC2086 # a list of words
				exact "program $seed $mode, targeted, profile $profile" program.c $mode --pathprof-targeted --pathprof-interesting=$profile
				targeted=$((targeted + $(grep -c 'profile$' counted.tsv)))
			fi
			# shellcheck disable=SC2086 # a list of words
			exact "program $seed $mode, profile $profile" program.c $mode --pathprof-practical --pathprof-interesting=$profile
			read -r a c n < <(sed -nE 's/.* without cold paths: ([0-9]+) counts, ([0-9]+) cold, ([0-9]+) not counted/\1 \2 \3/p' said)
			apart=$((apart + ${a:-0})) cold=$((cold + ${c:-0})) none=$((none + ${n:-0}))
		done
	done
done
if [ $apart -gt 1000 ] && [ $cold -gt 1000 ] && [ $none -gt 1000 ]; then
	ok "$apart counts of warm paths, $cold of cold ones, $none not counted"
else
	not_ok "all kinds are tried" "$apart counts of warm paths, $cold of cold ones, $none not counted"
fi
[ $targeted -gt 3 ] && ok "$targeted of them in targeted profiles" || not_ok "targeted profiles are tried" "$targeted told"
[ $told -gt 3 ] && ok "$told obvious paths told by the profile" || not_ok "obvious paths are tried" "$told of them"

# Clang's own profile, of its counters: the same paths are warm, nearly.
if command -v llvm-profdata-22 >/dev/null; then
	clang-22 -w -fwrapv -O2 -fprofile-instr-generate program.c -o instr && LLVM_PROFILE_FILE=raw ./instr >out &&
		llvm-profdata-22 merge raw -o profdata
	for mode in "-O2 --pathprof-practical" "-O2 --pathprof-late --pathprof-obvious" "-O1 --pathprof-cut=calls --pathprof-practical"; do
		# shellcheck disable=SC2086 # a list of words
		exact "clang's profile $mode" program.c $mode -fprofile-instr-use="$tmp/profdata"
		read -r warm cold none < <(sed -nE 's/.* without cold paths: ([0-9]+) counts, ([0-9]+) cold, ([0-9]+) not counted/\1 \2 \3/p' said)
		[[ $mode != *practical ]] && continue
		[ $((warm * 20)) -gt $(((warm + cold + none) * 19)) ] && ok "nineteen in twenty are warm by clang's profile" ||
			not_ok "clang's profile $mode" "$warm warm, $cold cold, $none not counted"
	done
	"$cc" -O2 --pathprof-practical -fprofile-instr-use="$tmp/profdata" "$here/../workloads/counting.c" -pthread -o other 2>said
	grep -q "clang's profile does not know [0-9]* functions" said && ok "functions that clang's profile does not know are told" ||
		not_ok "functions that clang's profile does not know" "$(head -n 1 said)"
fi

# Every reader of the counts reports the cold executions.
cold=$(awk -F '\t' '$3 == "cold" { n += $4 } END { print n + 0 }' counted.tsv)
"$lab" counts counts/*.ppraw >said
grep -q "^$cold more ran that are cold" said && ok "counts tells $cold cold ones" || not_ok "counts tells cold ones" "$(head -n 2 said)"
rm -f cold.db
"$build/bin/pathprofctl" import -F counts -o cold.db counts/*.ppraw >said 2>&1
grep -qE "^paths: cold, not told apart +$cold$" said && ok "import tells them" || not_ok "import tells cold ones" "$(head -n 4 said)"

# A planted fault: a cold path more, and a warm one that is another.
awk -F '\t' -v OFS='\t' '$3 == "cold" && !done { $4++; done = 1 } { print }' counted.tsv >more.tsv
awk -F '\t' -v OFS='\t' '$3 != "cold" && !done { $3++; done = 1 } { print }' counted.tsv >shifted.tsv
for planted in more shifted; do
	if python3 "$here/counting_oracle.py" oracle log $planted.tsv >said 2>&1; then
		not_ok "planted fault ($planted)" "it is not found"
	else
		ok "planted fault ($planted)"
	fi
done

# Two branches that always go the same way: of both() nothing is definite, of main() all, which has a third of the
# branches.
cat >alike.c <<'END'
static volatile int a, b;
__attribute__((noinline)) static void both(int x)
{
	if (x & 1)
		a++;
	else
		a--;
	if (x & 1)
		b++;
	else
		b--;
}
int main(void)
{
	for (int i = 0; i < 1000; i++)
		both(i);
	return 0;
}
END
rm -rf counts && mkdir counts
"$cc" -O2 alike.c -o alike && PATHPROF_DIR=counts ./alike && "$lab" counts --all counts/*.ppraw >alike.tsv
python3 -B "$here/counting_edges.py" alike alike.tsv >said 2>&1
grep -q '^branch flow: .*definite accuracy 33.3 %, coverage 33.3 %$' said && ok "edges alone do not tell that branches go alike" ||
	not_ok "edges alone" "$(tail -n 1 said)"

for technique in practical targeted; do
	refused "$technique without a profile" "need a profile" "$cc" --pathprof-$technique -c program.c -o program.o
done

# A function that has changed is counted as without the file.
cat >changed.c <<'END'
int f(int x)
{
	int n = 0;
	while (x-- > 0)
		n += x & 1 ? 2 : 3;
	return n;
}
int main(void) { return f(9) == 0; }
END
rm -rf first counts && mkdir first counts
"$cc" -O2 changed.c -o old && PATHPROF_DIR=first ./old
interesting file 256 first/*.ppraw
sed -i 's/return n;/if (n > 99) __builtin_printf("more"); return n;/' changed.c
"$cc" -O2 --pathprof-practical --pathprof-interesting=file changed.c -o new 2>said
PATHPROF_DIR=counts ./new
"$lab" counts --all counts/*.ppraw >counted.tsv
if grep -q '1 functions have changed since file' said && awk -F '\t' '$2 == "f" && $3 != "cold" { n += $4 } END { exit n != 10 }' counted.tsv; then
	ok "a function that has changed is counted whole"
else
	not_ok "a function that has changed is counted whole" "$(cat said counted.tsv | head -n 3 | paste -sd ';')"
fi
exit $failed
