# SPDX-License-Identifier: GPL-2.0-or-later
# Begins a scenario with a hub: sourced with `name` set and the tools that it needs as arguments. It goes on
# in a directory of its own, which goes at the end with the process `server`.
set -u
build=$(realpath "${BUILD:-build}")
hub=$build/bin/pathprof-hub ctl=$build/bin/pathprofctl
for tool in "$@"; do
	command -v "$tool" >/dev/null || { echo "skip $name: no $tool" && exit 0; }
done
dir=$(mktemp -d)
server=
trap 'kill -9 $server 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1
failed=0
ok() { echo "ok $name: $1"; }
not_ok() { echo "not ok $name: $1: $2"; failed=1; }
