#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A parcel as others read it: zstd takes the frame apart, protobuf's own decoder the message, and what
# it says is what parcel_write.c put in. The decoder is libprotoc's, which shares no code with the
# library's.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
. tests/vm/common.bash
for tool in zstd protoc-c; do
	command -v $tool >/dev/null || { echo "skip parcel_wire: no $tool (apt install zstd protobuf-c-compiler)" && exit 0; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$build/tests/tools/parcel_write" >"$work/parcel" || not_ok parcel_wire_written "parcel_write failed"
if zstd -qt "$work/parcel" && zstd -lv "$work/parcel" 2>&1 | grep -q 'Check: XXH64'; then
	ok parcel_wire_frame
else
	not_ok parcel_wire_frame "no zstd frame with a checksum: $(zstd -lv "$work/parcel" 2>&1 | paste -sd ';')"
fi

zstd -qdc "$work/parcel" |
	protoc-c --decode=pathprof.Parcel --proto_path=schema/wire parcel.proto >"$work/text" 2>"$work/said" ||
	not_ok parcel_wire_decoded "$(head -n 1 "$work/said")"
# Reasons are counted by position; this leaves the first few of both lists.
awk '/^    ends/ && ++ends > 2 || /^    drops/ && ++drops > 3 { if ($2) print; next } { print }' \
	"$work/text" >"$work/short"
cat >"$work/expected" <<'END'
version: 1
store: "0123456789abcdef"
slot: 1700000100
host {
  name: "one"
  model: "a CPU"
  kernel: "6.1"
  os: "an OS"
  cpus: 8
  sent_ns: 1234567
}
parts {
  source: 1
  basis: 1
  taken_wanted: 32
  horizon: 500
  clock_hz: 97
  clock_kernel: true
  weighed: true
  windows {
    id: 77
    begin_ns: 1700000098000000000
    end_ns: 1700000103000000000
    bursts: 101
    branches: 102
    taken: 103
    steps: 104
    paths: 105
    insns: 106
    pathless: 107
    stopped_ns: 108
    source_cpu_ns: 109
    ends: 0
    ends: 51
    drops: 0
    drops: 0
    drops: 61
    clock_samples: 110
  }
  binaries {
    id: "abcdefghij0123456789"
    kind: 1
    name: "/bin/first"
  }
  binaries {
    id: "jit"
    kind: 3
    name: "jit:7"
  }
  workloads {
    comm: "worker"
    container: "web.service"
    binary: 2
  }
  workloads {
    comm: "alone"
  }
  paths {
    binary: 1
    start: 4096
    length: 3
    outcomes: 5
    workload: 1
    samples: 11
    squares: 21
    weight: 24
    insns: 17
    looks: 1024
  }
  edges {
    from: 8192
    to_binary: 1
    to: -16
    workload: 1
    count: 31
    mispredicted: 6
    weight: 0.25
  }
  clocks {
    binary: 0
    binary: 2
    place: 16
    place: 4084
    workload: 0
    workload: 1
    samples: 41
    samples: 43
  }
}
names {
  id: "jit"
  kind: 3
  start: 4096
  start: 4080
  length: 5
  length: 1
  names: "first\000_Z6secondv\000"
  path_start: 4096
  path_length: 3
  path_outcomes: 5
  function: 71
  place: 73
  keys: 71
  keys: 79
}
END
if cmp -s "$work/expected" "$work/short"; then
	ok parcel_wire_fields
else
	not_ok parcel_wire_fields "$(diff "$work/expected" "$work/short" | head -n 5 | paste -sd ';')"
fi
finish
