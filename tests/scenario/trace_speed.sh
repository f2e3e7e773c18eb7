#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What an exact trace costs: transfers a second and bits a transfer, of gzip over 10 MB of made-up
# text. The floor of speed is loose, for machines with neighbours; the figure is printed. The size
# does not depend on the machine.
set -eu
. "$(dirname "$0")/trace_common.bash"
trace_needs "$tracer" "$dump"
trace_needs_qemu
floor=20 # million transfers a second
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

start_ns=$(date +%s%N)
"$tracer" -q -o gzip.trace -- /usr/bin/gzip -6 -n -c text >text.gz
wall_ns=$(($(date +%s%N) - start_ns))
start_ns=$(date +%s%N)
/usr/bin/gzip -6 -n -c text >native.gz
native_ns=$(($(date +%s%N) - start_ns))

if cmp -s text.gz native.gz; then ok trace_speed_output; else not_ok trace_speed_output differs; fi
read -r _ branches _ bits _ _ _ whole < <("$dump" -c gzip.trace)
speed=$((branches * 1000 / wall_ns))
figures="$((branches / 1000000)) M transfers, $speed M/s, $((wall_ns / native_ns)) times native"
if [ "$whole" = 1 ] && [ "$speed" -ge $floor ]; then
	ok "trace_speed ($figures)"
else
	not_ok trace_speed "$figures, whole $whole; the floor is $floor M/s"
fi
if awk "BEGIN { exit !($bits > 0 && $bits <= 1.5) }"; then
	ok "trace_size ($bits bits a transfer)"
else
	not_ok trace_size "$bits bits a transfer; 1.5 is the most"
fi
exit $failed
