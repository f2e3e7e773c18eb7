#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How far real recordings are apart when nothing changed, and when much did: bzip2 on text again
# and again, beside bzip2 on machine code. `tests/bench/drift_recordings.sh [TIMES]`; the table in
# docs/drift.md is of 16.
set -eu
build=${BUILD:-build}
ctl=$(realpath "$build/bin/pathprofctl")
times=${1:-16}
here=$(dirname "$(realpath "$0")")/../..
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
head -c 8000000 < <(while cat "$here"/docs/*.md; do :; done) >"$work/text"
head -c 8000000 < <(while cat "$ctl"; do :; done) >"$work/code"
for i in $(seq "$times"); do
	for kind in text code; do
		"$ctl" record -o "$work/$kind$i.db" -- bzip2 -c "$work/$kind" >"$work/out" 2>"$work/err" ||
			{ cat "$work/err" >&2; exit 1; }
	done
	[ ! -t 2 ] || printf '\r%s of %s' "$i" "$times" >&2
done
[ ! -t 2 ] || echo >&2
python3 - "$ctl" "$work" "$times" <<'END'
import json, statistics, subprocess, sys
ctl, work, times = sys.argv[1], sys.argv[2], int(sys.argv[3])

def figures(a, b):
    words = [ctl, "compare", "--json", f"file:{work}/{a}.db", f"file:{work}/{b}.db"]
    return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)["figures"]

pairs = {"the same": [(f"{kind}{i}", f"{kind}{(i + apart - 1) % times + 1}")
                      for kind in ("text", "code") for i in range(1, times + 1)
                      for apart in (1, 2) if times > apart],
         "text, code": [(f"text{i}", f"code{i}") for i in range(1, times + 1)]}
print("| pairs | plain D | by chance | corrected: mean | sd | said to be (half of the interval / 2.58) "
      "| found different |")
print("|---|---:|---:|---:|---:|---:|---:|")
for name, list_of in pairs.items():
    got = [figures(a, b) for a, b in list_of]
    mean = lambda key: statistics.mean(f[key] for f in got)
    corrected = [f["kl_corrected_bits"] for f in got]
    half = statistics.mean(f["kl_high_bits"] - f["kl_corrected_bits"] for f in got)
    print(f"| {name}, {len(got)} | {mean('kl_bits'):.2f} | {mean('kl_chance_bits'):.2f} "
          f"| {mean('kl_corrected_bits'):.2f} | {statistics.stdev(corrected):.2f} | {half / 2.576:.2f} "
          f"| {sum(f['kl_low_bits'] > 0 for f in got)} |")
END
