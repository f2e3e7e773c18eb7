#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The cost of an exact trace: CPU time against that of the emulator alone on the same machine, and
# bits a transfer, of gzip over 10 MB of made-up text. The bound on time is loose; the figure is
# printed.
set -eu
. "$(dirname "$0")/trace_common.bash"
trace_needs "$tracer" "$dump"
trace_needs_qemu
most=12 # times as long as the emulator alone
cd "$work"

# Words of a vocabulary, frequent ones first, as in a language.
perl -e 'my ($x, $n) = (42, 0);
	my @words = map { my $w = $_; join "", map { chr(97 + ($w = $w * 31 + 7) % 26) } 0 .. 2 + $_ % 8 }
		1 .. 3000;
	while ($n < 10e6) {
		my $line = "";
		for (1 .. 12) {
			$x = ($x * 1103515245 + 12345) % 2147483648;
			$line .= $words[($x / 2147483648) ** 3 * 3000] . " ";
		}
		print $line, "\n";
		$n += length($line) + 1;
	}' >text

# cpu_ms COMMAND...: milliseconds of CPU time that it took; its output in the file out.
cpu_ms() {
	local TIMEFORMAT='%3U %3S'
	{ time "$@" >out 2>err; } 2>&1 | awk '{ printf "%d", 1000 * ($1 + $2) }'
}
# Both once more where something beside them disturbed one.
for _ in 1 2 3; do
	traced_ms=$(cpu_ms "$tracer" -q -o gzip.trace -- /usr/bin/gzip -6 -n -c text)
	mv out text.gz
	emulated_ms=$(cpu_ms qemu-x86_64 /usr/bin/gzip -6 -n -c text)
	[ "$traced_ms" -gt $((most * emulated_ms)) ] || break
done
native_ms=$(cpu_ms /usr/bin/gzip -6 -n -c text)
mv out native.gz

if cmp -s text.gz native.gz; then ok trace_speed_output; else not_ok trace_speed_output differs; fi
read -r _ branches _ bits _ _ _ whole < <("$dump" -c gzip.trace)
figures="$((branches / 1000000)) M transfers, $((branches / 1000 / traced_ms)) M/s, $((traced_ms / native_ms)) times native"
figures+=", $((10 * traced_ms / emulated_ms)) tenths of the emulator's time"
if [ "$whole" = 1 ] && [ "$traced_ms" -le $((most * emulated_ms)) ]; then
	ok "trace_speed ($figures)"
else
	not_ok trace_speed "$figures, whole $whole; $most times the emulator's time is the most"
fi
if awk "BEGIN { exit !($bits > 0 && $bits <= 1.5) }"; then
	ok "trace_size ($bits bits a transfer)"
else
	not_ok trace_size "$bits bits a transfer; 1.5 is the most"
fi
exit $failed
