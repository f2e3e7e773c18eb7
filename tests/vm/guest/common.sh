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

# await_program NAME: until it runs. One that is started in the background may fail before.
await_program() {
	local tries
	for tries in $(seq 5000); do
		! pidof "$1" >/dev/null || return 0
		usleep 10000
	done
	echo "$1 does not start"
	return 1
}

# end_program NAME: until none is left. The next one of that name is not to be taken for it.
end_program() {
	killall -9 "$1"
	while pidof "$1" >/dev/null; do usleep 10000; done
}

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
