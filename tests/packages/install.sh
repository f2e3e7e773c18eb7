#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The packages' life in a minimal Debian 12: the version before is installed and records, the upgrade
# keeps its profiles and the administrator's settings, removing keeps both, purging leaves no file.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/packages/common.bash
tree=$work/tree
before=0.0.9

fresh bookworm "$tree" >"$work/log" 2>&1
got install_tree $? "$work/log"
[ "$failed" = 0 ] || finish

# The same sources as the version before: another changelog is all it takes.
mkdir "$tree/debs"
copy_tree "$work/before"
sed -i "1s/($version)/($before)/" "$work/before/packaging/debian/changelog"
DEB_BUILD_OPTIONS="noautodbgsym parallel=$(nproc)" BUILD=build "$work/before/packaging/deb" >"$work/log" 2>&1
got install_build_before $? "$work/log"
[ "$failed" = 0 ] || finish
cp "$work"/before/build/deb/*.deb "$build"/deb/*"_${version}_"*.deb "$tree/debs"
rm -f "$tree"/debs/*dbgsym*

# What exists: files, links and directories, but for what apt, dpkg, depmod and adduser keep, logs and
# caches.
listing() {
	(cd "$tree" && find . -xdev \( -path ./proc -o -path ./debs -o -path ./tmp -o -path ./var/cache -o \
		-path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg \) -prune -o -print) |
		grep -vxE '\./(usr/lib/modules/.*/modules\..*|etc/(passwd|group|shadow|gshadow|subuid|subgid)-?|etc/\.pwd\.lock|etc/ld\.so\.cache)' | sort
}
apt() { # OPTION...
	inside "$tree" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
		-o Dpkg::Options::=--force-unsafe-io "$@" >"$work/log" 2>&1
}
names='pathprof pathprof-dkms pathprof-lab libpathprof-dev'
debs_of() { for name in $names; do ls "$tree/debs/${name}_$1"_*; done | sed "s|$tree||"; }

apt update
# The compiler and DKMS come and go with the packages; what they leave is not ours. A kernel's headers
# let DKMS build the module as the package is installed.
apt install dkms linux-headers-cloud-amd64 systemd qemu-user python3 $(inside "$tree" sh -c \
	"for deb in $(debs_of "$version" | paste -sd ' '); do dpkg-deb -f \$deb Depends; done" |
	tr ',' '\n' | sed 's/|.*//; s/(.*//' | sort -u)
got install_dependencies $? "$work/log"
listing >"$work/listing_before"

apt install $(debs_of $before)
got install_before $? "$work/log"
module() { find "$tree/lib/modules" -name 'pathprof.ko*' | wc -l; }
[ "$(module)" = 1 ] && ok install_module || not_ok install_module "DKMS has installed $(module) modules"
inside "$tree" getent passwd pathprof | grep -q :/var/lib/pathprof: &&
	ok install_user || not_ok install_user "there is no user pathprof"
find "$tree/etc/systemd" -name 'pathprof*' | grep -q . &&
	not_ok install_disabled "the service is enabled by installing it" || ok install_disabled

# Profiles as the service writes them, by the version before, and settings of the administrator.
cp "$loop" "$tree/tmp/loop"
inside "$tree" sh -ec 'mkdir -p /var/lib/pathprof/baselines /var/lib/pathprof-relay /var/lib/pathprof-hub; /tmp/loop & loop=$!
	timeout 60 pathprofd --db /var/lib/pathprof/profile.db --overhead 20% --window 2s --duration 9s
	kill $loop; pathprofctl windows --json' >"$work/log" 2>&1
windows() { inside "$tree" pathprofctl windows --json 2>"$work/said" | grep -c '"id"'; }
wanted=$(windows)
[ "$wanted" -gt 0 ]
got install_profiles $? "$work/log"
echo '# mine' >>"$tree/etc/pathprof/pathprofd.conf"

apt install $(debs_of "$version")
got upgrade $? "$work/log"
[ "$(inside "$tree" pathprofctl --version)" = "pathprofctl $version" ] && [ "$(windows)" = "$wanted" ] &&
	tail -n 1 "$tree/etc/pathprof/pathprofd.conf" | grep -qx '# mine' && ok upgrade_keeps ||
	not_ok upgrade_keeps "$(windows) windows of $wanted; $(cat "$work/said")"
[ "$(module)" = 1 ] && [ -z "$(find "$tree/usr/src" -name "pathprof-$before")" ] &&
	ok upgrade_module || not_ok upgrade_module "$(module) modules, $(ls "$tree/usr/src" | paste -sd ' ')"

apt remove $names
got remove $? "$work/log"
[ -s "$tree/var/lib/pathprof/profile.db" ] && [ -e "$tree/etc/pathprof/pathprofd.conf" ] && [ "$(module)" = 0 ] &&
	[ ! -e "$tree/usr/bin/pathprofd" ] && ok remove_keeps || not_ok remove_keeps "profiles, settings or programs are wrong"

inside "$tree" dpkg --purge $names >"$work/log" 2>&1
got purge $? "$work/log"
listing | comm -13 "$work/listing_before" - >"$work/left"
if [ -s "$work/left" ]; then
	not_ok purge_leaves_nothing "$(head -n 5 "$work/left" | paste -sd ' ')"
else
	ok purge_leaves_nothing
fi
finish
