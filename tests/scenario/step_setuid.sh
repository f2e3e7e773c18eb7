#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A set-user-id program that a profiled command starts runs with its owner's rights, although the user
# who profiles it has none: of so many executions, in each of the ways that programs are started, none
# lacks them. (A thread that is traced as it executes such a program gets no rights by it.)
set -eu
. "$(dirname "$0")/step_common.bash"
. "$(dirname "$0")/../rounds.bash"
step_needs "$truth_dir/bursts" "$workload_dir/setuid_storm"

seconds=$(rounds 4 60)
if [ "$(id -u)" != 0 ]; then
	skip step_setuid "making a set-user-id program takes root"
	exit 0
fi
as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups -- "$@"; }

cp "$truth_dir/bursts" "$workload_dir/setuid_storm" "$work"
cp "$workload_dir/setuid_storm" "$work/program"
chmod 711 "$work"
chmod 4755 "$work/program"
mkdir -m 777 "$work/out"
if ! as_nobody "$work/program"; then
	skip step_setuid "$work lies on a file system without set-user-id programs"
	exit 0
fi

ran=0
for how in fork spawn exec system; do
	as_nobody "$work/bursts" -b 1000000 -f 4000 -t 32 "$work/out/bursts" "$work/setuid_storm" \
		$how "$work/program" "$seconds" >"$work/out/count" 2>"$work/out/figures" ||
		not_ok "step_setuid_$how" "$(tail -1 "$work/out/figures")"
	count=$(cat "$work/out/count")
	case $count in
	*' lacked 0 failed 0') ran=$((ran + $(sed 's/.*ran \([0-9]*\).*/\1/' "$work/out/count"))) ;;
	*) not_ok "step_setuid_$how" "$count" ;;
	esac
done
[ "$failed" != 0 ] || ok "step_setuid ($ran executions)"
exit $failed
