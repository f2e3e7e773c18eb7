#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# pathprofctl export as a user meets it: every format, from a database and from a recording; the
# same counts by whatever way they come; and what goes wrong in one line that says what to do, with
# nothing left behind. What the formats' own tools make of them: export_tools.sh, import_peers.sh.
set -u
name=ctl_export
. "$(dirname "$0")/trace_common.bash"
. "$(dirname "$0")/help_common.bash"
ctl=$build/bin/pathprofctl
cut=$build/tests/tools/trace_recording
writer=$build/tests/tools/perf_data_write
trace_needs "$tracer" "$ctl" "$cut" "$writer" "$build/bin/pathprofd"
trace_needs_qemu
command -v gcc >/dev/null && command -v python3 >/dev/null || {
	echo "skip $name: no gcc or no python3"
	exit 0
}
cd "$work" || exit 1
export XDG_STATE_HOME=$work/state LC_ALL=C TZ=UTC
unset PATHPROF_DB DEBUGINFOD_URLS

source=$tests_dir/workloads/export_mix.c
mkdir other && gcc -O2 -g -o program "$source" && gcc -O1 -g -o other/program "$source" &&
	"$tracer" -o trace -- ./program 300 >/dev/null 2>err && "$cut" trace 2000 32 script expected &&
	"$writer" recorded <script && "$ctl" import -o db recorded >table 2>err || {
	not_ok "$name" "no recording: $(tail -n 1 err)"
	exit 1
}
id_of() { readelf -n "$1" | sed -n 's/.*Build ID: //p'; }

# ---------------------------------------------------------------- every format
declare -A form=(
	[bolt-preagg]='^E.build-id=[0-9a-f]+;binary= ^T(.[0-9a-f]+){4}$ ^B.[X:0-9a-f]+.[X:0-9a-f]+.[0-9]+.[0-9]+$'
	[bolt-fdata]='^1.main.[0-9a-f]+.1.main.[0-9a-f]+.[0-9]+.[0-9]+$'
	[profgen-raw]='^[0-9a-f]+-[0-9a-f]+:[0-9]+$ ^[0-9a-f]+->[0-9a-f]+:[0-9]+$'
	[autofdo-text]='^[0-9a-f]+-[0-9a-f]+:[0-9]+$ ^[0-9a-f]+:[0-9]+$ ^[0-9a-f]+->[0-9a-f]+:[0-9]+$'
	[llvm-sample]='^main:[0-9]+:[0-9]+$ ^.[0-9.]+:.[0-9]+'
	[folded]='^program@?[^;]*;main.*.[0-9]+$'
	[csv]='^branch, ^range,'
)
# has FORMAT FILE: lines of each of its forms, whose blanks are dots
has() {
	local pattern
	for pattern in ${form[$1]:-}; do
		grep -qE "$pattern" "$2" || {
			echo "no line like $pattern"
			return 1
		}
	done
	[ -s "$2" ] || echo "nothing written"
	[ -s "$2" ]
}
exported() { # FORMAT OPTIONS...: the same by -o and on standard output, and what is said
	local format=$1
	shift
	rm -f out*
	"$ctl" export -F "$format" -o out "$@" 2>said || {
		cat said
		return 1
	}
	grep -vE '^pathprofctl: (counts are |[0-9]+ branch(es)? read, [0-9]+ used |.*: of [0-9]+ branches |density [0-9.]+)' said >verdict
	case $format in
	folded | pprof | csv) [ ! -s verdict ] || { echo "said: $(cat verdict)"; return 1; } ;;
	*) [ "$(wc -l <verdict)" -eq 1 ] && grep -qE 'enough samples: [0-9]+ of its|few samples: .* times as much' verdict ||
		{ echo "no verdict: $(cat said)"; return 1; } ;;
	esac
	[ "$1" = --db ] || grep -q ' branches read, ' said || { echo "no ledger: $(cat said)"; return 1; }
	[ "$1" != --db ] || grep -qE "^pathprofctl: counts are RUNS( times instructions)?: [0-9]+ bursts of " said ||
		{ echo "not said what is written: $(cat said)"; return 1; }
	[ "$(echo out*)" = out ] || { echo "left behind: $(echo out*)"; return 1; }
	"$ctl" export -F "$format" "$@" 2>said | cmp -s - out || { echo "not the same on stdout"; return 1; }
	has "$format" out
}
for format in $(sampled_formats); do
	for from in "--db db --binary program" "--recording recorded --file ./program"; do
		# shellcheck disable=SC2086
		if why=$(exported "$format" $from); then
			ok "$name: $format ${from%% *}"
		else
			not_ok "$name: $format ${from%% *}" "$why"
		fi
	done
done

# The origin. The host of imported counts is unknown, and must not be given as this one.
origin=$("$ctl" export -F bolt-preagg --db db --binary program 2>/dev/null | head -n 1)
case $origin in
*host=*) not_ok "$name: origin" "claims a host: $origin" ;;
"E build-id=$(id_of program);binary="*";source=import;"*";samples="*";weight="*)
	ok "$name: origin: build-id, source, time, samples, weight" ;;
*) not_ok "$name: origin" "$origin" ;;
esac

# A reader that has seen enough.
for to in "-F csv --binary program" "-F csv --binary program -o -" "-F folded" "-F pprof"; do
	rm -f status
	# shellcheck disable=SC2086
	{ sleep 0.3; "$ctl" export --db db $to 2>said; echo $? >status; } |
		{ exec 0<&-; until [ -s status ]; do sleep 0.05; done; }
	if [ "$(cat status)" = 0 ] && ! grep -qiE 'broken|cannot|standard output' said; then
		ok "$name: a reader that goes away ($to)"
	else
		not_ok "$name: a reader that goes away ($to)" "status $(cat status): $(tail -n 1 said)"
	fi
done

# ---------------------------------------------------------------- options
from=(--recording recorded --file ./program)
"$ctl" export "${from[@]}" -F csv --json 2>/dev/null | python3 -c '
import json, sys
table = json.load(sys.stdin)
ledger = table["profile"]["ledger"]
assert ledger["used"] + sum(ledger["left_out"].values()) == ledger["branches"] > 1000, ledger
assert table["profile"]["taken"] == ledger["used"] and ledger["loss_percent"] == 0
assert table["profile"]["samples"] > 100 and any(c["kind"] == "range" for c in table["counts"])' &&
	ok "$name: csv --json" || not_ok "$name: csv --json" "see above"
"$ctl" export "${from[@]}" -F bolt-preagg --old-readers -o out 2>said && ! grep -qvE '^[BFf] ' out &&
	ok "$name: --old-readers" || not_ok "$name: --old-readers" "$(grep -vE '^[BFf] ' out | head -n 2)"

# ---------------------------------------------------------------- the same counts by every way
"$ctl" export "${from[@]}" -F bolt-fdata 2>/dev/null | sort >want
# same WHAT RECORDING FORMAT
same() {
	"$ctl" export --recording "$2" --recording-format "$3" --file ./program -F bolt-fdata 2>said <recorded |
		sort >got
	cmp -s want got && [ "$(wc -l <got)" -gt 30 ] && ok "$name: $1" ||
		not_ok "$name: $1" "$(cat said) $(diff want got | head -n 3 | tr '\n' ' ')"
}
same "through a pipe" - perf.data
"$ctl" export "${from[@]}" -F bolt-preagg -o again 2>/dev/null
same "bolt-preagg read again" again bolt-preagg

# A call that left for a library and came back in a window that knows nothing of the call: that the
# range lies behind it is told by the range alone.
base=$(awk '/^mmap2 .*\/program$/ { print $4; exit }' script)
read -r behind target < <(objdump -d --no-show-raw-insn program | awk '
	/call .*__cxa_finalize/ { getline; sub(":", "", $1); print $1, $3; exit }')
outside=$(awk '/^mmap2 .*libc/ { print $4; exit }' script)
at() { printf '0x%x' $((base + 0x$1)); }
{
	sed '/^sample/,$d' script
	echo "sample 0 4711 2000000 $(at "$behind") $(at "$behind")>$(at "$target"):P $outside>$(at "$behind"):P"
} | "$writer" returned || not_ok "$name: a recording of one window" "not written"
"$ctl" export --recording returned --file ./program -F bolt-fdata 2>/dev/null | sort >returned.want
"$ctl" export --recording returned --file ./program -F bolt-preagg -o returned.preagg 2>/dev/null
"$ctl" export --recording returned.preagg --recording-format bolt-preagg --file ./program -F bolt-fdata \
	2>said | sort >returned.got
if cmp -s returned.want returned.got && [ "$(wc -l <returned.want)" -eq 3 ]; then
	ok "$name: behind a call, read again"
else
	not_ok "$name: behind a call, read again" \
		"$(cat said) $(diff returned.want returned.got | head -n 3 | tr '\n' ' ')"
fi
if command -v perf >/dev/null && perf script -i recorded --show-mmap-events --show-task-events \
	-F comm,pid,tid,time,event,ip,brstack >text 2>/dev/null; then
	same "perf's text" text perf-script
else
	echo "skip $name: perf's text: no perf that prints it (apt install linux-perf)"
fi
# The profile of a database is that of the recording that it was made of, but for where it says it is from.
for format in csv bolt-fdata bolt-preagg profgen-raw; do
	for way in "--db db --binary program" "${from[*]}"; do
		# shellcheck disable=SC2086
		"$ctl" export $way -F $format 2>/dev/null | grep -v '^#\|^E ' >"profile.${way:2:2}"
	done
	[ "$(wc -l <profile.db)" -gt 20 ] && cmp -s profile.db profile.re &&
		ok "$name: $(wc -l <profile.db) lines of $format by import and straight" ||
		not_ok "$name: $format by import" "$(diff profile.db profile.re | head -n 3)"
done
# Ranges do not say of which process they are: then they are worked out of its paths.
"$ctl" export --db db --binary program --pid 4711 -F profgen-raw >whose 2>/dev/null
[ "$(wc -l <whose)" -gt 20 ] &&
	ok "$name: ranges of one process" || not_ok "$name: ranges of one process" "none"

# vary HOW <script: the same samples, with mappings of the program that change in their middle.
cat >vary.py <<'END'
import sys
how, lines = sys.argv[1], sys.stdin.read().splitlines()
mapped = next(l.split() for l in lines if l.startswith("mmap2 ") and l.endswith("/program") and " 5 " in l)
samples = [i for i, l in enumerate(lines) if l.startswith("sample ")]
middle = samples[len(samples) // 2]
time = lines[middle].split()[3]
pid, start, size, offset = mapped[1], *(int(f, 0) for f in mapped[3:6])
def lay(start, size, offset, prot, of, name):
    return f"mmap2 {pid} {time} {start:#x} {size:#x} {offset:#x} {prot} {of} {name}"
around = start >> 21 << 21, (start + size + (1 << 21) - 1 >> 21 << 21) - (start >> 21 << 21)
laid = {
    "copy": [lay(*around, 0, prot, "inode", "//anon") for prot in (3, 5)],
    "memfd": [lay(start, size, 0, 5, "inode", "/memfd:text (deleted)")],
    "library": [lay(start, size, 0, 5, "inode", "/usr/lib/other.so")],
    "pieces": [lay(start + at, 0x1000, offset + at, prot, mapped[7], mapped[8])
               for at in range(0, size, 0x2000) for prot in (7, 5)],
}.get(how, [])
for i, line in enumerate(lines):
    words = line.split()
    if how == "late" and words[:1] == ["mmap2"]:
        words[2] = time
    if how == "deleted" and words == mapped:
        words[7:] = ["inode", words[8] + " (deleted)"]
    print(" ".join(words))
    if i == middle:
        print("\n".join(laid))
END
# alike HOW STATUS: export of an import, and straight, have the same counts, status and words.
alike() {
	local status straight words
	python3 vary.py "$1" <script >"script.$1" && "$writer" "$1" <"script.$1" || {
		not_ok "$name: $1" "not written"
		return
	}
	"$ctl" export --recording "$1" --file ./program -F csv >all 2>said
	straight=$?
	rm -f db.varied*
	"$ctl" import --binary ./program -o db.varied "$1" >table 2>err
	status=$?
	"$ctl" export --db db.varied --binary program -F csv 2>/dev/null | grep -v '^#' >counts.db
	grep -v '^#' all >counts.re
	words=$(grep -o '[0-9]* unmapped ([0-9.]* %)' said)
	if [ "$straight$status" = "$2$2" ] && [ "$(wc -l <counts.db)" -gt 20 ] && cmp -s counts.db counts.re &&
		[ "$words" = "$(grep -o '[0-9]* unmapped ([0-9.]* %)' err)" ] && { [ "$2" = 0 ] || [ "$words" ]; }; then
		ok "$name: $1: $(wc -l <counts.db) counts by import and straight${words:+, $words}"
	else
		not_ok "$name: $1" "$straight $status $(diff counts.db counts.re | head -n 3) $(cat said err)"
	fi
}
for how in copy memfd library pieces deleted; do
	alike $how 0
done
cmp -s counts.re <("$ctl" export "${from[@]}" -F csv 2>/dev/null | grep -v '^#') &&
	ok "$name: a program that was replaced counts whole" || not_ok "$name: a program that was replaced" "counts differ"
alike late 3
grep -q 'more than --max-loss' said && ! grep -q 'few samples\|record more' said &&
	"$ctl" export --recording late --file ./program -F csv --max-loss 100% >/dev/null 2>said &&
	"$ctl" import --max-loss 100% -o db.late late >table 2>err &&
	ok "$name: what was lost is told, and no sample asked for" ||
	not_ok "$name: what was lost" "$(cat said err)"

# ---------------------------------------------------------------- what goes wrong
# fails STATUS PATTERN ARGS...: one line, and -o's file is as it was
fails() {
	local want=$1 pattern=$2 status=0
	shift 2
	echo before >kept
	"$ctl" export "$@" >got 2>said </dev/null || status=$?
	if [ "$status" -eq "$want" ] && [ "$(wc -l <said)" -eq 1 ] && grep -q "^pathprofctl: .*$pattern" said &&
		[ "$(cat kept)" = before ] && [ ! -s got ] && [ -z "$(find . -maxdepth 1 -name ".pathprof-*")" ]; then
		ok "$name: $(cut -c 14- said)"
	else
		not_ok "$name: export $*" "status $status: $(cat said)"
	fi
}
to=(-F bolt-fdata -o kept)
fails 1 "other/program.*$(id_of other/program).*$(id_of program)" "${to[@]}" --recording recorded --file other/program
fails 1 "$(id_of other/program).*$(id_of program)" "${to[@]}" --db db --binary program --file other/program
fails 1 "nothere: .*No such file" "${to[@]}" --recording recorded --file nothere
fails 1 "nothere: No such file" "${to[@]}" --recording nothere --file program
fails 1 "script: " "${to[@]}" --recording recorded --file script
fails 1 "script: " "${to[@]}" --recording script --file program
fails 1 "no mapping of .*gcc.*show-mmap-events" "${to[@]}" --recording recorded --file "$(command -v gcc)"
fails 1 "nothing of the selected binary was seen" "${to[@]}" --db db --binary nosuch
fails 1 "nothere" "${to[@]}" --db nothere
sed '/^sample/d' script | "$writer" empty
fails 1 "no samples" "${to[@]}" --recording empty --file program
sed -n '/^sample/!p; s/^\(sample 0 4711 [0-9]* 0x[0-9a-f]*\).*/\1/p' script | "$writer" stackless
fails 3 "no branch stacks: .*perf record -b" "${to[@]}" --recording stackless --file program
head -c 3000 recorded >short
"$ctl" export "${to[@]}" --recording short --file program 2>said
if [ $? -eq 1 ] && grep -q 'its writer was killed' said &&
	tail -n 1 said | grep -q 'none of its .* samples\|no samples'; then
	ok "$name: a recording cut off before its first branches says so"
else
	not_ok "$name: a recording cut off early" "$(cat said)"
fi
cp program nameless && strip -s nameless
fails 1 "has a symbol.*perf2bolt --allow-stripped" "${to[@]}" --recording recorded --file nameless
# A library that was stripped has names for some of its code alone.
if strip -s -K main -o partly program &&
	"$ctl" export -F bolt-fdata -o out --max-loss 100 --recording recorded --file partly 2>said &&
	grep -q 'partly: of [0-9]* branches [1-9][0-9]* outside any symbol ([0-9.]* %) are left out' said &&
	grep -q ' branches read, .*left out:.* [1-9][0-9]* outside any symbol ([0-9.]* %)' said; then
	ok "$name: branches outside any symbol are counted"
else
	not_ok "$name: branches outside any symbol" "$(cat said)"
fi
# A program with dynamic symbols alone has names that BOLT does not look for.
if gcc -O2 -g -rdynamic -o dynamic "$source" && strip -s -o bare dynamic &&
	"$tracer" -o trace.bare -- ./bare 300 >/dev/null 2>err && "$cut" trace.bare 2000 32 script.bare expected.bare &&
	"$writer" recorded.bare <script.bare && "$ctl" export -F bolt-fdata -o out --max-loss 100 --recording recorded.bare --file bare 2>said &&
	grep -q '^1 main ' out && grep -q 'bare has no symbol table.*before it was stripped.*perf2bolt --allow-stripped' said &&
	"$ctl" export -F bolt-fdata -o out --recording recorded.bare --file dynamic 2>said && ! grep -q 'no symbol table' said; then
	ok "$name: fdata of dynamic symbols is said to be for the build with all symbols"
else
	not_ok "$name: fdata of dynamic symbols" "$(cat err said)"
fi
fails 1 "nowhere/out" -F bolt-fdata -o nowhere/out --recording recorded --file program
fails 2 "recording needs --file" "${to[@]}" --recording recorded
fails 2 "read whole" "${to[@]}" --recording recorded --file program --binary program
fails 2 "read whole" "${to[@]}" --recording recorded --file program --kind taken
fails 2 "read whole" "${to[@]}" --recording recorded --file program --owner 0
fails 2 "owner goes with --binary" -F folded -o kept --db db --owner 0
fails 2 "goes with --recording" "${to[@]}" --db db --recording-format perf.data
fails 2 "not a valid FORMAT" "${to[@]}" --recording recorded --file program --recording-format pprof
fails 2 "not a valid FORMAT: .*llvm-sample" -F perf.data --recording recorded --file program
fails 2 "json goes with" "${to[@]}" --json --recording recorded --file program
fails 2 "format is needed" --recording recorded --file program
if "$ctl" export "${from[@]}" -F csv >/dev/full 2>said || ! grep -q 'cannot be written' said; then
	not_ok "$name: a full disk" "$(cat said)"
else
	ok "$name: a full disk"
fi

# ---------------------------------------------------------------- what is worth knowing
head -c $(($(stat -c %s recorded) * 2 / 3)) recorded >short
"$ctl" export --recording short --file program -F bolt-fdata -o out 2>said
grep -q 'its writer was killed' said && [ -s out ] && ok "$name: a truncated recording is read as far as it goes" ||
	not_ok "$name: a truncated recording" "$(cat said)"
until_is_read() { for _ in $(seq 1200); do ! grep -qs ' MB read' said || break; sleep 0.1; done; }
for input in - /dev/fd/0; do
	rm -f said
	{ head -c 100000 recorded; until_is_read; tail -c +100001 recorded; } |
		PATHPROF_PROGRESS_SECONDS=1 "$ctl" export --recording $input --file program -F bolt-fdata 2>said |
			sort | cmp -s - want &&
		grep -q " s: $input: [0-9]* MB read" said && ok "$name: $input: what takes long says how far it is" ||
		not_ok "$name: $input: how far it is" "$(cat said)"
done
sed 's/ 5 [0-9a-f]* \(\/.*program\)$/ 5 inode \1/' script | "$writer" unnamed
"$ctl" export --recording unnamed --file program -F bolt-fdata 2>said | sort | cmp -s - want &&
	grep -q 'found by its name' said && ln -s program link &&
	"$ctl" export --recording unnamed --file link -F bolt-fdata 2>said | sort | cmp -s - want &&
	ok "$name: by its name, which is said" ||
	not_ok "$name: by its name" "$(cat said)"
exit $failed
