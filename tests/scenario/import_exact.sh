#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Branch stacks cut out of an exact trace, written as a perf.data, imported: every edge and path is
# there as often, and with the weight, as counting them window by window gives. A spoilt count is
# found. Segments of stacks are those of the run. Files that are not there leave edges, and are named. Stacks of some kinds of branches leave
# edges only. Counts by symbol and offset (BOLT's fdata) land where the trace has them.
set -u
. "$(dirname "$0")/trace_common.bash"
. "$(dirname "$0")/both_ways.bash"
ctl=$build/bin/pathprofctl
cut=$build/tests/tools/trace_recording
writer=$build/tests/tools/perf_data_write
trace_needs "$ctl" "$build/bin/pathprofd" "$tracer" "$cut" "$writer"
trace_needs_qemu
command -v sqlite3 >/dev/null || {
	echo "skip ${0##*/}: no sqlite3 (apt install sqlite3)"
	exit 0
}
cd "$work" || exit 1
export HOME=$work # nothing of the user's ~/.debug

# stored DB: what trace_recording's EXPECTED has, of a database.
stored() {
	sqlite3 "$1" "
		select 'edge ' || lower(hex(a.build_id)) || printf(' 0x%x ', from_offset) ||
			lower(hex(b.build_id)) || printf(' 0x%x %d %d', to_offset, sum(count), sum(mispredicted))
		from edges e join edge_counts c on c.edge = e.id join binaries a on a.id = from_binary
			join binaries b on b.id = to_binary group by e.id;
		select 'path ' || lower(hex(build_id)) || printf(' 0x%x %d 0x%x %d %.3f', start, length,
			outcomes, sum(samples), sum(weight))
		from paths p join path_counts c on c.path = p.id join binaries b on b.id = p.binary
		group by p.id;" | sort
}

count() { # FIELD FILE: of a table in JSON
	sed -n "s/^  \"$1\": \([0-9]*\),*$/\1/p" "$2"
}

# same NAME DEPTH STACKS COMMAND...
same() {
	local name=$1 depth=$2 stacks=$3
	shift 3
	"$tracer" -o trace -- "$@" >/dev/null 2>trace.err || {
		not_ok "$name" "not traced: $(cat trace.err)"
		return
	}
	"$cut" trace "$stacks" "$depth" script expected && "$writer" recorded <script || {
		not_ok "$name" "no recording of it"
		return
	}
	rm -f db*
	if ! "$ctl" import --json --window 2s -o db recorded >table 2>err; then
		not_ok "$name: import" "$(cat err)"
		return
	fi
	sort expected >want
	stored db >got
	if cmp -s want got && [ "$(wc -l <got)" -gt 1000 ]; then
		ok "$name, stacks of $depth: $(wc -l <got) edges and paths of $(count samples table) stacks in $(count windows table) windows"
	else
		not_ok "$name, stacks of $depth" "$(diff want got | head -n 4 | tr '\n' ' ')"
	fi
	[ "$(count windows table)" -gt 2 ] || not_ok "$name: windows" "$(count windows table)"
	[ -s err ] && not_ok "$name: silent" "$(cat err)"
	# shellcheck disable=SC2046
	both_ways "$name" perf.data recorded $(sed -n 's/^mmap2.* 5 [^ ]* \(\/.*\)$/\1/p' script | sort -u)
}

printf 'hello world %s\n' {1..3000} >text
same gzip 32 8000 gzip -c text
# A stack shows which piece followed which: none of it is unknown to the run's own exact set.
name='segments of stacks'
if "$tracer" --paths exact.paths -- gzip -c text >/dev/null 2>err &&
	"$ctl" --db db untested exact.paths --unit segment --min-bursts 1 --json >table 2>err && python3 -c '
import json, sys
o = json.load(open("table"))
assert o["untested"] == o["windows_without_segments"] == o["segments_lost"] == 0 and o["seen"] > 150, o
print("%d of %d were seen, 0 untested" % (o["seen"], o["tested"]))' >said 2>>err; then
	ok "$name: $(cat said)"
else
	not_ok "$name" "$(tail -n 2 err)"
fi
same perl 16 6000 perl -e 'my %h; $h{$_ % 77} .= $_ for 1..900; print join ",", sort keys %h'

# The check has teeth: one count more in one place.
sqlite3 db "update edge_counts set count = count + 1 where edge = (select min(edge) from edge_counts)"
stored db >got
cmp -s want got && not_ok "a spoilt count" "was not found" || ok "a spoilt count is found"

# The same from standard input.
rm -f db*
"$ctl" import -j -o db - <recorded >table.pipe 2>err && stored db >got &&
	cmp -s want got && ok "through a pipe" || not_ok "through a pipe" "$(head -n 2 err)"

# perf tells when the last sample was, and the file is as old as its end: no window lies after it.
last=$(awk '$1 == "sample" && $4 > last { last = $4 } END { print last }' script)
times=$(python3 -c 'import struct, sys; print(struct.pack("<QQ", 0, int(sys.argv[1])).hex())' "$last")
sed "s/^begin\$/feature raw 21 $times\nbegin/" script | "$writer" timed
touch -d @1700000000 timed
rm -f db*
"$ctl" import -j -o db timed >table 2>err
ends=$(sqlite3 db "SELECT max(end_ns) FROM windows")
[ "$ends" = 1700000000000000000 ] && ok "the file is as old as its last sample" ||
	not_ok "the file is as old as its last sample" "its last window ends at $ends"

# Threads of perf wrote it, a file each.
rm -rf db* parts
mkdir parts
sed -e 's/^begin$/feature directory 1\nbegin/' -e '0,/^sample/s/^sample/part\n&/' \
	-e '0,/^round/s/^round/&\npart/' script | "$writer" parts/data
both_ways "a directory of files" perf.data parts "$(command -v perl)"
"$ctl" import -j -o db parts >table 2>err && stored db >got && [ -e parts/data.1 ] &&
	cmp -s want got && ok "a directory of files" || not_ok "a directory of files" "$(head -n 2 err)"

# The same recording as perf prints it.
if command -v perf >/dev/null &&
	perf script -i recorded --show-mmap-events -F comm,pid,tid,time,event,ip,brstack >printed 2>/dev/null; then
	rm -f db*
	"$ctl" import -j -F perf-script -o db printed >table 2>err
	stored db >got
	both_ways "as perf script's text" perf-script printed "$(command -v perl)"
	cmp -s want got && ok "as perf script's text" || not_ok "as perf script's text" "$(head -n 3 err)"
else
	echo "skip ${0##*/}: text of perf script: no perf that prints it (apt install linux-perf)"
fi

# Stacks of some kinds of branches only, or call stacks: all edges, and nothing of the code between.
for kind in 0x11 0x809; do
	sed "s/branch=0x9/branch=$kind/" script | "$writer" some
	rm -f db*
	"$ctl" import -j -o db some >table 2>err
	stored db >got
	both_ways "filtered stacks (branch=$kind)" perf.data some "$(command -v perl)"
	grep '^edge' want | cmp -s - got && [ "$(count branches table)" -gt 1000 ] &&
		[ "$(count branches_filtered table)" = "$(count branches table)" ] &&
		ok "filtered stacks (branch=$kind) are edges only" ||
		not_ok "filtered stacks (branch=$kind)" "$(tr '\n' ' ' <table) $(cat err)"
done

# A library that is not there: its edges are, no path of it is, and it is said which.
sed -e 's|/libc\.so\.6$|/libc-gone.so.6|' -e 's|\(mmap2.* 5 \)[0-9a-f]*\( .*libc-gone\)|\1'"$(printf '%040d' 7)"'\2|' \
	script >script.gone
"$writer" gone <script.gone
rm -f db*
"$ctl" import -j -o db gone >table 2>err
edges=$(count edges table)
if [ "$edges" -eq "$(count branches table)" ] && [ "$(count branches_without_code table)" -gt 100 ] &&
	grep -q 'libc-gone.so.6 (build-id 0*7): not found' err &&
	[ "$(sqlite3 db "select count(*) from paths p join binaries b on b.id = p.binary where b.name like '%gone%'")" -eq 0 ] &&
	[ "$(sqlite3 db 'select count(*) from paths')" -gt 100 ]; then
	ok "a library that is not there: $(count branches_without_code table) of $edges branches without paths"
else
	not_ok "a library that is not there" "$(tr '\n' ' ' <table) $(cat err)"
fi

both_ways "a library that is not there" perf.data gone "$(command -v perl)"

# Found again by its build-id where the operator says.
mkdir -p root/odd
libc=$(sed -n 's/^mmap2.* \(\/.*libc\.so\.6\)$/\1/p' script | head -n 1)
sed 's|/[^ ]*/libc\.so\.6$|/odd/other-name.so|' script >script.moved
"$writer" moved <script.moved
cp "$libc" root/odd/other-name.so
for option in "--sysroot root" "--binary $libc"; do
	rm -f db*
	# shellcheck disable=SC2086
	"$ctl" import -j $option -o db moved >table 2>err
	stored db >got
	cmp -s want got && ok "${option%% *}" || not_ok "${option%% *}" "$(head -n 3 err)"
done
echo spoilt >>root/odd/other-name.so
dd if=/dev/zero of=root/odd/other-name.so bs=1 seek=$((0x300)) count=256 conv=notrunc 2>/dev/null
rm -f db*
"$ctl" import -j --sysroot root -o db moved >table 2>err
[ "$(count branches_without_code table)" -gt 100 ] && grep -q 'not found' err &&
	ok "a file of another build-id is not believed" ||
	not_ok "a file of another build-id is not believed" "$(cat err)"

# place OFFSET: what lies there, as fdata has it, in $placed_at. Not where no function lies.
place() {
	local i address=$(($1 + moved))
	for i in "${!starts[@]}"; do
		[ $address -ge "${starts[i]}" ] && [ $address -lt "${ends[i]}" ] || continue
		placed_at="${names[i]} $(printf '%x' $((address - starts[i])))"
		return 0
	done
	return 1
}

# fdata_of BINARY ID: the edges of `want` within functions of the binary as fdata; and as they are,
# in `placed`. Where symbols lie, nm says; what offsets in the file are, readelf.
fdata_of() {
	local from_id from to_id to cnt missed start len type symbol first moved
	local -a starts=() ends=() names=()
	moved=$(readelf -lW "$1" | sed -n 's/^  LOAD *\(0x[0-9a-f]*\) \(0x[0-9a-f]*\) .* R E .*/\2 - \1/p')
	while read -r start len type symbol; do
		starts+=($((16#$start))) ends+=($((16#$start + 16#$len)))
		[ "$type" = t ] && names+=("2 $symbol/${source##*/}/1") || names+=("1 $symbol")
	done < <(nm -S --defined-only "$1" | grep -i '^[0-9a-f]* [0-9a-f]* t ')
	: >placed
	while read -r from_id from to_id to cnt missed; do
		[ "$from_id$to_id" = "$2$2" ] && place "$from" && first=$placed_at && place "$to" || continue
		echo "$first $placed_at $missed $cnt"
		echo "edge $from_id $from $to_id $to $cnt $missed" >>placed
	done < <(sed -n 's/^edge //p' want)
}

source=$tests_dir/workloads/export_mix.c
for form in pie no-pie; do
	name="fdata onto a binary, $form"
	gcc -O1 -g "-$form" -o mix "$source" && "$tracer" -o trace -- ./mix 20 >/dev/null 2>trace.err &&
		"$cut" trace 3000 32 script.mix expected.mix || {
		not_ok "$name" "no trace: $(cat trace.err)"
		continue
	}
	id=$(readelf -n mix | sed -n 's/.*Build ID: //p')
	sort expected.mix >want
	fdata_of mix "$id" >mix.fdata
	rm -f db*
	"$ctl" import -j -F bolt-fdata --binary mix -o db mix.fdata >table 2>err
	stored db | grep '^edge' >got
	sort placed | cmp -s - got && [ "$(wc -l <got)" -gt 20 ] && grep -q '^2 sort/' mix.fdata &&
		ok "$name: $(wc -l <got) edges are where the trace has them" ||
		not_ok "$name" "$(sort placed | diff - got | head -n 3 | tr '\n' ' ') $(cat err)"
	strip mix
	rm -f db*
	"$ctl" import -j -F bolt-fdata --binary mix -o db mix.fdata >table 2>err
	[ "$(count edges table)" = 0 ] && [ "$(count counts_outside_the_code table)" -gt 20 ] &&
		ok "$name: nothing without symbols" ||
		not_ok "$name: nothing without symbols" "$(tr '\n' ' ' <table) $(cat err)"
done

# A writer that was killed.
head -c $(($(stat -c %s recorded) * 2 / 3)) recorded >short
both_ways "a truncated recording" perf.data short "$(command -v perl)"
rm -f db*
"$ctl" import -j -o db short >table 2>err
[ "$(count recording_truncated table)" = 1 ] && grep -q 'its writer was killed' err &&
	[ "$(count samples table)" -gt 1000 ] && ok "a truncated recording is read as far as it goes" ||
	not_ok "a truncated recording" "$(cat err)"

ways_end 9

# Errors in one line, and no database left behind.
rm -f db*
mkdir -p work
{ echo file; echo "event sample=ip+tid+time+branches"; echo "feature arch aarch64"; echo begin
  echo "sample 0 7 2000 0x400100 0x400200>0x400100:P"; } |
	"$writer" arm.data
for line in "nothere:nothere: No such file" "script:script: " "work:no recording of perf's" \
	"arm.data:recorded on aarch64"; do
	"$ctl" import -o db "${line%%:*}" >out 2>err && not_ok "import ${line%%:*}" "was no failure"
	if [ "$(wc -l <err)" -eq 1 ] && grep -q "${line#*:}" err && [ ! -e db ]; then
		ok "import ${line%%:*}: $(cat err)"
	else
		not_ok "import ${line%%:*}" "$(cat err)"
	fi
done
exit $failed
