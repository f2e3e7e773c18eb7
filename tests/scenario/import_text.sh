#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The readers of texts against the programs whose texts they are. What perf writes of a perf.data,
# whichever columns it is asked for, reads as the perf.data itself does; and lines are taken and
# refused as perf2bolt, llvm-bolt, llvm-profgen and create_llvm_prof take and refuse them, but for
# the deviations that are listed here.
set -u
. "$(dirname "$0")/both_ways.bash"
. "$(dirname "$0")/recording_common.bash"
ctl=$build/bin/pathprofctl
export HOME=$work # nothing of the user's ~/.debug
make_ways_file "pro gram" || exit 1

# ---------------------------------------------------------------- perf script

cat >script <<-'END'
	file
	event sample=ip+tid+time+cpu+period+branches name=cycles:u
	begin
	mmap -1 0 0xffffffff81000000 0x1000000 0xffffffff81000000 k [kernel.kallsyms]_text
	spawn 100 0 1
	mmap2 100 1000000 0x400000 0x10000 0x2000 5 inode /bin/pro gram
	mmap2 100 2000000 0x600000 0x10000 0x3000 3 00112233445566778899aabbccddeeff00112233 /lib/data
	comm 100 3000000 0x1/0x2/P/-/-/0
	sample 0 100 4000000 0x400100 cpu=1 period=77 0x400200>0x400100:P:5 0x400210>0x400300:M:0:1
	comm 100/101 5000000 a 1/2 3.000000:
	sample 0 100/101 6000000 0xffffffff81000010 mode=1 cpu=2 0x400200>0x400100:XAP:65535:4 0x5>0x6:M 0x7>0x8:A
	exec 100 7000000 PERF_RECORD_X:
	sample 0 100 8000000 0x400100 cpu=0 0x1>0x2::1:15:0:1 0x1>0x2:P:1:14 0x1>0x2:P:1:2 0x1>0x2:P:1:3 0x1>0x2:P:1:5
	sample 0 100 9000000 0x400100 cpu=255 0x1>0x2:P:1:6 0x1>0x2:P:1:7 0x1>0x2:P:1:8 0x1>0x2:P:1:9 0x1>0x2:P:1:10
	comm 100 10000000 main+0x1/f/P/-/
	sample 0 100 11000000 0x400100 cpu=0
	sample 0 100 12000000 0x400100 cpu=0 0xffffffffffffffff>0x0:P
	fork 102 12500000 100
	fork 100/103 12600000 100
	lost 13000000 5
	exit 100 14000000
	many 2000 3 32 1
END
"$write" made.data <script

# text FIELDS [ARG...]: perf's text of it.
text() {
	local fields=$1
	shift
	perf script -i made.data --ns -F "$fields" "$@" 2>/dev/null </dev/null
}
samples() { grep -E '^([0-9-]+/[0-9-]+ )?[0-9]+\.[0-9]+: '; }
# Removes a column from samples, as if perf had not been asked for it; the process goes last.
without() { # pid|time|event|ip
	case $1 in
	pid) perl -pe 's/^\S+ //' ;;
	time) perl -pe 's/ \S+:/ 0.000000000:/' ;;
	event) perl -pe 's/^(\S+ \S+ )\S+ /$1(null): /' ;;
	ip) perl -pe 's/^(\S+ \S+ \S+ )[0-9a-f]+/${1}0/' ;;
	esac
}

# columns FIELDS MISSING...: reads as made.data without them.
columns() {
	local fields=$1 want=want
	shift
	cp samples.want want
	for missing in "$@"; do
		without "$missing" <want >want.less && mv want.less want
	done
	text "$fields" >perf.text
	if ! "$dump" -f perf-script perf.text >got.all 2>error; then
		not_ok "perf script -F $fields" "$(cat error)"
		return
	fi
	samples <got.all >got
	if [ -s got ] && cmp -s want got; then
		both_ways "perf script -F $fields" perf-script perf.text "pro gram"
		ok "perf script -F $fields"
	else
		not_ok "perf script -F $fields" "$(diff want got | head -n 3 | cut -c 1-200)"
	fi
}

perf_columns() {
	"$dump" made.data >all.want
	samples <all.want >samples.want
	columns comm,pid,tid,cpu,time,period,event,ip,brstack
	columns comm,pid,tid,time,event,ip,brstack
	columns comm,pid,tid,time,event,ip,sym,dso,brstack
	columns pid,tid,time,event,ip,brstack
	columns comm,pid,tid,cpu,misc,time,event,ip,brstack
	columns comm,pid,tid,event,ip,brstack time
	columns pid,tid,time,ip,brstack event
	columns pid,tid,time,event,brstack ip
	columns time,event,ip,brstack pid
	columns pid,tid,brstack time event ip
	columns event,ip,brstack time pid
	columns ip,brstack time event pid
	text comm,pid,tid,time,event,ip,brstack --show-mmap-events --show-task-events \
		--show-lost-events >perf.text
	"$dump" -f perf-script perf.text 2>error | grep -E '^[0-9.]+ (map|comm|exec|fork|exit)' >got
	grep -E '^[0-9.]+ (map|comm|exec|fork|exit)' all.want >want
	if [ -s want ] && cmp -s want got; then
		ok "perf script's mappings and processes"
	else
		not_ok "perf script's mappings and processes" \
			"$(cat error) $(diff want got | head -n 4 | cut -c 1-200)"
	fi
	both_ways "perf script's mappings" perf-script perf.text "pro gram"
	text pid,brstacksym >perf.text
	"$dump" -f perf-script perf.text 2>&1 | grep -q 'branches by symbol are not read' &&
		ok "branches by symbol" || not_ok "branches by symbol" "no word of them"
	text ip,brstack >perf.text
	both_ways "as llvm-profgen has it" profgen-perfscript perf.text "pro gram"
	ways_end 10
	"$dump" -f profgen-perfscript perf.text 2>error | samples >got
	cp samples.want want
	for missing in time event pid; do
		without $missing <want >want.less && mv want.less want
	done
	cmp -s want got && ok "as llvm-profgen has it" ||
		not_ok "as llvm-profgen has it" "$(cat error) $(diff want got | head -n 3 | cut -c 1-200)"
	sed '100s/0x4/0x3/' perf.text | "$dump" -f profgen-perfscript - 2>/dev/null | samples |
		cmp -s - want && not_ok "a planted fault is found" "one address passed unseen" ||
		ok "a planted fault is found"
}
if perf --version >/dev/null 2>&1; then
	perf_columns
else
	echo "skip import_text/perf: no perf (apt install linux-perf)"
fi

# edges_of NUMBER...: what is seen of these loops of the program, one sample each in this order.
edges_of() {
	local number at
	rm -f edges.db*
	for number; do
		at=$((0x4000e0 + 256 * number))
		printf 'x 1/1 1.000000: cycles: 400200 0x%x/0x%x/P/-/-/1\n' $((at + 14)) $at
	done >edges.text
	"$ctl" import -F perf-script -o edges.db edges.text --binary "pro gram" >/dev/null 2>edges.said &&
		"$ctl" --db edges.db edges --limit 2
}
edges_of 0 1 2 3 >want
edges_of 3 2 1 0 >got
[ "$(wc -l <want)" -eq 2 ] && cmp -s want got && ok "edges seen equally often, in the order of addresses" ||
	not_ok "edges seen equally often, in the order of addresses" "$(diff want got)"
edges_of 0 >/dev/null
grep -qx 'pathprofctl: 1 branch read, 1 used (100.0 %)' edges.said && ok "one branch is read" ||
	not_ok "one branch is read" "$(cat edges.said)"

# ---------------------------------------------------------------- the others

cat >tiny.c <<-'END'
	int f(int x) { return x > 3 ? x * 5 : x ^ 9; }
	int main(int argc, char **argv) { int s = 0; for (int i = 0; i < 9; i++) s += f(i + argc); return s; }
END
gcc -O1 -g -Wl,--emit-relocs -o tiny tiny.c || exit 1

tool() { # NAME: its path
	command -v "$1-22" "/usr/lib/llvm-22/bin/$1" "$1" 2>/dev/null | head -n 1
}
# complains FORMAT FILE: what its owner says of it.
complains() {
	case $1 in
	bolt-preagg) "$owner" tiny --pa -p "$2" -o out 2>&1 | grep -E 'Error reading|-ERROR' ;;
	bolt-fdata) "$owner" tiny -data "$2" -o out 2>&1 | grep -E 'Error reading|-ERROR' ;;
	profgen-raw) "$owner" --unsymbolized-profile="$2" --binary=tiny -o out 2>&1 | grep error: ;;
	autofdo-text) "$owner" --profiler=text --profile="$2" --binary=tiny --out=out 2>&1 |
		grep 'Error reading' ;;
	esac
}
# judge FORMAT both|neither|ours|theirs TEXT: who takes it.
judge() {
	local ours theirs got
	printf "$3" >in.text
	"$dump" -f "$1" in.text >/dev/null 2>&1 && ours=1 || ours=
	complains "$1" in.text >/dev/null && theirs= || theirs=1
	case $ours$theirs in
	11) got=both ;;
	1) [ -n "$ours" ] && got=ours || got=theirs ;;
	*) got=neither ;;
	esac
	judged=$((judged + 1))
	[ $got = "$2" ] || not_ok "$1: $(head -c 60 in.text | tr '\n' '|')" "taken by $got, not by $2"
}
# begin FORMAT TOOL PACKAGE
begin() {
	judged=0
	owner=$(tool "$2")
	[ -n "$owner" ] || echo "skip import_text/$1: no $2 (apt install $3)"
}
finish() { ok "$1: $judged texts taken or refused as $(basename "$owner") does, or as listed"; }

begin bolt-preagg perf2bolt bolt-22
if [ -n "$owner" ]; then
	for text in 'B 1 2 3 4\n' 'B 1 2 3 4 \n' '  B   1   2   3   4\n' 'F 1 2 3\n' 'f X:1 2 3\n' \
		'r 1 2 3\n' 'T 1 2 3 4\n' 'R 0 2 3 4\n' 'S 1 2\n' 'E a\n' 'B X:1 aa55:2 3 4\n'; do
		judge bolt-preagg both "$text"
	done
	for text in 'Q 1 2 3\n' '\n' 'B1 2 3 4\n' 'B 0x1 2 3 4\n' 'B X: 2 3 4\n' 'B 1\t2 3 4\n' \
		'B 1 2 3\n' 'B 1 2 x 4\n' 'B 1 2 18446744073709551616 4\n' 'B 1 2 3 4 5\n' \
		'F 1 2 3 4\n' 'T 1 2 3\n' 'S 1\n' 'E a b\n' 'B 1 2 3 4' 'B 1 2 3 4\r\n'; do
		judge bolt-preagg neither "$text"
	done
	judge bolt-preagg theirs 'B 1 2 -1 4\n'
	judge bolt-preagg theirs 'B build:1 2 3 4\n'
	judge bolt-preagg ours 'B 1 2 18446744073709551615 4\n'
	judge bolt-preagg ours 'T 1 2 3 4 5\n'
	finish bolt-preagg
fi
begin bolt-fdata llvm-bolt bolt-22
if [ -n "$owner" ]; then
	for text in '1 main 3 0 /lib/ld 12 4 221\n' '2 f/x.c/1 1 1 main 2 0 3  \n' \
		'1 ma\\ in 1 1 main 2 0 3\n' 'no_lbr a b\n1 main 1 3\n' \
		'boltedcollection\n1 main 1 1 main 2 0 3\n' '4 main 1 4 main 2 3\n'; do
		judge bolt-fdata both "$text"
	done
	for text in '\n' '1main 1 1 main 2 0 3\n' '1 main\n' '1 main 0x1 1 main 2 0 3\n' \
		'1 main 1 1 main 2 0\n' '1 main 1 1 main 2 0 3 4\n' '1 main 1 1 main 2 0 3x\n' \
		'no_lbr\n1 main 1 1 main 2 0 3\n' '1 main 1 1 main 2 0 3'; do
		judge bolt-fdata neither "$text"
	done
	judge bolt-fdata theirs '1 main 1 1 main 2 -1 3\n'
	judge bolt-fdata theirs '1 main 1 1 main 2 0 3\nrubbish\n'
	judge bolt-fdata ours 'boltedcollection\nno_lbr x\n1 main 1 3\n'
	finish bolt-fdata
fi
begin profgen-raw llvm-profgen llvm-22
if [ -n "$owner" ]; then
	for text in '2\n10-20:5\n20-20:1\n1\n20->10:7\n' '0\n0\n' '1\n10-20:5\n0' \
		'1\n10-20:5\n0\n0\n1\n1->2:3\n' '[main:1 @ f]\n  1\n  10-20:1\n  0\n' \
		'1\n10-20:18446744073709551615\n0\n'; do
		judge profgen-raw both "$text"
	done
	for text in 'x\n' '\n' '1 \n1-2:3\n0\n' '1\n10->20:5\n' '1\n10-20\n' '1\n10-20:5 \n0\n' \
		'1\n0x10-20:5\n0\n' '2\n10-20:5\n0\n' '0\n' '0\n0\n\n'; do
		judge profgen-raw neither "$text"
	done
	judge profgen-raw theirs '[main\n1\n1-2:3\n0\n'
	finish profgen-raw
fi
begin autofdo-text create_llvm_prof autofdo
if [ -n "$owner" ]; then
	for text in '1\n1139-1140:5\n1\n0x1140:4\n1\n1140->1139:7\n' '0\n0\n0\n' \
		'0\n0\n0\n# x\n' '0\n0\n1\n1->2:3'; do
		judge autofdo-text both "$text"
	done
	for text in '' '0\n0\n' '# x\n0\n0\n0\n' '0\n1\n1-2:3\n0\n' '0\n0\n1\n1-2:3\n'; do
		judge autofdo-text neither "$text"
	done
	judge autofdo-text theirs '0\n0\n1\n1->2:3\n3->4:5\n'
	judge autofdo-text theirs '0 0 0\n'
	finish autofdo-text
fi
exit $failed
