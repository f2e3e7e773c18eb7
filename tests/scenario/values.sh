#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Values of parameters on programs whose truth is known: executions and LVP to the last one, top
# values within what the sampler's rate allows; by both ways to probe, by threads, by a descendant,
# with a library's function, and without root; what goes wrong is said; nothing without --value.
own_processes=no
. "$(dirname "$0")/daemon_common.bash"
ctl=$BUILD/bin/pathprofctl
values=$BUILD/tests/workloads/values
verifier_cost=$BUILD/tests/tools/verifier_cost
here=$(cd "$(dirname "$0")/../.." && pwd)
cc=${CC:-gcc}
unset PATHPROF_DB LD_PRELOAD

record() { "$ctl" record --no-report -o "$db" "$@" 2>"$tmp/err"; }
fresh() { rm -f "$db"*; }
# figure FUNCTION ARG COLUMN: of the database's sums.
figure() {
	sql "SELECT sum(c.$3) FROM value_counts c JOIN value_sites s ON s.id = c.site
		WHERE s.function = '$1' AND s.argument = $2"
}
# top FUNCTION ARG: `VALUE COUNT` a line, most frequent first, as the verb gives them.
top() {
	"$ctl" --db "$db" values --function "$1" --top 4 --json |
		python3 -c 'import json, sys
for row in json.load(sys.stdin):
    if row["argument"] == int(sys.argv[1]):
        for v in row["values"]:
            print(v["value"], v["count"])' "$2"
}
# truth FUNCTION ARG: the same of what the program printed.
truth() { awk -v f="$1" -v a="$2" '$1 == f && $2 == a && $3 != "same" { print $3, $4 }' "$tmp/out" |
	sort -k2,2 -rn; }
same_of() { awk -v f="$1" -v a="$2" '$1 == f && $2 == a && $3 == "same" { print $4 }' "$tmp/out"; }
# near RATE WANT GOT: the same values in `VALUE COUNT` lines, and their counts within four standard
# deviations of plain sampling at that rate, sqrt(count * (rate - 1)), which strata only better; a
# table may lose what a value had before the first time that its lower half was emptied.
near() {
	awk -v rate="$1" -v lost="${4:-0}" 'NR == FNR { count[$1] = $2; n++; next }
		{ d = $2 - count[$1]; d = d < 0 ? -d - lost : d
		  if (!($1 in count) || d > 4 * sqrt(count[$1] * (rate - 1)) + rate - 1) bad = 1 }
		END { exit bad || !n || FNR != n }' "$2" "$3"
}
# tops_near NAME RATE FUNCTION ARG
tops_near() {
	truth "$3" "$4" >"$tmp/want"
	top "$3" "$4" >"$tmp/all"
	head -n "$(wc -l <"$tmp/want")" "$tmp/all" >"$tmp/got"
	check "$1" "$(paste -sd ';' "$tmp/want") but $(paste -sd ';' "$tmp/got")" \
		near "$2" "$tmp/want" "$tmp/got"
}

# ------------------------------------------------------------------ may it be run here at all
fresh
if ! record --value pushed:1 -- "$values" 10 >"$tmp/out"; then
	if grep -q 'Operation not permitted' "$tmp/err" && [ "$(id -u)" -ne 0 ]; then
		echo "skip values: $(cat "$tmp/err")"
		exit 0
	fi
	if grep -q "process ids are not the kernel's here" "$tmp/err"; then
		echo "skip values: $(tail -n 1 "$tmp/err")"
		exit 0
	fi
	not_ok values "$(cat "$tmp/err")"
	finish
fi
echo "# $(grep '^pathprofd: values' "$tmp/err")"

# ------------------------------------------------------------------ what the verifier spends
cost() { # NAME OBJECT
	local status=0 most
	"$verifier_cost" "$2" >"$tmp/cost" 2>&1 || status=$?
	sed "s/^/# $1: /" "$tmp/cost"
	most=$(awk '$2 > m { m = $2 } END { print m + 0 }' "$tmp/cost")
	check "verifier-$1" "status $status, $most instructions" \
		test "$status" -eq 0 -a "$most" -gt 0 -a "$most" -lt 20000
}
cost "$(clang --version | sed -nE 's/.*clang version ([0-9]+).*/clang-\1/p')" \
	"$BUILD/bpf/values.bpf.o"
# A second compiler takes part where rounds are full.
if [ "${PATHPROF_ROUNDS:-}" != full ]; then
	:
elif command -v clang-22 >/dev/null; then
	(cd "$here" && clang-22 -target bpf -mcpu=v3 -O2 -g -Ilibprofile/core -Ilibprofile/include \
		-idirafter "/usr/include/$($cc -print-multiarch)" -c -o "$tmp/values.bpf.o" \
		daemon/bpf/values.bpf.c)
	cost clang-22 "$tmp/values.bpf.o"
else
	echo "skip verifier-clang-22: no clang-22"
fi

# ------------------------------------------------------------------ a program of known values
n=200000
# all NAME ARGUMENTS...: pushed and stepped, recorded as they are, held against what they print.
known() {
	local name=$1 f a
	shift
	for f in pushed:1 pushed:2; do
		a=${f#*:} f=${f%:*}
		check "$name-executions-$f-$a" "$(figure "$f" "$a" executed)" \
			test "$(figure "$f" "$a" executed)" = "$n"
		tops_near "$name-top-values-$f-$a" 16 "$f" "$a"
	done
}
"$values" "$n" >"$tmp/alone"
fresh
status=0
begin=${EPOCHREALTIME/./}
record --value pushed:1 --value pushed:2 -- "$values" "$n" >"$tmp/out" || status=$?
# of an execution, which is probed for both parameters: from 2 us to 200, by what a trap costs here
execution_ns=$(((${EPOCHREALTIME/./} - begin) * 1000 / n))
check exit-status "$status: $(cat "$tmp/err")" test "$status" -eq 0
check output-unchanged "differs" cmp -s "$tmp/alone" "$tmp/out"
known default
check private "$(stat -c %a "$db")" test "$(stat -c %a "$db")" = 600

# row FUNCTION ARG: of the table, its columns parted by one blank.
row() { "$ctl" --db "$db" values | awk -v f="$1" -v a="$2" '$1 == f && $2 == a { $1 = $1; print }'; }
# Each move to another CPU may change an LVP by one execution: `lvp-2` has the exact one.
check table "$(row pushed 2)" eval \
	'[[ $(row pushed 2) =~ ^pushed\ 2\ 200000\ (49|50).[0-9]%\ 100.0%\ (98|99).[0-9]%\ 0x(1000|2a)\ .*\ values$ ]]'

# A narrow table leaves out the last values, whole ones: what is left of two would read as one.
narrow() { COLUMNS=100 LC_ALL=C "$ctl" --db "$db" values --top 4 | tr -s ' ' | grep '^pushed 1 '; }
check narrow "$(narrow)" eval \
	'[[ $(narrow) =~ %\ ((0x[0-9a-f]+\ \([0-9]+\)|[0-9])\ [0-9.]+%,\ )+\.\.\ values$ ]]'

# On one CPU each value has the one before it before it.
fresh
record --value "$values:pushed:1" --value "$values:pushed:2" -- taskset -c 0 "$values" "$n" >"$tmp/out"
for a in 1 2; do
	check "lvp-$a" "$(figure pushed "$a" same), not $(same_of pushed "$a")" \
		test "$(figure pushed "$a" same)" = "$(same_of pushed "$a")"
done

fresh
record --value-sampler P1 --value pushed:2 --value pushed:1 -- "$values" 50000 >"$tmp/out"
truth pushed 2 >"$tmp/want"
top pushed 2 >"$tmp/got"
check every-execution "$(paste -sd ';' "$tmp/got")" cmp -s <(sort "$tmp/want") <(sort "$tmp/got")
tops_near every-execution-of-many-values 2 pushed 1
check all-profiled "$(figure pushed 1 profiled)" test "$(figure pushed 1 profiled)" = 50000
# A rate of 1 is told as such behind tables too, as what is sampled is.
fresh
record --value-sampler 'H[P1]64A16' --value pushed:1 -- "$values" 50000 >"$tmp/out"
check all-profiled-behind-tables "$(figure pushed 1 profiled)" test "$(figure pushed 1 profiled)" = 50000
check every-execution-is-told "$("$ctl" --db "$db" values | tail -n 1)" \
	grep -q '^Every execution was looked at' <("$ctl" --db "$db" values)

fresh
record --value-sampler 'H[PR64]512A16' --value pushed:1 -- "$values" "$n" >"$tmp/out"
tops_near table-behind 64 pushed 1
for sampler in R32 CR32 'T[64]1024'; do
	fresh
	record --value-sampler "$sampler" --value pushed:1 -- "$values" "$n" >"$tmp/out"
	top pushed 1 >"$tmp/got"
	check "sampler-$sampler" "$(paste -sd ';' "$tmp/got")" \
		eval 'head -n 1 "$tmp/got" | grep -q "^0x1000 "'
done

# Stepped probes count as well; windows add up; threads; a descendant.
fresh
record --value stepped:1 -- "$values" 20000 >"$tmp/out"
check stepped "$(figure stepped 1 executed)" test "$(figure stepped 1 executed)" = 20000
check stepped-said "$(cat "$tmp/err")" grep -q 'expensive to probe' "$tmp/err"
record --value stepped:1 -- "$values" 10000 >"$tmp/out"
check recordings-add-up "$(figure stepped 1 executed)" test "$(figure stepped 1 executed)" = 30000
fresh
n=$((8000000000 / execution_ns)) # with one parameter some four seconds
n=$((n < 100000 ? 100000 : n < 2000000 ? n : 2000000))
"$pathprofd" --record --quiet --db "$db" --window 1 --value pushed:1 -- "$values" "$n" >"$tmp/out"
windows=$(sql "SELECT count(*) FROM value_counts WHERE executed > 0")
check windows "$windows" test "$windows" -gt 1
check windows-executions "$(figure pushed 1 executed)" test "$(figure pushed 1 executed)" = "$n"
tops_near windows-top-values 16 pushed 1
n=100000
for how in threads fork; do
	fresh
	record --value pushed:1 --value pushed:2 -- "$values" "$n" "$how" >"$tmp/out"
	known "$how"
done

# runs PID FILE: the process has come so far that it has mapped it.
runs() { wait_for 60 grep -qF "$2" "/proc/$1/maps"; }

# A process whose child ran before: a server's workers are recorded with it.
fresh
bash -c '"$0" 2000000000 >/dev/null & wait' "$values" &
parent=$!
worker() { pgrep -P "$parent" >"$tmp/worker" && runs "$(cat "$tmp/worker")" "$values"; }
wait_for 60 worker || not_ok workers "no child came"
record -p "$parent" --duration 2s --value "$values:pushed:1" || not_ok workers "$(cat "$tmp/err")"
check workers "$(figure pushed 1 executed) executions" test "$(figure pushed 1 executed)" -gt 0
kill -9 "$(cat "$tmp/worker")" "$parent"
wait "$parent" 2>/dev/null || true

# A running process; its values only while it is recorded.
fresh
"$values" 200000000 >"$tmp/busy.out" &
busy=$!
runs "$busy" "$values" || not_ok running "the program did not start"
for seconds in 1 4 16 64; do # a busy machine lets it run for little of them
	fresh
	record -p "$busy" --duration ${seconds}s --value pushed:1
	seen=$(figure pushed 1 executed)
	[ "${seen:-0}" -le 1000 ] || break
done
check running "$seen" test "${seen:-0}" -gt 1000
kill -9 "$busy"
wait "$busy" 2>/dev/null || true
busy=

# ------------------------------------------------------------------ what is lost is counted
# The daemon is stopped before the program's first execution: the ring fills, and each is either in
# the table or in a counter.
fresh
n=300000 # more than twice what the ring has room for
mkfifo "$tmp/go"
# shellcheck disable=SC2016 # for the inner shell
"$pathprofd" --record --quiet --db "$db" --value-sampler P1 --value "$values:pushed:1" -- \
	sh -c 'read -r _ <"$0" && exec "$@"' "$tmp/go" "$values" "$n" >"$tmp/out" 2>"$tmp/err" &
daemon=$!
is_there() { child=$(pgrep -P "$daemon" -x sh); }
has_ended() { [[ $(cat "/proc/$child/stat") == *") Z "* ]]; }
wait_for 60 is_there || not_ok lost "the program did not start: $(cat "$tmp/err")"
kill -STOP "$daemon"
echo >"$tmp/go"
wait_for 600 has_ended || not_ok lost "the program did not end"
kill -CONT "$daemon"
wait "$daemon" || true
daemon=
dropped=$(sql "SELECT coalesce(sum(count), 0) FROM value_drops WHERE reason IN ('ring-full', 'busy')")
check lost-is-counted "$(figure pushed 1 profiled) + $dropped of $(figure pushed 1 executed)" \
	test "$(figure pushed 1 executed)" = "$n" -a "$dropped" -gt 0 -a \
		$(($(figure pushed 1 profiled) + dropped)) = "$n"
check lost-is-said "$("$ctl" --db "$db" values)" \
	eval '"$ctl" --db "$db" values | grep -q "^Not in the shares: [0-9]* (ring-full)"'

# ------------------------------------------------------------------ only those asked for
# The same program beside it is neither recorded nor probed: its code is as in the file.
start=$(sql "SELECT start FROM value_sites WHERE function = 'pushed'")
has_probe() {
	python3 - "$1" "$values" "$start" <<-'END'
		import sys
		pid, path, place = sys.argv[1], sys.argv[2], int(sys.argv[3])
		for line in open(f"/proc/{pid}/maps"):
		    words = line.split()
		    if words[-1] == path and "x" in words[1]:
		        begin, end = (int(w, 16) for w in words[0].split("-"))
		        at = begin + place - int(words[2], 16)
		        if begin <= at < end:
		            memory = open(f"/proc/{pid}/mem", "rb")
		            memory.seek(at)
		            sys.exit(memory.read(1) != b"\xcc")
		sys.exit(2)
	END
}
fresh
"$values" 30000000000 >/dev/null &
busy=$!
"$values" 30000000000 >/dev/null &
recorded=$!
runs "$busy" "$values" && runs "$recorded" "$values" || not_ok probed "the programs did not start"
record -p "$recorded" --duration 1000s --value pushed:1 &
recorder=$!
check probed "no probe in the process recorded" wait_for 10 has_probe "$recorded"
status=0
has_probe "$busy" || status=$?
check nobody-else-probed "$status" test "$status" -eq 1
kill -9 "$recorded"
wait "$recorded" 2>/dev/null || true
wait "$recorder" || true
record --value pushed:1 -- "$values" 50000 >"$tmp/out"
check nobody-else-recorded "$(figure pushed 1 executed)" \
	eval '[ "$(sql "SELECT executed FROM value_counts ORDER BY window DESC LIMIT 1")" = 50000 ]'
kill -9 "$busy"
wait "$busy" 2>/dev/null || true
busy=
fresh
record -- "$values" 1000 >"$tmp/out"
rows=$(sql "SELECT (SELECT count(*) FROM value_sites) + (SELECT count(*) FROM value_counts) +
	(SELECT count(*) FROM value_tops) + (SELECT count(*) FROM value_drops)")
check nothing-without-it "$rows rows" test "$rows" = 0
check nothing-said "$("$ctl" --db "$db" values 2>&1)" \
	eval '"$ctl" --db "$db" values 2>&1 | grep -q "none recorded: pathprofctl record --value"'

# ------------------------------------------------------------------ of no file that is named
# The README's line: the program has no malloc, the C library that it needs has.
cat >"$tmp/calls.c" <<'END'
#include <stdlib.h>
int main(int argc, char **argv)
{
	static void *volatile p;
	for (int i = 0; argc > 1 || i < 5000; i++) {
		p = malloc(4242);
		free(p);
	}
	return 0;
}
END
"$cc" -O1 -o "$tmp/calls" "$tmp/calls.c"
fresh
record --value-sampler P1 --value malloc:1 -- "$tmp/calls"
check library-of-command "$(top malloc 1) $(cat "$tmp/err")" eval '[[ $(top malloc 1) == "0x1092 5000"* ]]'
fresh
"$tmp/calls" for-ever &
busy=$!
runs "$busy" libc.so.6 || not_ok library-of-process "the program did not start"
for seconds in 2 8 32; do
	fresh
	record -p "$busy" --duration ${seconds}s --value malloc:1
	[ -z "$(top malloc 1)" ] || break
done
check library-of-process "$(top malloc 1) $(cat "$tmp/err")" eval '[[ $(top malloc 1) == "0x1092 "[1-9]* ]]'
kill -9 "$busy"
wait "$busy" 2>/dev/null || true
busy=

# A library's symbol keeps its default version in its name, `called@@NEW`; nobody calls it so.
cat >"$tmp/versions.c" <<'END'
int before(int x);
int now(int x);
int before(int x) { return x; }
int now(int x) { return x + 1; }
__asm__(".symver before,called@OLD");
__asm__(".symver now,called@@NEW");
END
echo 'OLD { }; NEW { global: called; local: *; } OLD;' >"$tmp/versions.map"
echo 'int called(int); int main(void) { for (int i = 0; i < 5000; i++) called(42); }' >"$tmp/calls_version.c"
"$cc" -O1 -shared -fPIC -Wl,--version-script="$tmp/versions.map" -o "$tmp/libversions.so" "$tmp/versions.c"
"$cc" -O1 -o "$tmp/calls_version" "$tmp/calls_version.c" -L"$tmp" -lversions -Wl,-rpath,"$tmp"
fresh
record --value-sampler P1 --value "$tmp/libversions.so:called:1" -- "$tmp/calls_version" || true
check default-version "$(top called 1) $(cat "$tmp/err")" eval '[[ $(top called 1) == "0x2a 5000"* ]]'

# ------------------------------------------------------------------ a library's function
# The truth is a wrapper's, which counts what it hands on to the library in that very run.
cat >"$tmp/count.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static unsigned long count[65536], all;
static void *(*next_malloc)(size_t), *(*next_realloc)(void *, size_t);
static void see(size_t size) { __atomic_fetch_add(&all, 1, 0); if (size < 65536) __atomic_fetch_add(&count[size], 1, 0); }
void *malloc(size_t size)
{
	if (!next_malloc) next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	see(size);
	return next_malloc(size);
}
void *realloc(void *old, size_t size)
{
	if (!next_realloc) next_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	if (!old) see(size);
	return next_realloc(old, size);
}
__attribute__((destructor)) static void tell(void)
{
	char text[64], name[32] = "";
	int comm = open("/proc/self/comm", O_RDONLY), out;
	if (read(comm, name, sizeof(name) - 1) < 0 || strcmp(name, "perl\n")) return;
	out = open(getenv("COUNT_OUT"), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	dprintf(out, "all %lu\n", all);
	for (unsigned long i = 0; i < 65536; i++)
		if (count[i] > 100 && write(out, text, (size_t)snprintf(text, sizeof(text), "libc 1 0x%lx %lu\n", i, count[i])) < 0) return;
}
END
script='my %h; $h{("k" x ($_ % 3 ? 40 : $_ % 2 ? 200 : 1000)) . sprintf("%06d", $_)} = 1 for 1 .. 30000; print scalar(keys %h), "\n"'
if "$cc" -shared -fPIC -O1 -w -o "$tmp/count.so" "$tmp/count.c" -ldl; then
	fresh
	PERL_HASH_SEED=0 COUNT_OUT=$tmp/counted LD_PRELOAD=$tmp/count.so "$pathprofd" --record --quiet \
		--db "$db" --value libc.so.6:malloc:1 -- perl -e "$script" >"$tmp/out.perl" 2>"$tmp/err"
	all=$(awk '$1 == "all" { print $2 }' "$tmp/counted")
	sort -k4,4 -rn "$tmp/counted" | grep libc | head -n 3 | awk '{ print $3, $4 }' >"$tmp/want"
	top malloc 1 >"$tmp/all"
	head -n 3 "$tmp/all" >"$tmp/got"
	check library-executions "$(figure malloc 1 executed), the wrapper saw $all" \
		true_that "$(figure malloc 1 executed) >= $all && $(figure malloc 1 executed) <= $all + 20"
	check library-top-values "$(paste -sd ';' "$tmp/want") but $(paste -sd ';' "$tmp/got")" \
		near 16 "$tmp/want" "$tmp/got" 1000
	check library-output "$(cat "$tmp/out.perl")" test "$(cat "$tmp/out.perl")" = 30000
	echo "# malloc in perl: $all executions, top $(paste -sd ';' "$tmp/want")"
else
	not_ok library "the wrapper does not compile"
fi

# ------------------------------------------------------------------ perf's way
# A kernel before 6.6: it does not know the other one.
cat >"$tmp/refuse.c" <<'END'
#include <errno.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/syscall.h>
long syscall(long number, ...)
{
	long a[6], r;
	va_list args;
	va_start(args, number);
	for (int i = 0; i < 6; i++) a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_bpf && a[0] == 28 && ((uint32_t *)a[1])[2] == 48) { errno = EINVAL; return -1; }
	register long r10 __asm__("r10") = a[3], r8 __asm__("r8") = a[4], r9 __asm__("r9") = a[5];
	__asm__ volatile("syscall" : "=a"(r) : "a"(number), "D"(a[0]), "S"(a[1]), "d"(a[2]), "r"(r10), "r"(r8), "r"(r9) : "rcx", "r11", "memory");
	if (r < 0 && r > -4096) { errno = (int)-r; return -1; }
	return r;
}
END
"$cc" -shared -fPIC -O1 -w -o "$tmp/refuse.so" "$tmp/refuse.c"
fresh
n=100000
LD_PRELOAD=$tmp/refuse.so "$pathprofd" --record --db "$db" --value pushed:1 --value pushed:2 -- \
	"$values" "$n" >"$tmp/out" 2>"$tmp/err" || true
check perf-way-said "$(cat "$tmp/err")" grep -q 'messages, by perf' "$tmp/err"
known perf
fresh
LD_PRELOAD=$tmp/refuse.so "$pathprofd" --record --quiet --db "$db" --value pushed:1 \
	--value pushed:2 -- "$values" "$n" fork >"$tmp/out" 2>"$tmp/err" || true
known perf-fork

# ------------------------------------------------------------------ without root
mkdir -m 777 "$tmp/user"
as_nobody() { # CAPABILITIES COMMAND...
	local caps=$1
	shift
	setpriv --reuid 65534 --regid 65534 --clear-groups --inh-caps "$caps" --ambient-caps "$caps" \
		--bounding-set "-all,$caps" "$@"
}
if [ "$(id -u)" -eq 0 ]; then
	kept=$db
	db=$tmp/user/p.db
	status=0
	as_nobody +bpf,+perfmon "$ctl" record --no-report -o "$db" --value pushed:1 --value pushed:2 \
		-- "$values" "$n" >"$tmp/out" 2>"$tmp/err" || status=$?
	if [ "$status" -ne 0 ] && ! grep -q 'uprobe.multi: Operation not permitted' "$tmp/err"; then
		echo "skip user: this kernel has no multi link: $(cat "$tmp/err")"
	else
		check user-status "$status: $(cat "$tmp/err")" test "$status" -eq 0
		check user-way "$(cat "$tmp/err")" grep -q 'by uprobe.multi' "$tmp/err"
		known user
	fi
	fresh
	status=0
	setpriv --reuid 65534 --regid 65534 --clear-groups "$ctl" record --no-report -o "$db" \
		--value pushed:1 -- touch "$tmp/user/ran" 2>"$tmp/err" || status=$?
	check no-rights "$status: $(cat "$tmp/err")" eval \
		'[ "$status" -eq 1 ] && grep -q -e "-value pushed:1: .*touch has no symbols" "$tmp/err"'
	setpriv --reuid 65534 --regid 65534 --clear-groups "$ctl" record --no-report -o "$db" \
		--value pushed:1 -- "$values" 10 >"$tmp/out" 2>"$tmp/err" || status=$?
	check no-rights-said "$(cat "$tmp/err")" grep -q 'CAP_BPF and CAP_PERFMON' "$tmp/err"
	check no-rights-not-run "it ran" test ! -s "$tmp/out"
	db=$kept
else
	echo "skip user: this run is not root's to give away"
fi

# ------------------------------------------------------------------ process ids of its own
if unshare --pid --fork --mount-proc true 2>"$tmp/err"; then
	fresh
	status=0
	unshare --pid --fork --mount-proc "$pathprofd" --record --quiet --db "$db" --value pushed:1 -- \
		"$values" 10 >"$tmp/out" 2>"$tmp/err" || status=$?
	check own-ids "$status: $(cat "$tmp/err")" eval \
		'[ "$status" -eq 1 ] && grep -q "outside of containers" "$tmp/err" && [ ! -s "$tmp/out" ]'
else
	echo "skip own-ids: $(cat "$tmp/err")"
fi

# ------------------------------------------------------------------ what cannot be
# refused NAME TEXT ARGUMENTS...: exit status 1 or 2, the text, and the command did not run.
refused() {
	local name=$1 text=$2 status=0
	shift 2
	fresh
	rm -f "$tmp/ran"
	record "$@" -- "$values" 10 >"$tmp/ran" || status=$?
	check "refused-$name" "$status: $(cat "$tmp/err")" eval \
		'{ [ "$status" -eq 1 ] || [ "$status" -eq 2 ]; } && grep -qF -- "$text" "$tmp/err" &&
			[ ! -s "$tmp/ran" ]'
}
refused misspelt 'nearest: pushed' --value pusshed:1
refused no-parameter 'ARG 1 to 6' --value pushed:7
refused nowhere 'nor in a library of it' --value dlopenn:1
fresh
status=0
record --value pusshed:1 -- "$values" 10 >"$tmp/out" || status=$?
check refused-no-database "a database was made" test ! -e "$db"
if command -v go >/dev/null; then
	cat >"$tmp/weigh.go" <<-'END'
		package main
		//go:noinline
		func Weigh(x int) int { return x * 3 }
		func main() { println(Weigh(20000)) }
	END
	HOME=$tmp GOFLAGS=-mod=mod go build -o "$tmp/weigh" "$tmp/weigh.go" 2>"$tmp/go.log" &&
		refused go 'a function of Go' --value "$tmp/weigh:main.Weigh:1" ||
		not_ok go "$(cat "$tmp/go.log")"
elif [ "${PATHPROF_ROUNDS:-short}" = full ]; then # half a gigabyte, which only check-all installs
	echo "skip values/go: no Go compiler is installed"
fi
refused no-file 'neither a program of $PATH nor a library' --value no-such-thing:f:1
refused stripped 'has no symbols' --value gzip:deflate:1
refused script 'is no ELF file' --value "$here/tests/run:f:1"
refused resolver 'chosen when a program starts' --value libc.so.6:memcpy:3
refused twice 'the same parameter as' --value pushed:1 --value "$values:pushed:1"
refused sampler 'not understood' --value pushed:1 --value-sampler X3
refused table-in-front 'leave the F out' --value pushed:1 --value-sampler 'F64P12'
refused table-too-large '2048 substreams' --value pushed:1 --value-sampler 'H[P2]65536'
refused sampler-alone 'only with --value' --value-sampler P1
cp "$values" "$tmp/values"
objcopy --redefine-sym stepped=pushed "$tmp/values" 2>"$tmp/err"
values=$tmp/values
refused ambiguous '2 functions of that name' --value pushed:1
place=$(sed -nE 's/.*: (0x[0-9a-f]+), 0x.*/\1/p' "$tmp/err")
fresh
record --value "$place:1" -- "$values" 1000 >"$tmp/out" || true
check by-place "$place: $(cat "$tmp/err")" test "$(figure pushed 1 executed)" = 1000

# Without the table of drops the values cannot be read: the shares alone are not enough.
sqlite3 "$db" "VACUUM INTO '$tmp/damaged.db'"
sqlite3 "$tmp/damaged.db" 'DROP TABLE value_drops'
status=0
"$ctl" --db "$tmp/damaged.db" values >"$tmp/out" 2>"$tmp/err" || status=$?
check damaged "exit status $status" test $status = 1

# ------------------------------------------------------------------ forgetting
check forget "$("$ctl" --db "$db" values --forget 2>&1)" "$ctl" --db "$db" values --forget
rows=$(sql "SELECT (SELECT count(*) FROM value_sites) + (SELECT count(*) FROM value_tops)")
check forgotten "$rows rows" test "$rows" = 0
finish
