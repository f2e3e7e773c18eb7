# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by what installs packages in trees of distributions: such trees, what runs in them, and a
# program that a recording is held against. The caller stands at the top of the sources.
unset MAKEFLAGS MAKEOVERRIDES MFLAGS MAKELEVEL
build=$(realpath "${BUILD:-build}")
. tests/vm/common.bash
work=$(mktemp -d)
# Mounts are in namespaces that end with their processes, so nothing but files can be here.
trap 'rm -rf "$work"' EXIT

version=$(sed -n '1s/^pathprof (\(.*\)).*/\1/p' packaging/debian/changelog)
loop=$build/tests/workloads/share_loop

# fresh SUITE DIRECTORY [OPTION...]: a minimal tree of a distribution, fetched once by mmdebstrap.
fresh() {
	local suite=$1 directory=$2 tar=$build/packages/$1.tar
	shift 2
	mkdir -p "$build/packages" "$directory"
	if [ ! -e "$tar" ]; then
		unshare --mount mmdebstrap --variant=minbase --format=tar "$@" "$suite" "$tar.new" \
			>"$build/packages/$suite.log" 2>&1 && mv "$tar.new" "$tar" || return 1
	fi
	tar -xf "$tar" -C "$directory"
	cp -L /etc/resolv.conf "$directory/etc/resolv.conf"
}

# copy_tree DIRECTORY: these sources, with nothing that was built.
copy_tree() {
	local entry
	mkdir "$1"
	for entry in *; do [ "$entry" -ef "$build" ] || cp -a "$entry" "$1"; done
}

# inside TREE COMMAND...: chrooted, in a process namespace of its own. A profiler there sees only what the
# command starts, and all of it ends with the command. Packages that apt fetches are kept for the next tree
# of the same distribution if $archives names a directory for them.
inside() {
	unshare --mount --pid --fork --kill-child sh -c 'mount -t proc proc "$1/proc" &&
		{ [ -z "$archives" ] || mount --bind "$archives" "$1/var/cache/apt/archives"; } &&
		cd / && chroot "$@"' sh "$@"
}
export archives=

# got NAME STATUS LOG: the verdict, with the log's last lines if it failed.
got() {
	if [ "$2" -eq 0 ]; then
		ok "$1"
	else
		tail -n 15 "$3"
		not_ok "$1" "$(tail -n 1 "$3")"
	fi
}

# records TREE PREFIX: pathprofctl of a tree profiles a program there, and `show` has names and lines
# of its source.
records() {
	cp "$loop" "$1/tmp/loop"
	inside "$1" sh -ec "cd /tmp; export XDG_STATE_HOME=/tmp PATH=$2/bin:\$PATH
		pathprofctl --version; pathprofd --version
		rm -f x.db; timeout 60 pathprofctl record --db x.db --overhead 50% -- timeout 5 ./loop || true
		pathprofctl --db x.db top -n 5
		pathprofctl --db x.db show \$(pathprofctl --db x.db paths --json --function churn -n 1 |
			sed -n 's/.*\"id\": \\([0-9]*\\).*/\\1/p' | head -n 1)"
}
# recorded LOG
recorded() {
	grep -qx "pathprofctl $version" "$1" && grep -q 'RUNS: [0-9]* bursts' "$1" &&
		grep -q '^path [0-9]*  churn' "$1" && grep -q 'share_loop\.c:[0-9]' "$1"
}
