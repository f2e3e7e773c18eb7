#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The commands that pages, manual pages, units and messages tell their readers exist, with the options
# they are told with.
here=$(cd "$(dirname "$0")/../.." && pwd)
command -v python3 >/dev/null || { echo "skip commands_told: no python3"; exit 0; }
build=$(realpath "${BUILD:-build}")
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
python3 "$here/tests/scenario/commands_told.py" "$build/bin" "$here"
