#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The Debian packages: they build, lintian has no complaint, each file is in the package it belongs
# to, and facts that packaging has to repeat are those of the makefile, the units and the licences.
# How they install, and the same bytes from another directory, are tests/packages'.
set -u
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
. tests/vm/common.bash
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# verdict NAME: what is in $work/wrong is what is wrong.
verdict() {
	if [ -s "$work/wrong" ]; then
		not_ok "$1" "$(paste -sd ';' "$work/wrong")"
	else
		ok "$1"
	fi
	rm -f "$work/wrong"
}
in_make() { make -s --eval="say-it: ; @echo $1" say-it; } # EXPRESSION

if ! make -s BUILD="$build" deb >"$work/log" 2>&1; then
	tail -n 20 "$work/log"
	not_ok packages_build "make deb failed"
	finish
fi
ok packages_build
version=$(in_make '$(VERSION)')
mkdir "$work/all"
for name in pathprof pathprof-dkms pathprof-lab libpathprof-dev; do
	deb=$(echo "$build/deb/${name}_${version}"_*.deb)
	mkdir "$work/$name"
	dpkg-deb -x "$deb" "$work/$name" && dpkg-deb -x "$deb" "$work/all" || exit 1
done

lintian --allow-root --fail-on error,warning "$build"/deb/*.changes >"$work/log" 2>&1 ||
	grep -E '^[EW]:' "$work/log" >"$work/wrong" || cp "$work/log" "$work/wrong"
verdict packages_lintian

# belongs PACKAGE FILE...
belongs() {
	local package=$1 file
	shift
	for file in "$@"; do
		[ -e "$work/$package/$file" ] || echo "$package lacks $file"
	done
}
{
	for program in $(in_make '$(notdir $(PROGRAMS))'); do
		[ -x "$work/all/usr/bin/$program" ] || echo "no package has $program"
		page=("$work/all/usr/share/man/"man?/"$program".?.gz)
		[ -e "${page[0]}" ] || echo "$program has no man page"
	done
	for unit in systemd/*.service; do belongs pathprof "lib/systemd/system/${unit##*/}"; done
	belongs pathprof usr/lib/sysusers.d/pathprof.conf lib/udev/rules.d/60-pathprof.rules \
		etc/pathprof/pathprofd.conf usr/share/man/man5/pathprofd.conf.5.gz \
		usr/share/bash-completion/completions/pathprofctl \
		usr/share/zsh/vendor-completions/_pathprofctl \
		usr/share/fish/vendor_completions.d/pathprofctl.fish
	belongs pathprof-lab usr/bin/pathprof-lab usr/bin/pathprof-trace usr/lib/pathprof/trace-plugin.so
	belongs pathprof-dkms "usr/src/pathprof-$version/dkms.conf" "usr/src/pathprof-$version/kmod/Kbuild"
	belongs libpathprof-dev usr/include/pathprof/store.h usr/lib/x86_64-linux-gnu/libpathprof.a \
		usr/lib/x86_64-linux-gnu/pkgconfig/pathprof.pc
} >"$work/wrong"
verdict packages_contents

"$work/all/usr/bin/pathprofctl" --version | grep -qx "pathprofctl $version" ||
	echo "pathprofctl says $("$work/all/usr/bin/pathprofctl" --version)" >"$work/wrong"
verdict packages_version

# No program and no object may say where it was compiled, its debug information neither.
grep -rlF -e "$(pwd)" -e "$(realpath "$build")" "$work/all" "$build/bin" "$build/libpathprof.a" | sed 's/$/ names the build directory/' >"$work/wrong"
verdict packages_no_path

# The compiler and its headers are Debian's to presume; libdebuginfod1 is for running.
in_make '$(BUILD_PACKAGES)' | tr ' ' '\n' | grep -vxE 'gcc|libc6-dev|linux-libc-dev|libdebuginfod1' |
	sort >"$work/makefile"
sed -n '/^Build-Depends:/,/^Standards/{s/^Build-Depends://;/^Standards/d;s/, */\n/g;p}' packaging/debian/control |
	sed 's/^ *//; s/ (.*//' | grep -vxE '|debhelper-compat|dh-.*' | sort >"$work/control"
comm -3 "$work/makefile" "$work/control" | tr -d '\t' |
	sed 's/$/ is not in both BUILD_PACKAGES and Build-Depends/' >"$work/wrong"
verdict packages_build_depends

# Purging takes every directory of state that a unit has.
sed -n 's/^StateDirectory=//p' systemd/*.service | while read -r state; do
	sed ':join; /\\$/{N; s/\\\n//; b join}' packaging/debian/pathprof.postrm | grep -qE "rm -rf .*/var/lib/$state( |\$)" ||
		echo "$state stays when the package is purged"
done >"$work/wrong"
verdict packages_state

# The manifest's capabilities are the unit's, but for the one that the unit holds while it starts: a
# node's kernel.perf_event_paranoid makes that one needless.
unit=$(sed -n 's/^AmbientCapabilities=//p' systemd/pathprofd.service | tr ' ' '\n' | sed 's/^CAP_//' |
	grep -vx SYS_ADMIN | sort)
manifest=$(sed -n 's/.* add: \[\(.*\)\]/\1/p' packaging/kubernetes/daemonset.yaml | tr -d ' ' | tr ',' '\n' | sort)
[ "$unit" = "$manifest" ] || echo "the manifest asks for" $manifest", the unit for" $unit >"$work/wrong"
verdict packages_manifest

# debian/copyright names where the library's licence holds, and SPDX lines say the same.
dual=$(sed -n '/^Files: libprofile/,/^Copyright/{s/^Files://;/^Copyright/d;p}' packaging/debian/copyright |
	tr -s ' \n' '\n' | sed 's/\./\\./g; s/\*/.*/; /./s/.*/^&$/' | grep .)
git ls-files -z | xargs -0 grep -lE 'SPDX-License-Identifier: GPL' | while read -r file; do
	spdx=$(grep -m1 -oE 'SPDX-License-Identifier: GPL-2.0-or-later( OR BSD-2-Clause)?' "$file")
	listed=no said=no
	grep -qE "$dual" <<<"$file" && listed=yes
	[[ $spdx != *BSD* ]] || said=yes
	[ $listed = $said ] || echo "$file: debian/copyright has another licence"
done >"$work/wrong"
verdict packages_licences
finish
