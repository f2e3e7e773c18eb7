#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# One program gives way to another, and that is no drift of the library that both use: what libc does
# is judged program by program. Then one of them begins to use it otherwise, and that is.
#
# Waiting is for what was measured, not for time.
. "$(dirname "$0")/daemon_common.bash"
. "$(dirname "$0")/../rounds.bash"

limit=${LIMIT_SECONDS:-1200}
libc=$(realpath "$(ldd "$(command -v sleep)" | awk '/libc\.so/ { print $3 }')")
# If each instruction is a stop of its own, 2 ms hold few whole paths.
conf=$tmp/p.conf
cat >"$conf" <<END
[Profile]
Source=step
Overhead=100%
FrequencyHz=1997
HoldMaxSec=20ms
WindowSec=$(rounds 6 8)
[Drift]
SamplesMin=15
Previous=no
[Tell]
Journal=no
[Alert fast]
Binary=$libc
Threshold=0.3
Hysteresis=0.1
SamplesMin=15
CoolDown=0
[Alert slow]
Enabled=no
END
# Few paths of libc, so that a window of some tens of samples shows that they are others.
cat >"$tmp/draws.c" <<'END'
#include <stdlib.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	volatile long sum = 0;
	for (;;) {
		int other = access(argv[1], F_OK) == 0;
		for (int i = 0; i < 20000; i++)
			sum += other ? strtol("123456789", NULL, 10) : rand();
	}
}
END
cat >"$tmp/scans.c" <<'END'
#include <stdlib.h>
#include <stdio.h>
int main(void)
{
	static char text[40];
	volatile double sum = 0;
	for (unsigned int seed = 1;; seed++) {
		sprintf(text, "%u.%u", seed, seed % 1000);
		sum += strtod(text, NULL) + atoi(text);
	}
}
END
gcc -O2 -o "$tmp/draws" "$tmp/draws.c" && gcc -O2 -o "$tmp/scans" "$tmp/scans.c" || { not_ok compile "gcc failed"; finish; }

measured() {
	sql "SELECT count(*) FROM drift d JOIN binaries b ON b.id = d.binary WHERE b.name = '$libc'
		AND d.window > ${1:-0} ${2:-}" 2>/dev/null || echo 0
}
has_measured() { [ "$(measured "$1" "${3:-}")" -ge "$2" ]; }
figures() {
	sql "SELECT group_concat(round(d.kl, 2) || ' ' || round(d.kl_corrected, 2) || ' >' || round(d.kl_low, 2) ||
		' of ' || cast(d.window_samples AS INTEGER) || ' matched ' || round(d.matched, 2), '; ')
		FROM drift d JOIN binaries b ON b.id = d.binary WHERE b.name = '$libc' AND d.window > ${1:-0}"
}
last_window() { sql "SELECT max(id) FROM windows"; }
alert() { sql "SELECT coalesce(max($1), 0) FROM alerts WHERE rule = 'fast'"; }
is_firing() { [ "$(alert phase)" = 2 ]; }

"$tmp/draws" "$tmp/other" &
draws=$!
"$tmp/scans" &
scans=$!
trap 'kill -9 $draws $scans 2>/dev/null || true; cleanup' EXIT
start_judged 15 "$libc" || { not_ok start "the daemon did not start"; finish; }
wait_for "$limit" has_measured 0 4 || true
check both-measured "$(figures)" has_measured 0 4
kill -9 $scans
wait $scans 2>/dev/null || true
since=$(last_window)
wait_for "$limit" has_measured $((since + 1)) 4 || true
check one-alone-measured "$(figures "$since")" has_measured $((since + 1)) 4
echo "# $(figures "$since")"
# Some windows in hundreds lie outside of their intervals by chance; what is taken for drift always.
drifted=$(measured $((since + 1)) 'AND kl_low > 0.3')
check no-drift "$(figures "$since")" test $((4 * drifted)) -le $((4 + $(measured $((since + 1)))))
check no-alarm "$(figures "$since")" test "$(alert fired_ns)" = 0
: >"$tmp/other"
wait_for "$limit" is_firing || true
check other-use-fires "$(figures "$since")" is_firing
stop
kill -9 $draws
wait $draws 2>/dev/null || true
finish
