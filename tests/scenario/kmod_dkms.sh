#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The tree of `make dkms` through DKMS: added, built for every cloud kernel whose headers are there,
# and signed, as an installation would do it. Everything DKMS writes stays in a temporary directory.
set -u
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$(dirname "$0")/../vm/common.bash"

mapfile -t releases < <(kernel_releases '*')
if ! command -v dkms >/dev/null || [ ${#releases[@]} -eq 0 ]; then
	echo "skip kmod_dkms: needs dkms and the headers of a kernel (tests/vm/kernels)"
	exit 0
fi

make -s DESTDIR="$work" dkms || exit 1
tree=$(echo "$work"/usr/src/pathprof-*)
version=${tree##*-}
# DKMS takes these from here where no configuration names others, and makes the keys.
export mok_signing_key=$work/mok.key mok_certificate=$work/mok.der
mkdir "$work/tree" "$work/modules"
on_tree() {
	dkms "$@" -m pathprof -v "$version" --sourcetree "$work/usr/src" --dkmstree "$work/tree" \
		--installtree "$work/modules" >"$work/log" 2>&1
}
why() { grep -m1 -iE 'error|bad' "$work/log" || tail -1 "$work/log"; }

# The module that was built for a release, unpacked if DKMS compressed it as the kernel's own are.
built_for() { # RELEASE
	local module
	module=$(find "$work/tree/pathprof/$version/$1" -name 'pathprof.ko*' 2>/dev/null)
	case $module in
	*.xz) xz -d "$module" && module=${module%.xz} ;;
	*.zst) zstd -q -d --rm "$module" && module=${module%.zst} ;;
	esac
	echo "$module"
}

# One that another kernel would take, or that nobody vouches for, would be worth nothing.
examine() { # RELEASE
	local module
	module=$(built_for "$1")
	if [ "$(modinfo -F vermagic "$module" | cut -d' ' -f1)" != "$1" ]; then
		not_ok "dkms_build_$1" "made for $(modinfo -F vermagic "$module")"
	elif [ "$(modinfo -F sig_id "$module")" != PKCS#7 ]; then
		not_ok "dkms_build_$1" "not signed"
	else
		ok "dkms_build_$1"
	fi
}

if on_tree add; then ok dkms_add; else not_ok dkms_add "$(why)"; fi
for release in "${releases[@]}"; do
	headers=$(headers_of "$release")
	export sign_file=$headers/scripts/sign-file
	if on_tree build -k "$release" --kernelsourcedir "$headers"; then
		examine "$release"
	else
		not_ok "dkms_build_$release" "$(why): $(find "$work/tree" -name make.log -exec tail -3 {} + | tr '\n' ';')"
	fi
done
if on_tree remove --all && ! [ -e "$work/tree/pathprof/$version" ]; then
	ok dkms_remove
else
	not_ok dkms_remove "$(why)"
fi
finish
