#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# What a branch costs in the BPF collector beside the same steps in user space, and how many bytes a
# sample brings beside a raw copy of its branch stack, over gzip, bzip2, perl and sqlite3: docs/bpf.md.
#
#     BUILD=build tests/bench/bench_bpf.sh
#
# Two million branches of each are timed, in turns of 2048. Needs the right to load BPF.
set -u
cd "$(dirname "$0")/../.." || exit 1
BUILD=${BUILD:-build} BPF_OTHERS=64 BPF_ROUNDS=32 tests/bpf/run.sh |
	grep -E '^(# bpf-(speed|bytes)|# bpf-verifier|not ok|skip)'
