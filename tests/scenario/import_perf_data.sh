#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The reader of perf.data hands on what `perf script` prints of the same file: samples with each
# branch and flag, mappings, processes, in the same order. Files are written from scripts
# (perf_data_write.c) and recorded here; what perf 6.1 cannot read or does not print is held against
# the plain form of the same records, or against lines written down here.
set -u
. "$(dirname "$0")/../own_processes.bash"
. "$(dirname "$0")/both_ways.bash"
. "$(dirname "$0")/recording_common.bash"
ctl=$build/bin/pathprofctl
export HOME=$work # nothing of the user's ~/.debug
make_ways_file prog && make_ways_file with_id -Wl,--build-id=0x00112233445566778899aabbccddeeff00112233 || exit 1
if ! perf --version >/dev/null 2>&1; then
	echo "skip import_perf_data: no perf (apt install linux-perf)"
	exit 0
fi

# perf_lines FILE: perf script's lines as recording_dump prints them.
export MADE_UP=4294967296 # forks without a time, of parents below it, are not of the kernel
fields=pid,tid,time,event,ip,brstack
perf_lines() {
	perf script -G -i "$1" --ns --show-mmap-events --show-task-events \
		-F $fields 2>"$1.complaints" </dev/null | perl -ne '
		s/^\s+//; s/[ \t]+/ /g; s/ $//;
		s/^(\S+ (?:\S+: )?\S+: [0-9a-f]+) (?!0x)\S+/$1/; # a symbol that nobody asked for
		s/^(\S+\/\S+) (?=[a-z].*: )/$1 0.000000000: / unless /^\S+\/\S+ \d+\.\d+:/;
		s/^-1\/-1 (?!.*PERF_RECORD_)//; # a thread that has ended: of no process
		if (!/PERF_RECORD_/) { print; next; }
		/^(?:-?\d+\/-?\d+ )?(?:(\d+\.\d+): )?PERF_RECORD_(.*)$/ or next;
		my ($t, $r) = ($1 // "0.000000000", $2);
		if ($r =~ /^COMM( exec)?: (.*):(-?\d+)\/(-?\d+)$/) {
			print "$t ", $1 ? "exec" : "comm", " $3 $2\n" if $3 eq $4;
		} elsif ($r =~ /^FORK\((-?\d+):-?\d+\):\((-?\d+):/) {
			# A fork that perf made up takes over no mappings.
			my $parent = $t eq "0.000000000" && $2 < $ENV{MADE_UP} ? 0 : $2;
			print "$t fork $1 $parent\n" if $1 ne $2;
		} elsif ($r =~ /^EXIT\((-?\d+):(-?\d+)\)/) {
			print "$t exit $1\n" if $1 eq $2;
		} elsif ($r =~ /^MMAP2? (-?\d+)\/-?\d+: \[(\w+)\((\w+)\) @ (\w+)[^\]]*\]: (\S+) (.*)$/) {
			my ($p, $x, $name, @n) = ($1, $5, $6, $2, $3, $4);
			s/^0$/0x0/ for @n;
			# Mappings that perf makes up for the kernel have no protection.
			print "$t map $p @n ", $x =~ /x/ || $p == -1 ? "x" : "-", " $name\n";
		}'
}

# Several files may have records of one moment, and perf decides by chance which is first.
one_moment_sorted() { perl -ne '/(\d+\.\d{9})\b/; push @l, [$1 // 0, $_]; END { print map { $_->[1] } sort { $a->[0] <=> $b->[0] || $a->[1] cmp $b->[1] } @l }'; }
order=cat
# same NAME FILE: both read it, and agree, in the same order but for $order. A program that ran on
# some CPU may be gone, or its code have no file: perf tells that it has no symbols of it.
same() {
	perf_lines "$2" >"$2.perf"
	if ! "$dump" "$2" >"$2.ours" 2>"$2.error"; then
		not_ok "$1" "$(cat "$2.error")"
	elif ! [ -s "$2.perf" ]; then
		not_ok "$1" "perf printed nothing: $(head -n 1 "$2.complaints")"
	elif grep -v 'continuing without symbols$' "$2.complaints" | grep -iqE 'fail|invalid|unsupported|error|corrupt'; then
		not_ok "$1" "perf complains: $(grep -v 'continuing without symbols$' "$2.complaints" | head -n 1)"
	elif ! cmp -s <($order <"$2.perf") <($order <"$2.ours"); then
		not_ok "$1" "$(diff <($order <"$2.perf") <($order <"$2.ours") | head -n 5 | cut -c 1-300)"
	else
		both_ways "$1" perf.data "$2" prog with_id
		ok "$1"
	fi
}

# equal NAME FILE OTHER: the reader sees the same in both.
equal() {
	"$dump" "$2" >"$2.ours" 2>"$2.error"
	"$dump" "$3" >"$3.ours" 2>>"$2.error"
	if [ -s "$2.ours" ] && cmp -s "$2.ours" "$3.ours"; then
		both_ways "$1" perf.data "$2" prog with_id
		ok "$1"
	else
		not_ok "$1" "$(head -n 1 "$2.error") $(diff "$2.ours" "$3.ours" | head -n 3 | cut -c 1-300)"
	fi
}

records() { # of one event
	cat <<-'END'
	mmap -1 0 0xffffffff81000000 0x1000000 0xffffffff81000000 k [kernel.kallsyms]_text
	mmap -1 0 0xffffffffc0000000 0x5000 0 k [some_module]
	comm 100 0 early
	spawn 100 0 1
	mmap 100 0 0x7ff000 0x1000 0x3000 - /lib/data
	mmap2 100 0 0x400000 0x10000 0 5 inode /bin/prog
	exec 200 1000 prog
	mmap2 200 1100 0x400000 0x10000 0x1000 5 00112233445566778899aabbccddeeff00112233 /bin/with_id
	mmap2 200 1200 0x600000 0x10000 0x1000 3 inode /bin/prog
	fork 201 1300 200
	fork 200/300 1300 200
	comm 200/300 1310 thread
	sample 0 200 2000 0x400100 cpu=1 period=77 hw=5 chain=3 0x400200>0x400100:P:5 0x400210>0x400300:M:0:1
	sample 0 201 1900 0xffffffff81000010 mode=1 raw=12 0x400200>0x400100:XAP:65535:4 0x5>0x6:M 0x7>0x8:A
	sample 0 200/300 2010 0x400100 0x1>0x2::1:15:0:3 0x1>0x2:P:1:14 0x1>0x2:P:1:2 0x1>0x2:P:1:3 0x1>0x2:P:1:5 0x1>0x2:P:1:6
	sample 0 201 1901 0x400101 0x1>0x2:P:1:7 0x1>0x2:P:1:8 0x1>0x2:P:1:9 0x1>0x2:P:1:10
	sample 0 4294967295 2020 0x400100 0x1>0x2:P
	lost 2100 5
	lost-samples 2200 7
	exit 200/300 2300
	exit 200 2400
	round
	sample 0 100 1500 0x400100
	round
	sample 0 100 1400 0x400100 0xffffffffffffffff>0x0:P
	other 12 24 3000
	END
}
all=ip+tid+time+addr+id+stream+cpu+period+read+chain+raw+branches

# ---------------------------------------------------------------- headers and attributes

one() { # NAME HEADER EVENT...
	local name=$1 header=$2
	shift 2
	{ echo "$header"; printf '%s\n' "$@"; echo begin; records; } | "$write" one.data
	same "$name" one.data
}
one "one event" file "event sample=ip+tid+time+cpu+period+branches name=cycles:u"
one "first version of the magic" "file v1" "event sample=ip+tid+time+branches size=96"
one "header without features" "file old" "event sample=ip+tid+time+branches"
one "pipe" pipe "event sample=ip+tid+time+branches ids=7 name=cycles:u"
one "ids at the front" file "event sample=identifier+$all ids=11+12 read=4"
one "all that comes before the branches" file "event sample=$all ids=11+12 read=23"
one "group read" file "event sample=$all ids=11+12 read=31"
one "hardware index" file "event sample=ip+tid+time+branches branch=0x20008"
one "counters of branches" file "event sample=ip+tid+time+branches branch=0xa0008"
fields=pid,tid,event,ip,brstack MADE_UP=100
one "no time" file "event sample=ip+tid+branches"
fields=pid,tid,time,event,ip,brstack MADE_UP=4294967296
one "no trailers" file "event sample=ip+tid+time+branches flags=0x802300"
# All ones are perf's word for no time, as 0 is.
for time in 0 18446744073709551615; do
	printf '%s\n' file "event sample=ip+tid+time+branches" begin \
		"mmap2 100 0 0x400000 0x10000 0 5 inode /bin/prog" \
		"sample 0 100 $time 0x400100 0x400200>0x400100:P" | "$write" "time.$time"
done
equal "no time of a sample" time.0 time.18446744073709551615
for size in 80 96 104 112 120 128; do
	one "attribute of $size bytes" file "event sample=ip+tid+time+branches size=$size"
	one "attribute of $size bytes in a pipe" pipe "event sample=ip+tid+time+branches size=$size"
done
for size in 64 72; do
	one "attribute of $size bytes" file "event sample=ip+tid+time size=$size"
done

plain() { { echo file; echo "event sample=ip+tid+time+branches"; echo begin; records; } |
	"$write" plain.data; }
plain
for size in 136 200; do
	for header in file pipe; do
		{ echo "$header"; echo "event sample=ip+tid+time+branches size=$size"; echo begin
		  records; } | "$write" new.data
		equal "attribute of $size bytes, newer than any ($header)" new.data plain.data
	done
done

{ echo file; echo "event sample=ip+tid+time+branches name=cycles:u"; echo "feature arch aarch64"; echo begin
  echo "sample 0 7 2000 0x400100 0x400200>0x400100:P:5:1:0:0:1 0x400500>0xffff800010000000:P:0:15:0:3:2"
  echo "sample 0 7 3000 0x400100 0xffff800010000100>0x400504:P:0:11 0x1>0x2:M:0:15:1:4 0x1>0x2:P:0:12"
} | "$write" arm.data
same "recorded on Arm" arm.data
"$dump" -i arm.data | grep -q 'arch aarch64' && ok "and it says so" || not_ok "and it says so" "no word of it"

# ---------------------------------------------------------------- several events

two() { # NAME HEADER SAMPLE0 SAMPLE1 [MORE]
	{
		echo "$2"
		echo "event sample=$3 ids=1+2 name=cycles:u ${5:-}"
		echo "event type=1 config=0 sample=$4 ids=3+4 name=cpu-clock:u ${5:-}"
		echo "event type=1 config=9 sample=$3 ids=5+6 name=dummy:HG ${5:-}"
		echo begin
		records
		[ "$2" = file ] || echo "update 1 other-clock"
		echo "sample 1 100 4000 0x400200 cpu=0 chain=2 0x8>0x9:P"
		echo "sample 0 100 4001 0x400200 cpu=1 0x8>0x9:M:7"
		echo "sample 1 100 3999 0x400200 cpu=1 raw=20 0x8>0x9:P"
		echo round
	} | "$write" two.data
	same "$1" two.data
}
for header in file pipe; do
	two "three events by identifier ($header)" $header identifier+ip+tid+time+branches \
		identifier+ip+tid+time+cpu+chain+period
	two "three events by id ($header)" $header ip+tid+time+id+branches ip+tid+time+id+raw
	two "id behind the address ($header)" $header ip+tid+time+addr+id+branches \
		ip+tid+time+addr+id+period+branches
	two "cpu and stream in trailers ($header)" $header ip+tid+time+id+stream+cpu+branches \
		ip+tid+time+id+stream+cpu+chain
	two "hardware index of one kind ($header)" $header identifier+ip+tid+time+branches \
		identifier+ip+tid+time branch=0x20008
done

# perf makes a sample for each member of a group; here it is the leader's.
for format in 12 13 14 15 28 31; do
	sample="sample=ip+tid+time+read+id+period+branches read=$format freq=99"
	{
		echo file
		echo "event $sample ids=1+2 name=cycles group=3"
		echo "event $sample config=1 ids=3+4 name=instructions"
		echo "event $sample config=5 ids=5+6 name=misses"
		echo begin
		for time in 1000 2000 3000; do
			echo "sample 0 5 $time 0x400100 cpu=$((time / 1000 % 2)) 0x1>0x2:P 0x3>0x4:M:7"
		done
	} | "$write" group.data
	perf_lines group.data >group.all
	grep ': cycles: ' group.all >group.leader
	if [ "$(wc -l <group.all)" -eq 9 ] && "$dump" group.data | cmp -s - group.leader; then
		ok "a group of three, read format $format: the leader's samples"
	else
		not_ok "a group of three, read format $format" \
			"$("$dump" group.data 2>&1 | diff - group.leader | head -n 3)"
	fi
done

# ---------------------------------------------------------------- directories

for zip in "" zip zip2; do
	rm -rf split
	mkdir split
	{
		echo file
		echo "event sample=ip+tid+time+cpu+branches ids=1+2+3+4"
		echo "feature directory 1"
		echo begin
		echo "mmap2 200 0 0x400000 0x10000 0 5 inode /bin/prog"
		for cpu in 0 1 2; do
			printf 'part\n%s\nmany 6000 3 8 5 %s\n' "$zip" $cpu
		done
		echo "part"
		echo "part"
		echo "sample 0 7 5000000100 0x400100 $(printf '0x8>0x9:P%.0s ' {1..1000})"
	} | "$write" split/data
	if [ "$zip" = zip2 ]; then
		equal "a directory, compressed as perf 6.1 does not know it" split unzipped
	else
		same "a directory of five files${zip:+, compressed}" split
		[ -n "$zip" ] || cp -r split unzipped
	fi
done
# Such a recording may have many files, some of them cut off.
mkdir wide
{
	echo file
	echo "event sample=ip+tid+time+cpu+branches"
	echo "feature directory 1"
	echo begin
	echo "comm 1000 0 early"
	for cpu in {0..299}; do
		printf 'part\nmany 6000 300 20 5 %s\n' "$cpu"
	done
} | "$write" wide/data
same "a directory of 300 files" wide
truncate -s -100 wide/data.7
"$dump" -s wide | grep -q '^# .* samples 5999 .* reordered 0 truncated$' &&
	ok "one of them cut off" || not_ok "one of them cut off" "$("$dump" -s wide | tail -n 1)"
mkdir killed
{ echo "file unclosed"; echo "event sample=ip+tid+time+cpu+branches ids=1+2+3+4"; echo begin
  echo "mmap2 200 0 0x400000 0x10000 0 5 inode /bin/prog"; echo part; echo "many 3000 2 8 5 0"; echo part
  echo "many 3000 2 8 5 1"; } | "$write" killed/data
mkdir ended
{ echo file; echo "event sample=ip+tid+time+cpu+branches ids=1+2+3+4"; echo "feature directory 1"; echo begin
  echo "mmap2 200 0 0x400000 0x10000 0 5 inode /bin/prog"; echo part; echo "many 3000 2 8 5 0"; echo part
  echo "many 3000 2 8 5 1"; } | "$write" ended/data
equal "a directory whose writer was killed" killed ended
mkdir single
{ echo file; echo "event sample=ip+tid+time+branches"; echo "feature directory 0"; echo begin
  records; } | "$write" single/data
equal "a directory of one file" single plain.data
equal "and that file" single/data plain.data

# ---------------------------------------------------------------- order, compression

for header in file pipe; do
	{ echo "$header"; echo "event sample=ip+tid+time+cpu+branches"; echo begin
	  printf 'mmap2 %d 0 0x400000 0x100000 0 5 inode /bin/prog\n' 1000 1001 1002 1003
	  echo "many 6000 4 8 1"; } | "$write" many.data
	same "rounds that overlap ($header)" many.data
done
# 16 MB wait for the end, 10 of them in memory.
{ echo file; echo "event sample=ip+tid+time+cpu+branches"; echo begin
  echo "many 20000 4 32 1 flat"; } | "$write" one_round.data
same "no rounds" one_round.data
{ echo file; echo "event sample=ip+tid+time+cpu+branches"; echo begin; echo "many 3000 3 32 2"
  records; } | "$write" flat.data
for zip in zip zip2; do
	{ echo file; echo "event sample=ip+tid+time+cpu+branches"; echo begin; echo $zip
	  echo "many 3000 3 32 2"; records | grep -v round; } | "$write" packed.data
	[ $zip = zip ] && same "compressed" packed.data
	"$dump" packed.data | sort >packed.sorted
	"$dump" flat.data | sort | cmp -s - packed.sorted && ok "the same as uncompressed ($zip)" ||
		not_ok "the same as uncompressed ($zip)" "it is not"
done

for header in file pipe; do
	{ echo $header; echo "event sample=ip+tid+time+branches"; echo begin; echo "aux 3000000"
	  [ $header = file ] || echo "tracing 4096"; records; echo "aux 5000"
	  echo "sample 0 100 9000 0x400100"; } | "$write" aux.data
	{ echo $header; echo "event sample=ip+tid+time+branches"; echo begin; records
	  echo "sample 0 100 9000 0x400100"; } | "$write" no_aux.data
	equal "trace data in between is passed over ($header)" aux.data no_aux.data
	"$dump" - <aux.data | cmp -s - aux.data.ours && ok "and if it is not a file ($header)" ||
		not_ok "and if it is not a file ($header)" "reads otherwise"
done
"$dump" <plain.data - | cmp -s - <("$dump" plain.data) && ok "a file through a pipe" ||
	not_ok "a file through a pipe" "reads otherwise"
cat plain.data | "$dump" - | cmp -s - <("$dump" plain.data) && ok "a file through cat" ||
	not_ok "a file through cat" "reads otherwise"

# ---------------------------------------------------------------- what perf 6.1 does not print

{
	echo file
	echo "event sample=ip+tid+time+cpu+period+branches branch=0x20008 freq=4000 name=cycles:u"
	printf 'feature %s\n' "hostname here" "osrelease 6.8.0" "arch x86_64" "cpudesc Some" \
		"cmdline perf record -b" "clock 1700000000000000000 5000000000" \
		"build-id user-sized 0011223344556677 /bin/a" \
		"build-id user 99aabbccddeeff0011223399aabbccddeeff0011 /bin/b" \
		"build-id kernel 55aabbccddeeff0011223399aabbccddeeff0011 /boo.ko/linux"
	cat <<-'END'
	begin
	mmap -1 0 0xffffffff81000000 0x1000000 0xffffffff81000000 k [kernel.kallsyms]_text
	mmap 7 1000 0x400000 0x10000 0 x /bin/a
	mmap 7 1001 0x500000 0x10000 0 x /bin/b
	mmap2 7 1002 0x600000 0x10000 0 5 44aabbccddeeff0011223399aabbccddeeff0011 /bin/b
	mmap 7 1003 0x700000 0x10000 0 x /bin/c
	mmap2 7 1004 0x800000 0x10000 0 5 muddled /bin/d
	sample 0 7 2000 0x400100 cpu=3 period=77 hw=9 0x1>0x2:P:1:1:3:0:1 0x3>0x4:MN:2:15:1:7:7 0x5>0x6::0:0:2:0:2
	sample 0 7 2001 0x400100 cpu=3 period=78 mode=1 hw=-1
	lost 2100 5
	lost-samples 2200 7
	lost-samples 2200 100 by-filter
	END
} | "$write" golden.data
cat >golden.want <<-'END'
	0.000000000 map -1 0xffffffff81000000 0x1000000 0xffffffff81000000 x [kernel.kallsyms]_text 55aabbccddeeff0011223399aabbccddeeff0011
	0.000001000 map 7 0x400000 0x10000 0x0 x /bin/a 0011223344556677
	0.000001001 map 7 0x500000 0x10000 0x0 x /bin/b 99aabbccddeeff0011223399aabbccddeeff0011
	0.000001002 map 7 0x600000 0x10000 0x0 x /bin/b 44aabbccddeeff0011223399aabbccddeeff0011
	0.000001003 map 7 0x700000 0x10000 0x0 x /bin/c -
	0.000001004 map 7 0x800000 0x10000 0x0 x /bin/d -
	7/7 0.000002000: cycles:u: 400100 0x1/0x2/P/-/-/1/COND/3/0/1 0x3/0x4/M/-/-/2/ARCH_5/1/7/7/N 0x5/0x6/-/-/-/0//2/0/2 hw 9 cpu 3 period 77 user
	7/7 0.000002001: cycles:u: 400100 hw -1 cpu 3 period 78
	# bytes 1016 of 2628 records 11 samples 2 branches 3 mappings 6 counts 0 lost 12 unknown 0 reordered 0
	# host here arch x86_64 release 6.8.0
	# cpu Some
	# command perf record -b
	# offset 1699999995000000000
	# event 0 cycles:u
END
"$dump" -sib golden.data >golden.got 2>&1
if diff <(sed 's/^# bytes.*records/# records/' golden.want) \
	<(sed 's/^# bytes.*records/# records/' golden.got) >golden.diff; then
	ok "speculation, privilege, index, ids, features"
else
	not_ok "speculation, privilege, index, ids, features" "$(head -n 4 golden.diff)"
fi

{ echo file; echo "event sample=ip+tid+time read=20 ids=1"; echo begin; echo "lost 2000 5"
  echo "lost 2100 3"; echo "lost-samples 2200 100"; echo "lost-samples 0 9"
  echo "lost-samples 0 1000 by-filter"; } | "$write" lost.data
"$dump" -s lost.data | grep -q ' lost 109 ' && ok "what perf counts at the end is not lost twice" ||
	not_ok "what perf counts at the end is not lost twice" "$("$dump" -s lost.data | tail -n 1)"

for kind in 0x8=no 0x408=no 0x20002=no 0x10=yes 0x1000=yes 0x808=yes \
	0x88=no 0x108=yes 0x208=yes 0x308=no; do
	{ echo file; echo "event sample=ip+tid+time+branches branch=${kind%=*}"; echo begin
	  echo "sample 0 7 2000 0x400100 0x1>0x2:P"; } | "$write" some.data
	"$dump" -b some.data | grep -q filtered && got=yes || got=no
	[ $got = "${kind#*=}" ] && ok "branches of kinds ${kind%=*} only: $got" ||
		not_ok "branches of kinds ${kind%=*} only" "$got"
done

# ---------------------------------------------------------------- damage

# with LINE...: a recording whose header has these features.
with() {
	{ echo file; echo "event sample=ip+tid+time+branches name=cycles:u"; printf 'feature %s\n' "$@"
	  echo begin; echo "mmap 7 1000 0x400000 0x10000 0 x /bin/a"
	  echo "mmap 7 1001 0x500000 0x10000 0 x /bin/b"
	  echo "sample 0 7 2000 0x400100 0x1>0x2:P"; } | "$write" with.data
}
a="build-id user 99aabbccddeeff0011223399aabbccddeeff0011 /bin/a"
b="build-id user 55aabbccddeeff0011223399aabbccddeeff0011 /bin/b"
with "$a" "$b"
"$dump" -i with.data >with.want
# perf 6.12 counts the head of a record twice.
with "$a" "raw 2 $(printf '%072d' 0)" "$b" "raw 2 $(printf '%072d' 0)"
"$dump" -i with.data 2>&1 | cmp -s - with.want && ok "build-ids as perf 6.12 wrote them" ||
	not_ok "build-ids as perf 6.12 wrote them" "$("$dump" -i with.data 2>&1 | head -n 1)"
# costs NAME LINE...: a table beside the records costs itself, and that is told.
costs() {
	local name=$1
	shift
	with "$@"
	"$dump" -i with.data >with.got 2>&1
	if grep -qx "# damaged $name" with.got &&
		cmp -s <(sed '/^#/d; s/cycles:u/cycles/' with.got) <(sed '/^#/d; s/cycles:u/cycles/' with.want); then
		ok "damaged: $name"
	else
		not_ok "damaged: $name" "$(diff with.want with.got | head -n 5)"
	fi
}
costs "build-ids" "$a" "$b" "raw 2 4300000002000700"
costs "build-ids" "$a" "$b" "raw 2 430000000200ff00"
costs "build-ids" "$a" "$b" "raw 2 4300000002000800"
costs "host's name" "$a" "$b" "raw 3 ff000000"
costs "kernel's release, machine" "$a" "$b" "raw 4 ffffff7f4141" "raw 6 00"
costs "processor" "$a" "$b" "raw 8 ff0000004141"
costs "command line" "$a" "$b" "raw 11 ffffffff050000004141410000"
costs "clock" "$a" "$b" "raw 29 010000000100000041"
costs "names of events" "$a" "$b" "raw 12 ffffffffffffffff"

{ echo "file unclosed"; echo "event sample=ip+tid+time+branches"; echo begin; records; } |
	"$write" unclosed.data
# perf 6.1 reads nothing of it.
equal "writer was killed: size 0" unclosed.data plain.data
"$dump" -s unclosed.data | grep -q '^# .* truncated$' && ok "and it says so" ||
	not_ok "and it says so" "no word of it"
full=$("$dump" plain.data | sort)
for cut in 1 8 60 100 300 700; do
	{ echo "file unclosed"; echo "event sample=ip+tid+time+branches"; echo begin; records
	  echo "cut $cut"; } | "$write" cut.data
	got=$("$dump" -s cut.data 2>&1)
	if grep -q truncated <<<"$got" &&
		[ -z "$(comm -13 <(echo "$full") <(grep -v '^#' <<<"$got" | sort))" ]; then
		ok "cut by $cut bytes: what is whole"
	else
		not_ok "cut by $cut bytes: what is whole" "$(tail -n 1 <<<"$got")"
	fi
done

refused() { # NAME PATTERN
	if "$dump" bad.data >/dev/null 2>bad.error; then
		not_ok "$1" "it was read"
	elif [ "$(wc -l <bad.error)" -eq 1 ] && grep -qE "$2" bad.error; then
		ok "$1"
	else
		not_ok "$1" "$(head -n 2 bad.error)"
	fi
}
bad() { # NAME PATTERN HEADER SAMPLE RECORD...
	local name=$1 pattern=$2 header=$3 sample=$4
	shift 4
	{ echo "$header"; echo "event sample=$sample"; echo begin; printf '%s\n' "$@"; } |
		"$write" bad.data
	refused "$name" "$pattern"
}
bad "big-endian" "big-endian machine" "file big" ip "other 12 24"
bad "big-endian, first version" "big-endian machine" "file v1 big" ip "other 12 24"
bad "a record of no size" "a record of 0 bytes" file ip "raw 0900000000000000"
bad "more branches than any hardware" "more branches than any hardware" file branches \
	"raw 09000000000010000104000000000000"
bad "fewer branches than said" "shorter than its branch stack" file branches \
	"raw 09000000000010000100000000000000"
bad "a mapping without a name's end" "too short" file ip "raw 01000000000008000900000000000800"
bad "packed rubbish" "damaged" file ip "raw 51000000000010004100000000000800"
cp split/data bad.data
refused "a directory's file by itself" "name the directory"
rm -rf bad.data
mkdir bad.data
refused "a directory of something else" "no file .data. in it"
cp split/data bad.data
mkfifo bad.data/data.0
refused "a directory with a pipe in it" "data.0: no regular file"
rm -rf bad.data
cp -r split bad.data
rm bad.data/data.1
refused "a directory without one of its files" "data.1 is not there, but data.2 is"
rm bad.data/data.*
refused "a directory without its files" "data.0 is not there"
rm -rf bad.data
{ echo file; echo "event sample=ip+tid+time"; echo "feature directory 2"; echo begin
  records; } | "$write" bad.data
refused "a directory of a later version" "of version 2 is not read"
for cnt in 18000 24000; do # 15 and 20 MB, a window as of level 20
	{ echo file; echo "event sample=ip+tid+time+cpu+branches"; echo begin; echo zip 1 25
	  echo "many $cnt 4 32 1"; } | "$write" bad.data
	[ $cnt = 24000 ] || "$dump" -s bad.data | grep -q "samples $cnt " && ok "15 MB at level 20" ||
		not_ok "15 MB at level 20" "$("$dump" -s bad.data 2>&1 | tail -n 1)"
done
refused "more at level 20 than its window may hold" "level that takes more memory"
mkdir bad
{
	echo file
	echo "event sample=ip+tid+time+cpu+branches"
	echo "feature directory 1"
	echo begin
	echo "comm 1000 0 early"
	for cpu in {0..32}; do
		printf 'part\nzip\nmany 330 33 2 5 %s\n' "$cpu"
	done
} | "$write" bad/data
rm bad.data
mv bad bad.data
refused "more compressed files than memory is given to" "more than 32 compressed files"
rm -r bad.data
bad "records that do not say whose" "do not say whose" "file
event sample=ip+branches" ip+tid "sample 0 1 0 0x5"
echo "no recording" >bad.data
refused "no perf.data" "not a perf.data"
echo >bad.data
refused "next to nothing" "not a perf.data"

# ---------------------------------------------------------------- memory

# The memory bound of recording.h, in addition to the memory for a small recording.
memory() { "$dump" -m "$1" | tail -n 1 | cut -d ' ' -f 3; }
least=$(memory plain.data)
bounded() { # NAME FILE
	local kb
	kb=$(($(memory "$2") - least))
	[ "$kb" -le 32768 ] && ok "$1: $kb kB" || not_ok "$1" "$kb kB"
}
bounded "memory for a round of 16 MB" one_round.data
bounded "memory for 300 files" wide
mkdir packed
{
	echo file
	echo "event sample=ip+tid+time+cpu+branches"
	echo "feature directory 1"
	echo begin
	echo "comm 1000 0 early"
	for cpu in {0..31}; do
		printf 'part\nzip 1\nmany 40000 32 32 5 %s\n' "$cpu"
	done
} | "$write" packed/data
bounded "memory for 32 compressed files" packed
{ echo file; echo "event sample=ip+tid+time+cpu+branches"; echo begin; echo zip 1 25
  echo "many 18000 4 32 1"; } | "$write" level.data
bounded "memory for level 20" level.data
{ echo pipe; echo "event sample=ip+tid+time ids=1"; echo begin
  perl -e 'for (1 .. 200000) { my $p = 1000 + $_; my $t = 1000 * $_;
	print "fork $p $t 1\nmmap2 $p $t 0x400000 0x10000 0 5 inode /bin/prog$_\n" }'; } |
	"$write" many.data
bounded "memory for 200,000 processes" many.data
# A million events of 128 bytes each, all zero.
perl -e 'print pack("Q<13", 0x32454c4946524550, 104, 144, 104, 144e6, 144e6 + 104, 8, (0) x 6)' \
	>bad.data
truncate -s 150000000 bad.data
refused "a million events" "impossibly many"

# ---------------------------------------------------------------- recorded here

# Asking for build-ids: perf 6.1 dies of their flag where another profiler of the host asked for them.
if perf record -q --buildid-mmap -e cpu-clock,task-clock:u -o real.data -- \
	sh -c 'ls -R /usr/share/doc >/dev/null; true' >/dev/null 2>&1; then
	same "recorded here, two events" real.data
	perf record -q --buildid-mmap -z -e cpu-clock -o real.data -- ls -R /usr/share/doc >/dev/null 2>&1
	same "recorded here, compressed" real.data
	perf record -q --buildid-mmap -z22 -e cpu-clock -o real.data -- ls -R /usr/share/doc >/dev/null 2>&1
	same "recorded here, compressed at level 22" real.data
	perf record -q --buildid-mmap -F 5000 -e '{cpu-clock,task-clock}:S' -o real.data -- \
		ls -R /usr/share/doc >/dev/null 2>&1
	perf_lines real.data | grep -v ': task-clock: ' >real.leader
	[ -s real.leader ] && "$dump" real.data | cmp -s - real.leader && ok "recorded here, a group" ||
		not_ok "recorded here, a group" "$("$dump" real.data | diff - real.leader | head -n 3)"
	for zip in "" -z; do
		rm -rf real.dir
		perf record -q -B -N --buildid-mmap --threads $zip -a -F 5000 -e cpu-clock,task-clock:u \
			-o real.dir -- ls -R /usr/share/doc >/dev/null 2>&1
		order=one_moment_sorted
		same "recorded here, a directory${zip:+, compressed}" real.dir
		order=cat
	done
	perf record -q --buildid-mmap -a -e cpu-clock -o - -- sleep 0.2 2>/dev/null >real.data
	same "recorded here, all CPUs through a pipe" real.data
else
	echo "skip import_perf_data/recorded: perf record does not work here"
fi

ways_end 40

# ---------------------------------------------------------------- and would it notice?

perf_lines flat.data >flat.perf
sed 's/^sample 0 200 2000/sample 0 200 2001/; s/0x5>0x6:M/0x5>0x6:P/' <(
	echo file; echo "event sample=ip+tid+time+cpu+branches"; echo begin
	echo "many 3000 3 32 2"; records) | "$write" fault.data
"$dump" fault.data | diff -q - flat.perf >/dev/null &&
	not_ok "a planted fault is found" "one flag and one time passed unseen" ||
	ok "a planted fault is found"
exit $failed
