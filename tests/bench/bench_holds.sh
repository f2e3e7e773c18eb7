#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# How long the step source holds a thread on a busy machine: four loops that never wait, two
# compressors and a redis server under load, all stepped. HOLDS_S seconds (default 60; the documented
# figures are of 1800), at a budget of HOLDS_PPM parts in a million (default 50000).
set -eum
build=$(realpath "${BUILD:-build}")
seconds=${HOLDS_S:-60}
work=$(mktemp -d)
cleanup() {
	local job
	for job in $(jobs -p); do kill -9 -- "-$job" 2>/dev/null || true; done
	wait 2>/dev/null || true
	rm -rf "$work"
}
trap cleanup EXIT
cd "$work"

for _ in 1 2 3 4; do (while :; do :; done) & done
(while :; do head -c 30000000 /dev/urandom | gzip -1c; done >/dev/null 2>&1) &
(while :; do head -c 30000000 /dev/urandom | bzip2 -c; done >/dev/null 2>&1) &
if command -v redis-server >/dev/null; then
	redis-server --unixsocket "$work/redis" --port 0 --save 5 1 --dir "$work" >redis.log &
	sleep 1
	(while :; do redis-benchmark -s "$work/redis" -q -n 200000 -P 8 -r 100000 -t set,get,lpush; done >/dev/null 2>&1) &
else
	echo "# redis-server is not installed: without it"
fi
"$build/tests/truth/bursts" -k -f 1000 -b "${HOLDS_PPM:-50000}" -s "$seconds" -a -i 1024 bursts.bin \
	sleep $((seconds + 5)) >/dev/null 2>err || true
cat err
echo "load $(cut -d' ' -f1-3 /proc/loadavg)"
python3 - "$seconds" <<'P'
import struct, sys

data = open("bursts.bin", "rb").read()
at, holds = 0, []
while at < len(data):
    size, = struct.unpack_from("<I", data, at)
    holds.append(struct.unpack_from("<Q", data, at + 24)[0] / 1e6)
    at += size
holds.sort()
n = len(holds)
if not n:
    sys.exit("no bursts")
of = lambda p: holds[min(n - 1, int(n * p))]
print(f"{n} bursts in {sys.argv[1]} s; held p50 {of(.5):.1f} ms, p99 {of(.99):.1f}, p99.9 {of(.999):.1f}, "
      f"longest {holds[-1]:.1f}; above 20 ms: {sum(h > 20 for h in holds)}")
P
