#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# x264: hand-written vector code, several threads.
. "$(dirname "$0")/programs_common.bash"
if have x264; then
	# noise that moves, 352x288
	head -c $((352 * 288 * 3 / 2 * 40)) /dev/urandom >noise.yuv
	program x264 x264 --quiet --input-res 352x288 --threads 2 --preset "$(rounds fast slow)" -o /dev/null noise.yuv
fi
finish
