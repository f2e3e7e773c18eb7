#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# bash completion: verbs, each verb's own options, ids and names from the database; and a process
# that calls itself a command is never run.
set -eu
name=ctl_completion
. "$(dirname "$0")/ctl_common.bash"
completion=$(realpath "$(dirname "$0")/../../docs/completion/pathprofctl")

"$known" "$dir/known.db"
export PATHPROF_DB=$dir/known.db
. "$completion"

# completes WANT WORDS...: the last word is completed.
completes() {
	local want=$1
	shift
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
	_pathprofctl
	[ "${COMPREPLY[*]}" = "$want" ] || fail "$*: '${COMPREPLY[*]}', expected '$want'"
}
completes "paths" "$ctl" pa
completes "--since" "$ctl" paths --si
completes "--max-age --max-size" "$ctl" vacuum --max
completes "paths functions edges binaries processes" "$ctl" top --by ""
completes "1 2 3 4 5" "$ctl" show ""
completes "cfg" "$ctl" cf
completes "dot svg text" "$ctl" cfg --format ""
completes "--function" "$ctl" paths --fu
completes "--all --all-blocks" "$ctl" cfg --al
completes "alpha" "$ctl" --json paths --comm ""
completes "check" "$ctl" db ""
completes "set list rm" "$ctl" baseline ""
completes "unscaled" "$ctl" combine --method u
completes "window:1 window:2 window:3 file:" "$ctl" compare ""
completes "window:2" "$ctl" compare window:1 window:2
completes "--baseline" "$ctl" drift --ba

cat >"$dir/fake" <<END
#!/bin/sh
case \$* in *json) printf '%s\n' '[{"comm": "\$(touch $dir/ran)", "pid": 1},' '{"comm": "good"}]' ;;
*) $ctl "\$@" ;; esac
END
chmod +x "$dir/fake"
completes "good" "$dir/fake" paths --comm ""
[ ! -e "$dir/ran" ] || fail "a name from the database was run as a command"
finish
