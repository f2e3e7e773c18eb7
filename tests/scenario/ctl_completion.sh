#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Completion: verbs, each verb's own options, ids and names from the database; and a process that
# calls itself a command is never run. zsh and fish ask bash's, where it is installed. And the manual
# has every option that a program's help has.
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
completes "paths" "$ctl" pat
completes "--since" "$ctl" paths --si
completes "--max-age --max-size" "$ctl" vacuum --max
completes "paths functions callers edges binaries processes containers units comms" "$ctl" top --by ""
completes "1 2 3 4 5" "$ctl" show ""
completes "--sort" "$ctl" top --so
completes "time runs" "$ctl" paths --sort ""
completes "--kind" "$ctl" compare --ki
completes "weighed horizon taken branches" "$ctl" edges --kind ""
completes "kmod-lbr kmod-swlbr" "$ctl" record --source kmod
completes "bolt-preagg bolt-fdata" "$ctl" export -F bolt
completes "bolt-preagg bolt-fdata" "$ctl" import --format bolt
completes "perf.data perf-script" "$ctl" export --recording-format perf
completes "cfg" "$ctl" cf
completes "dot svg text" "$ctl" cfg --format ""
completes "--full-names --function" "$ctl" paths --fu
completes "--all --all-blocks" "$ctl" cfg --al
completes "alpha" "$ctl" --json paths --comm ""
completes "check" "$ctl" db ""
completes "set list rm" "$ctl" baseline ""
completes "write read add" "$ctl" parcel ""
touch "$dir/a.parcel"
completes "$dir/a.parcel" "$ctl" parcel read "$dir/a."
completes "--name" "$ctl" parcel write --na
completes "unscaled" "$ctl" combine --method u
completes "window:1 window:2 window:3 file:" "$ctl" compare ""
completes "window:2" "$ctl" compare window:1 window:2
completes "--baseline" "$ctl" drift --ba
completes "--explain" "$ctl" top --ex
completes "--certificates" "$ctl" top --cert

# The database that the words name is asked, not the one that would be.
"$known" "$dir/another.db"
"$known" "$dir/another.db" now
completes "window:1 window:2 window:3 window:4 file:" "$ctl" --db "$dir/another.db" compare ""
completes "window:4" "$ctl" compare --db = "$dir/another.db" window:4
completes "window:4" "$ctl" --db="$dir/another.db" compare window:4
HOME=$dir completes "window:4" "$ctl" compare --db '~/another.db' window:4

cat >"$dir/fake" <<END
#!/bin/sh
case \$* in *json) printf '%s\n' '[{"comm": "\$(touch $dir/ran)", "pid": 1},' '{"comm": "good"}]' ;;
*) $ctl "\$@" ;; esac
END
chmod +x "$dir/fake"
completes "good" "$dir/fake" paths --comm ""
[ ! -e "$dir/ran" ] || fail "a name from the database was run as a command"

# Completions are installed as by make; zsh's function adds answers by compadd, which here prints
# them.
share=$dir/share
install -D -t "$share/bash-completion/completions" "$completion"
install -D -t "$share/zsh/vendor-completions" "${completion%/*}/_pathprofctl"
install -D -t "$share/fish/vendor_completions.d" "${completion%/*}/pathprofctl.fish"
mkdir "$dir/bin" && ln -s "$ctl" "$dir/bin/pathprofctl"
export PATH=$dir/bin:$PATH HOME=$dir

in_zsh() {
	zsh -fc 'fpath=('"$share"'/zsh/vendor-completions $fpath); autoload -Uz _pathprofctl
		compadd() { while [[ $1 != -- ]]; do shift; done; shift; print -rl -- "$@"; }
		words=("$@") CURRENT=$#; _pathprofctl' zsh "$@"
}
in_fish() {
	fish --no-config -c "source $share/fish/vendor_completions.d/pathprofctl.fish
		complete -C (string join ' ' -- \$argv)" "$@"
}
# shells_complete WANT WORDS...
shells_complete() {
	local want=$1 shell got
	shift
	for shell in in_zsh in_fish; do
		got=$($shell "$@" | paste -sd ' ')
		[ "$got" = "$want" ] || fail "$shell $*: '$got', expected '$want'"
	done
}
shells_complete "paths" pathprofctl pat
shells_complete "--max-age --max-size" pathprofctl vacuum --max
shells_complete "1 2 3 4 5" pathprofctl show ""
shells_complete "window:2" pathprofctl compare window:1 window:2
shells_complete "window:4" pathprofctl --db "$dir/another.db" compare window:4
shells_complete "dot svg text" pathprofctl cfg --format ""

# untold PAGE: the options in the text that it reads which the page lacks.
untold() {
	grep -oE -e '--[a-z][a-z-]+' | sort -u | while read -r option; do
		grep -qF -e "${option//-/\\-}" "$1" || echo "$option"
	done
}
man=${completion%/*/*}/man
for page in pathprofd.8 pathprof-relay.8 pathprof-trace.1 pathprof-lab.1; do
	lacks=$("$BUILD/bin/${page%.*}" --help | untold "$man/$page")
	[ -z "$lacks" ] || fail "$page does not tell of $lacks"
done
if [ -e "$BUILD/bin/pathprof-cc" ]; then
	lacks=$("$BUILD/bin/pathprof-cc" --pathprof-help | untold "$man/pathprof-cc.1")
	[ -z "$lacks" ] || fail "pathprof-cc.1 does not tell of $lacks"
fi
verbs=$("$ctl" --help | sed -n '/^Verbs:/,/^$/s/^  \([a-z]*\) .*/\1/p')
lacks=$(for verb in "" $verbs; do "$ctl" $verb --help; done | untold "$man/pathprofctl.1")
[ -z "$lacks" ] || fail "pathprofctl.1 does not tell of $lacks"
[ "$(echo --frobnicate | untold "$man/pathprofd.8")" = --frobnicate ] || fail "a missing option passed"
finish
