#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Programs whose interesting paths have small tables count every path as they did without: those in the
# tables and those beside them, early, late, cut at calls, whatever the process does. And files of
# interesting paths that are damaged, of something else, or older than the source.
name=counting_interesting
. "$(dirname "$0")/counting_common.bash"
[ "${PATHPROF_ROUNDS:-short}" = full ] && programs=12 || programs=1
modes=("-O2" "-O2 --pathprof-late" "-O1 --pathprof-cut=calls" "-Os -fPIC" "-O1 -static")

# train MODE: `file` has the interesting paths of program.c, three of each function.
train() {
	rm -rf first && mkdir first
	# shellcheck disable=SC2086 # a list of words
	"$cc" -w -fwrapv $1 program.c -o plain && PATHPROF_DIR=first timeout 100 ./plain >out
	interesting file 3 first/*.ppraw
}

# Three paths of each function are interesting, so that the others are counted beside the tables.
in_slots=0 beside=0
for seed in $(seq 1 $programs); do
	python3 "$here/counting_generate.py" "$seed" 10 >program.c
	for mode in "${modes[@]}"; do
		[ $programs -gt 1 ] || [[ $mode == -O2* ]] || continue
		train "$mode"
		# shellcheck disable=SC2086 # a list of words
		exact "program $seed $mode" program.c $mode --pathprof-interesting=file
		read -r in beside_now < <(sed -nE 's/.* ([0-9]+) counts there, ([0-9]+) beside them,.*/\1 \2/p' said)
		in_slots=$((in_slots + ${in:-0})) beside=$((beside + ${beside_now:-0}))
		"$lab" counts --all first/*.ppraw | sort >first.tsv
		sort counted.tsv | cmp -s - first.tsv || not_ok "program $seed $mode" "other counts than without tables"
	done
done
if [ $in_slots -gt 100 ] && [ $beside -gt 100 ]; then
	ok "$in_slots counts in tables, $beside beside them"
else
	not_ok "tables are tried" "$in_slots counts in tables, $beside beside them"
fi

# A wrong file never causes a path to be counted as another one.
train -O2
awk -F '\t' -v OFS='\t' 'NR > 1 { $4 = $4 * 7 % 5000 + NR } { print }' file >elsewhere
exact "paths that do not run are interesting" program.c -O2 --pathprof-interesting=elsewhere

# A planted fault: two slots of a table stand for one another's paths.
exact "before a fault is planted" program.c -O2 --pathprof-interesting=file
python3 - <<'END' || not_ok "planted fault" "it is not planted"
import re, struct, subprocess
listing = subprocess.run(["readelf", "-SW", "counted"], check=True, capture_output=True, text=True).stdout
start, length = [int(x, 16) for x in re.search(r" \.pathprof +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+)", listing).groups()]
data = bytearray(open("counted", "rb").read())
counts = [line.rstrip("\n").split("\t") for line in open("counted.tsv")]
for name, path in sorted((c[1], int(c[2])) for c in counts):
    # The first slots of the function: a path's number and 1, behind how they are counted.
    for m in re.finditer(re.escape(name.encode()), data[start:start + length]):
        at = start + m.end() + 4 + 8 + 8
        if len(data) > at + 24 and struct.unpack_from("<I", data, at)[0] == 2:
            cnt, first, second = struct.unpack_from("<IQQ", data, at + 4)
            if cnt > 1 and first and second:
                struct.pack_into("<QQ", data, at + 8, second, first)
                open("faulty", "wb").write(data)
                raise SystemExit(0)
raise SystemExit(1)
END
if "$lab" counts --binary faulty --all counts/*.ppraw >faulty.tsv 2>said &&
	! python3 "$here/counting_oracle.py" oracle log faulty.tsv >said 2>&1; then
	ok "planted fault: $(head -n 1 said)"
else
	not_ok "planted fault" "it is not found: $(head -n 1 said)"
fi

# ---------------------------------------------------------------- whatever the process does
"$cc" -O2 -pthread "$here/../workloads/counting.c" -o counting || not_ok build "counting.c is not compiled"
program=(./counting)
run threads 2 400
interesting file 100 counts/*.ppraw
"$cc" -O2 -pthread --pathprof-interesting="$tmp/file" "$here/../workloads/counting.c" -o counting
books "64 threads, twice" 0 1 $((2 * 64 * 1000)) threads 64 1000
books "fork" 0 2 111 fork
books "vfork" 0 1 100 vfork
books "exec" 0 2 200 exec
books "signals" 0 1 0 signals 20000
killed 6
run threads 2 100
cp counts/*.ppraw damaged.ppraw
cp counting damaged-program
read -r from bytes < <(readelf -SW counting | sed -nE 's/.* \.pathprof +PROGBITS +[0-9a-f]+ ([0-9a-f]+) ([0-9a-f]+).*/0x\1 0x\2/p')
if python3 "$here/counting_damage.py" 30 $((from)) $((bytes)) damaged-program "$lab" counts --binary damaged-program --all damaged.ppraw >said 2>&1; then
	ok "damaged descriptions: $(tail -n 1 said)"
else
	not_ok "damaged descriptions" "$(head -n 1 said)"
fi

# ---------------------------------------------------------------- files
compile_with() { "$cc" -w -O2 --pathprof-interesting="$1" -c program.c -o program.o; }
refused "a file that is not there" "gone: cannot be opened" compile_with gone
refused "no file" "a file of interesting paths is missing" compile_with ""
refused "something else" "not a file of interesting paths" compile_with program.c
{ cat file; printf 'many\t\t12\tx\t1\n'; } >damaged
refused "a damaged line" "damaged:$(wc -l <damaged): not a path" compile_with damaged
: >empty
refused "an empty file" "empty: empty" compile_with empty
cat file "$tmp/file" >twice
compile_with twice 2>said && ok "two files in one" || not_ok "two files in one" "$(head -n 1 said)"
"$build/bin/pathprofctl" interesting --db interesting.db --hot 0 >out 2>said && not_ok "--hot 0" "it is taken" || ok "--hot 0 is refused"
sqlite3 interesting.db "DELETE FROM path_counts" && refused "nothing counted" "counted by a program itself" \
	"$build/bin/pathprofctl" interesting --db interesting.db -o none

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
rm -rf first && mkdir first
"$cc" -O2 changed.c -o old && PATHPROF_DIR=first ./old
interesting file 256 first/*.ppraw
sed -i 's/return n;/if (n > 9) __builtin_printf("more"); return n;/' changed.c
if "$cc" -O2 --pathprof-interesting=file changed.c -o new 2>said && grep -q 'changed.c: 1 functions have changed since file' said; then
	ok "a function that has changed is told"
else
	not_ok "a function that has changed is told" "$(head -n 1 said)"
fi

# The optimiser is told how often each way out of a block ran.
cat >weighed.c <<'END'
volatile unsigned int seldom, often;
__attribute__((noinline)) void weigh(unsigned int x)
{
	if (x % 50 == 7)
		seldom++;
	else
		often += x;
}
int main(void)
{
	for (unsigned int i = 0; i < 1000; i++)
		weigh(i);
	return 0;
}
END
rm -rf first && mkdir first
"$cc" -O2 weighed.c -o old && PATHPROF_DIR=first ./old
interesting file 256 first/*.ppraw
weights() { "$cc" -O2 "$@" -mllvm -print-module-scope -mllvm -print-after=codegenprepare -c weighed.c -o weighed.o 2>&1 | grep -oE 'branch_weights", i32 [0-9]+, i32 [0-9]+' | sort -u | paste -sd ';'; }
told=$(weights --pathprof-interesting=file)
if grep -qE 'i32 (980, i32 20|20, i32 980)(;|$)' <<<"$told" && grep -qE 'i32 (1, i32 999|999, i32 1)(;|$)' <<<"$told" && [ -z "$(weights)" ]; then
	ok "the optimiser knows what is hot"
else
	not_ok "the optimiser knows what is hot" "with the file: $told, without: $(weights)"
fi

# Two builds of one program: that both are in the file is said, and each can be had alone.
rm -rf first second && mkdir first second builds.1 builds.2
"$cc" -O2 changed.c -o builds.1/prog && PATHPROF_DIR=first builds.1/prog >out
"$cc" -O1 changed.c -o builds.2/prog && PATHPROF_DIR=second builds.2/prog >out
"$build/bin/pathprofctl" import -F counts --no-report -o builds.db first/*.ppraw 2>said &&
	"$build/bin/pathprofctl" import -F counts --no-report -o builds.db second/*.ppraw 2>said
if "$build/bin/pathprofctl" interesting --db builds.db -o both 2>said && grep -q 'builds.1/prog.*two builds.*--binary\|builds.2/prog.*two builds.*--binary' said &&
	"$build/bin/pathprofctl" interesting --db builds.db --binary "$(realpath builds.1/prog)" -o one 2>said && ! grep -q 'two builds' said &&
	[ "$(wc -l <one)" -lt "$(wc -l <both)" ]; then
	ok "two builds are told"
else
	not_ok "two builds are told" "$(head -n 1 said)"
fi
cp builds.2/prog builds.1/prog
refused "a build that was replaced" "another build than the one that counted" \
	"$build/bin/pathprofctl" interesting --db builds.db -o none
there=$(sed -nE 's/.*--binary ([0-9a-f]{16}).*/\1/p' said)
"$build/bin/pathprofctl" interesting --db builds.db --binary "${there:-none}" -o one 2>said && ok "the build that is there, by --binary" ||
	not_ok "the build that is there, by --binary" "$(head -n 1 said)"
exit $failed
