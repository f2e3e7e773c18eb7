#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The image by its Containerfile, and its pathprofd as the DaemonSet runs it: a root that cannot be
# written, the capabilities of the manifest and no other, no network. It profiles a program outside.
set -u
. "$(dirname "$0")/../own_processes.bash"
cd "$(dirname "$0")/../.." || exit 1
. tests/packages/common.bash
builder=(buildah --root "$work/containers" --runroot "$work/run" --storage-driver vfs)
clean() {
	"${builder[@]}" umount --all
	"${builder[@]}" rm --all
	"${builder[@]}" rmi --all --force
} >/dev/null 2>&1
trap 'clean; rm -rf "$work"' EXIT

# Debian's image is a minimal Debian: without a registry ours takes its name.
base() {
	local container
	fresh bookworm "$work/base" && container=$("${builder[@]}" from scratch) &&
		"${builder[@]}" add -q "$container" "$build/packages/bookworm.tar" / &&
		"${builder[@]}" commit -q "$container" docker.io/library/debian:12-slim &&
		"${builder[@]}" rm "$container"
}
base >"$work/log" 2>&1
got container_base $? "$work/log"
"${builder[@]}" build --isolation chroot --network host --pull-never -f packaging/oci/Containerfile \
	-t pathprof "$build/deb" >"$work/log" 2>&1
got container_build $? "$work/log"
[ "$failed" = 0 ] || finish
root=$("${builder[@]}" mount "$("${builder[@]}" from --pull-never pathprof)") || exit 1

# What the manifest asks for: its volumes' paths, and its capabilities as setpriv takes them.
from_manifest() { # EXPRESSION
	/usr/bin/python3 -c "import yaml
pod = [d for d in yaml.safe_load_all(open('packaging/kubernetes/daemonset.yaml'))
       if d['kind'] == 'DaemonSet'][0]['spec']['template']['spec']
box = pod['containers'][0]
print($1)"
}
capabilities=$(from_manifest "','.join('+' + c.lower() for c in box['securityContext']['capabilities']['add'])")
mkdir "$work/state" "$work/config" "$work/runtime"
from_manifest "next(d for d in yaml.safe_load_all(open('packaging/kubernetes/daemonset.yaml'))
  if d['kind'] == 'ConfigMap')['data']['pathprofd.conf']" >"$work/config/pathprofd.conf"
sed -i 's/^Overhead=.*/Overhead=20%/' "$work/config/pathprofd.conf"

# contained COMMAND...
contained() {
	unshare --mount --net --ipc --uts sh -ec '
		root=$1 work=$2 capabilities=$3; shift 3
		mount --bind "$root" "$root"
		mkdir -p "$root/var/lib/pathprof" "$root/run/pathprof" "$root/etc/pathprof"
		mount --bind "$work/state" "$root/var/lib/pathprof"
		mount --bind "$work/config" "$root/etc/pathprof"
		mount --bind "$work/runtime" "$root/run/pathprof"
		mount -t tmpfs tmp "$root/tmp"
		mount -t proc proc "$root/proc"
		mount -o bind,remount,ro "$root"
		exec chroot "$root" setpriv --no-new-privs --bounding-set "-all,$capabilities" --inh-caps -all "$@"' \
		sh "$root" "$work" "$capabilities" "$@"
}

"$loop" >/dev/null &
outside=$!
contained sh -c '! touch /root/x 2>/dev/null && ! mknod /tmp/x c 1 3 2>/dev/null' >"$work/log" 2>&1
got container_walls $? "$work/log"
contained pathprofd --window 5s --duration "${CONTAINER_S:-30}s" >"$work/daemon" 2>&1 &
daemon=$!
probe=$(from_manifest "' '.join(box['livenessProbe']['exec']['command'])")
alive=1
for _ in {1..100}; do
	# shellcheck disable=SC2086 # words
	contained $probe >"$work/log" 2>&1 && alive=0 && break
	sleep 0.2
done
got container_lives $alive "$work/log"
wait $daemon
got container_runs $? "$work/daemon"
# shellcheck disable=SC2086
if contained $probe >"$work/log" 2>&1; then
	not_ok container_death_seen "the probe calls a daemon alive that has ended"
else
	ok container_death_seen
fi
contained pathprofctl paths --since @0 --binary share_loop >"$work/log" 2>&1
grep -q '%.* share_loop' "$work/log"
got container_profiles_outside $? "$work/log"
kill $outside
# Root in there may not become another user, and reads binaries all the same.
cp "$loop" "$work/config/loop"
contained sh -c 'cd /tmp && cp /etc/pathprof/loop . &&
	{ pathprofctl record --db x.db --overhead 50% -- timeout 5 ./loop || true; }
	pathprofctl --db x.db top --by functions' >"$work/log" 2>&1
grep -q ' churn ' "$work/log" && ! grep -q 'is gone' "$work/log"
got container_names $? "$work/log"
finish
