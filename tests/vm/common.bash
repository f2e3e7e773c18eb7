# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by what builds and runs the kernel module: ok / not ok lines, where kernels lie, and the
# verdict on a build.
failed=0

ok() { echo "ok $1"; }
not_ok() {
	echo "not ok $1: $2"
	failed=1
}
finish() { exit $failed; }

# Which of Debian's kernels: cloud or rt. Each kind is fetched into a directory of its own.
kind=${VM_KIND:-cloud}
fetched_root=$(realpath -m "${BUILD:-build}")/vm/kernels
[ "$kind" = cloud ] || fetched_root+=-$kind

# What tests/vm/kernels fetched, or VM_ROOT; then the machine's own.
kernel_roots=("${VM_ROOT:-$fetched_root}" '')
in_roots() { # PATH
	local root
	for root in "${kernel_roots[@]}"; do
		[ ! -e "$root/$1" ] || { echo "$root/$1" && return; }
	done
}
headers_of() { in_roots "usr/src/linux-headers-$1"; }
image_of() { in_roots "boot/vmlinuz-$1"; }

# kernel_releases PATTERN: the kernels of this kind whose headers are there.
kernel_releases() {
	local root directory release
	for root in "${kernel_roots[@]}"; do
		for directory in "$root"/usr/src/linux-headers-*-"$kind"-amd64; do
			release=${directory##*/linux-headers-}
			# shellcheck disable=SC2053 # a pattern
			[ -d "$directory" ] && [[ $release == $1 ]] && echo "$release"
		done
	done | sort -uV
}

# verdict_build NAME STATUS LOG: warnings count, nobody sees them otherwise. But for what says nothing
# of the module: no kernel to take type information from, another name for the same compiler.
no_matter='Skipping BTF|(compiler|pahole version) differs'
verdict_build() {
	if [ "$2" -ne 0 ]; then
		not_ok "$1" "$(grep -m1 -E 'error|Error' "$3" || tail -1 "$3")"
	elif grep -iE 'warning|error:' "$3" | grep -q -v -E "$no_matter"; then
		not_ok "$1" "$(grep -iE 'warning|error:' "$3" | grep -m1 -v -E "$no_matter")"
	else
		ok "$1"
	fi
}
