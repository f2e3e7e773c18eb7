# SPDX-License-Identifier: GPL-2.0-or-later
# Shared by the scenarios of pathprof-lab: the program in $lab, a directory of their own to be in,
# and how a result is told. failed ends the script: exit $failed.
set -eu
build=${BUILD:-build}
lab=$(realpath "$build/bin/pathprof-lab")
here=$(realpath "$(dirname "${BASH_SOURCE[0]}")")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
failed=0

ok() { echo "ok lab $1"; }
not_ok() { echo "not ok lab $1: $2"; failed=1; }
