# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the guest's parts: ok / not ok lines, loading the module, figures out of a line.
failed=0
ok() { echo "ok $1"; }
not_ok() {
	echo "not ok $1: $2"
	failed=1
}

# load [VARIANT]: the module as it is shipped, or one with a guard removed.
load() {
	insmod "/modules/pathprof${1:+-$1}.ko" && [ -c /dev/pathprof ]
}
unload() { rmmod pathprof; }

# figure FILE WORD: the number after WORD in the last line of FILE that has it.
figure() {
	sed -n "s/.*\b$2 \([0-9]*\).*/\1/p" "$1" | tail -1 | grep . || echo 0
}

# run_check NAME COMMAND...: ok when it succeeds, with its last line.
run_check() {
	local name=$1
	shift
	if "$@" >/tmp/check 2>&1; then
		ok "$name ($(tail -1 /tmp/check))"
	else
		not_ok "$name" "status $?: $(tail -3 /tmp/check | tr '\n' ';')"
		grep -v '^#' /tmp/check | head -15 | sed 's/^/#   /'
	fi
	grep '^#' /tmp/check
	true
}
