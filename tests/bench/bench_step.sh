#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a window of the step source costs: decision stepping beside single stepping, in one run, on
# eight programs; and windows of instructions with and without the stacks that callers are found by.
# Seconds of each measurement: STEP_BENCH_S (default 20). Ratios are what counts; the
# machine decides the rest.
set -eu
build=$(realpath "${BUILD:-build}")
seconds=${STEP_BENCH_S:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

head -c 60000000 /dev/zero | openssl enc -aes-128-ctr -nosalt -pass pass:x 2>/dev/null |
	base64 -w 72 >text
gzip -k1 text
cat >loop.pl <<'P'
while (1) { my %h; $h{"k" . ($_ % 977)} .= chr(65 + $_ % 26) for 1 .. 50000; my $s = join ",", sort keys %h; $s =~ s/k(\d)/$1-/g; }
P
cat >loop.py <<'P'
import json
d = [{"a": i, "b": [str(i), i * 1.5, None]} for i in range(2000)]
while True: json.loads(json.dumps(d)); sorted(str(x) for x in range(5000))
P
cat >loop.lua <<'P'
while true do local t = {} for i = 1, 20000 do t[i] = tostring((i * 7919) % 10007) end table.sort(t) end
P
cat >loop.sql <<'P'
create table t(a, b); with recursive c(x) as (select 1 union all select x + 1 from c where x < 20000)
insert into t select x, (x * 7919) % 10007 from c;
with recursive c(x) as (select 1 union all select x + 1 from c where x < 5000000)
select count(*) from c, (select sum(a) from t where b like '%7%' group by b % 13);
P
{ for i in $(seq 3000); do echo "int f$i(int a, int *b) { int s = 0; for (int i = 0; i < a; i++) { if (b[i] > $i) s += b[i] * $i; else s ^= i; } return s; }"; done; } >big.c
cc1=$(${CC:-gcc} -print-prog-name=cc1)

declare -A command=(
	[gzip]="gzip -9c text" [bzip2]="bzip2 -9c text" [xz]="xz -6c text" [perl]="perl loop.pl"
	[python3]="python3 loop.py" [lua]="lua5.4 loop.lua" [sqlite3]="sqlite3 :memory: -init loop.sql .quit"
	[cc1]="$cc1 -quiet -O2 big.c -o /dev/null"
)

# One line of figures for a file of bursts: count a second, stops a taken branch, holds.
figures() { # FILE SECONDS
	python3 - "$1" "$2" <<'P'
import struct, sys
data = open(sys.argv[1], "rb").read()
at, holds, taken, steps, insns = 0, [], 0, 0, 0
while at < len(data):
    size, = struct.unpack_from("<I", data, at)
    held, = struct.unpack_from("<Q", data, at + 24)
    cnt, t, s = struct.unpack_from("<III", data, at + 48)
    holds.append(held / 1e3); taken += t; steps += s
    insns += struct.unpack_from("<I", data, at + 68)[0]
    at += size
holds.sort()
n = len(holds)
if not n: print("0 0 0 0 0"); raise SystemExit
print(f"{n / float(sys.argv[2]):.2f} {steps / max(taken, 1):.3f} {holds[n // 2]:.0f} {holds[min(n - 1, n * 99 // 100)]:.0f} {insns / n:.0f}")
P
}

measure() { # PROGRAM PPM LABEL OPTIONS...
	local program=$1 ppm=$2 label=$3
	shift 3
	# shellcheck disable=SC2086 # a command and its words
	"$build/tests/truth/bursts" -k -f 1000 -b "$ppm" -s "$seconds" "$@" bursts.bin \
		${command[$program]} >/dev/null 2>err || true
	echo "$program $ppm $label $(figures bursts.bin "$seconds")"
}

printf '%-8s %6s %-9s %9s %11s %8s %8s %8s\n' program budget stepping bursts/s stops/taken p50_us p99_us insns
for program in ${STEP_BENCH_PROGRAMS:-gzip bzip2 sqlite3 python3 perl lua cc1 xz}; do
	for ppm in ${STEP_BENCH_PPM:-5000 50000}; do
		measure "$program" "$ppm" single -o -t 32
		measure "$program" "$ppm" decision -t 32
		measure "$program" "$ppm" horizon -i 1024
		measure "$program" "$ppm" callers -i 1024 -c
	done
done | tee rows | while read -r a b c d e f g h; do
	printf '%-8s %5s%% %-9s %9s %11s %8s %8s %8s\n' "$a" \
		"$(awk "BEGIN{print $b/10000}")" "$c" "$d" "$e" "$f" "$g" "$h"
done
python3 - <<'P'
rows = {}
for line in open("rows"):
    p, ppm, label, rate, stops, p50, p99, insns = line.split()
    rows[p, ppm, label] = [float(x) for x in (rate, stops, p50, p99)]
for ppm in sorted({k[1] for k in rows}, key=int):
    pairs = [(rows[p, q, "single"], rows[p, q, "decision"]) for p, q, l in rows if q == ppm and l == "single"]
    pairs = [(s, d) for s, d in pairs if s[0] and d[0]]
    mean = lambda xs: sum(xs) / len(xs)
    print(f"budget {int(ppm) / 1e4:g} %: bursts a second x{mean([d[0] / s[0] for s, d in pairs]):.2f}, "
          f"stops a taken branch /{mean([s[1] / d[1] for s, d in pairs]):.2f}, "
          f"held median /{mean([s[2] / d[2] for s, d in pairs]):.2f}, p99 /{mean([s[3] / d[3] for s, d in pairs]):.2f}")
    pairs = [(rows[p, q, "horizon"], rows[p, q, "callers"]) for p, q, l in rows if q == ppm and l == "horizon"]
    pairs = [(h, c) for h, c in pairs if h[0] and c[0]]
    print(f"  with stacks: bursts a second x{mean([c[0] / h[0] for h, c in pairs]):.3f}, "
          f"stops a taken branch x{mean([c[1] / h[1] for h, c in pairs]):.3f}, held median x{mean([c[2] / h[2] for h, c in pairs]):.3f}")
P
