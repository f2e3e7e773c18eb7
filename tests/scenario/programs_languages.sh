#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Go and Rust with symbols, Java and node with the maps that they write, and interpreters as Debian
# ships them, stripped.
. "$(dirname "$0")/programs_common.bash"
sources=$here/tests/workloads/programs

if have go; then
	GOCACHE=$tmp/gocache GOFLAGS=-mod=mod go build -o program_go "$sources/program.go" && program go ./program_go "$seconds"
fi
if have rustc; then
	rustc -O -g -o program_rust "$sources/program.rs" 2>rust.said && program rust ./program_rust "$(rounds 400 1000)"
fi
have node && program node node --perf-basic-prof "$sources/program.js" "$seconds"
if have javac java; then
	javac -d . "$sources/Program.java" && program java java -XX:+UnlockDiagnosticVMOptions -XX:+DumpPerfMapAtExit -cp . Program "$seconds"
fi
cat >work.py <<'END'
import json, sys, time
words = {"%d" % i: [i, str(i)] for i in range(3000)}
while time.process_time() < float(sys.argv[1]):
    sorted(json.loads(json.dumps(words)), key=lambda word: word[::-1])
END
have /usr/bin/python3 && program python /usr/bin/python3 work.py "$seconds"
have perl && program perl perl -e 'while ((times)[0] < $ARGV[0]) { my %h; $h{$_ * 7919 % 5003}++ for 1 .. 20000; my @s = sort { $h{$a} <=> $h{$b} || $a cmp $b } keys %h; join(",", @s) =~ s/(\d)7/$1/gr }' "$seconds"
have lua5.4 && program lua lua5.4 -e "while os.clock() < $seconds do local t = {} for i = 1, 5000 do t[i] = i * 7919 % 10007 end table.sort(t) local s = table.concat(t, ','):gsub('%d+', string.len) end"
finish
