#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# The live screen in tmux: it comes up, switches views, shows a path and the help, follows a
# resize, notices a new window, and leaves the terminal as it was.
set -eu
name=ctl_top
. "$(dirname "$0")/ctl_common.bash"
unset COLUMNS # the terminal's own width

command -v tmux >/dev/null || {
	echo "skip $name: tmux is not installed"
	exit 0
}
screen() { tmux -S "$dir/tmux" "$@"; }
trap 'screen kill-server 2>/dev/null || true; cleanup' EXIT

# sees PATTERN [-t SESSION]: the screen shows it, within a minute.
sees() {
	for ((i = 0; i < 600; i++)); do
		screen capture-pane -p "${@:2}" >"$dir/got"
		grep -q "$1" "$dir/got" && return
		sleep 0.1
	done
	cat "$dir/got"
	fail "the screen never showed '$1'"
}
press() { screen send-keys "$@"; }

# A window that a clock wrote which was a day ahead hides none of those of now, and is not one of them.
"$known" "$dir/ahead.db" now
"$known" "$dir/ahead.db" now
sqlite3 "$dir/ahead.db" 'UPDATE windows SET begin_ns = begin_ns + 86400000000000, end_ns = end_ns + 86400000000000 WHERE id = 1'
run 0 --db "$dir/ahead.db" top
grep -q ' 600  alpha+0x1000' "$dir/got" || fail "top beside a window of tomorrow: $(cat "$dir/got")"
grep -q '1 window ends later than now' "$dir/said" || fail "top says nothing of a window of tomorrow"
sqlite3 "$dir/ahead.db" 'UPDATE windows SET begin_ns = begin_ns + 86400000000000, end_ns = end_ns + 86400000000000 WHERE id = 2'
run 0 --db "$dir/ahead.db" top
grep -q ' 1200  alpha+0x1000' "$dir/got" || fail "top where all windows are of tomorrow: $(cat "$dir/got")"

db=$dir/known.db
"$known" "$db" now
export LC_ALL=C.UTF-8 TERM=screen
screen -f /dev/null new-session -d -x 120 -y 20 \
	"env LC_ALL=C.UTF-8 '$ctl' --db '$db' top; echo left with \$?; sleep 60"

sees 'pathprof paths  last 5min, newest .* old  1000 samples'
sees '20.00%  ██████████  .* 4.00% .*40  Main::run(int)+0x10'
sees '17.42%  █.* 60.00% .*600  alpha+0x1000 .*TTNT'
sees ' TIME .* RUNS  SAMPLES'
press t
sees ' RUNS .* TIME  SAMPLES'
sees '60.00%  ██████████  .*17.42% .*600  alpha+0x1000 .*TTNT'
press t
sees ' TIME .* RUNS  SAMPLES'
press f
sees 'pathprof functions'
sees '15.00%  █.* -  *0 .*\[kernel\]'
press e
sees 'pathprof edges'
sees '70.00% .*700  alpha+0x1010 .*alpha+0x1000'
press b
sees '/nonexistent/bin/alpha'
press r
sees '5555 .*x1b\[2Jevil'
press h
sees 'binaries$'
press q
press p
sees 'pathprof paths'
press Down Down Enter
sees 'path 3  alpha+0x2000'
sees 'time      14.52%'
sees 'not available'
press q
sees 'SAMPLES'
press End
press Home
press NPage
press PPage

screen resize-window -x 60 -y 8
sees '17.42%'
[ "$(wc -L <"$dir/got")" -le 60 ] || fail "a line is longer than the resized terminal"
screen resize-window -x 20 -y 3
sleep 0.3
screen resize-window -x 120 -y 20
sees 'TTNT'

# A word that rows have, a longer span and back, and all of it at forty columns.
press r
sees 'pathprof processes'
press / e v i l
sees '^ */evil_'
sees '5555 .*x1b\[2Jevil'
! grep -q ' 4242 ' "$dir/got" || fail "a row without the word is shown"
press Enter
sees '/evil  / and escape show all'
press Escape
sees ' 4242 '
press +
sees 'last 15min'
press -
sees 'last 5min'
screen resize-window -x 40 -y 12
sees 'q quit  h help'
sees '[0-9]%.* 4242 '
[ "$(wc -L <"$dir/got")" -le 40 ] || fail "a line is longer than forty columns"
screen resize-window -x 120 -y 20
press c
sees 'pathprof containers'
sees ' web-1'

# Enter on a container, a process or a binary leaves its functions; escape leads back.
press Enter
sees 'pathprof functions of container web-1  last 5min'
sees 'only container web-1  escape shows all'
press p
sees 'pathprof paths of container web-1'
press b Enter
sees 'pathprof functions of binary alpha  last'
press Escape
sees 'pathprof binaries  last 5min'
press r Enter
sees 'pathprof functions of process [0-9][0-9]* [a-z]'
press Escape
sees 'pathprof processes  last 5min'
press b
sees '/nonexistent/bin/alpha'
press Enter
sees 'pathprof functions of binary alpha  last'
press Escape
sees 'pathprof binaries'
press End Enter
sees 'this row has no binary that functions could be selected by'
press q
sees 'pathprof binaries'
press p
sees 'TTNT'

# Whenever the first window was written.
press +
sees 'last 15min'
"$known" "$db" now
sees '2000 samples'
press q
sees 'left with 0'

# Enter on a function draws its graph.
cat >"$dir/work.c" <<'END_OF_SOURCE'
__attribute__((noinline)) int work(int n)
{
	return n & 1 ? n * 3 : n / 2;
}
int main(int argc, char **argv)
{
	return work(argc);
}
END_OF_SOURCE
gcc -O0 -o "$dir/work" "$dir/work.c"
echo "path $(nm "$dir/work" | awk '$3 == "work" { print $1 }') 10 1000" |
	"$known" "$dir/work.db" code "$dir/work"
screen -f /dev/null new-session -d -s graph -x 120 -y 30 \
	"env LC_ALL=C.UTF-8 '$ctl' --db '$dir/work.db' top --by functions; sleep 60"
sees ' work  *work$' -t graph
press -t graph Enter
sees '^  has .* blocks' -t graph
press -t graph q
sees 'pathprof functions' -t graph

# An empty view says why.
screen -f /dev/null new-session -d -s empty -x 100 -y 12 \
	"env LC_ALL=C.UTF-8 '$ctl' --db '$db' top --pid 4000000; sleep 60"
sees 'Nothing was seen in this time: [0-9]* bursts* w[a-z]* taken in [0-9]* window' -t empty

# The title says which part of the samples was lost.
sqlite3 -cmd '.timeout 60000' "$db" "VACUUM INTO '$dir/lost.db'"
sqlite3 "$dir/lost.db" "INSERT INTO window_drops SELECT id, 2, clock_samples FROM windows"
screen -f /dev/null new-session -d -s lost -x 120 -y 12 \
	"env LC_ALL=C.UTF-8 '$ctl' --db '$dir/lost.db' top --since -1d; sleep 60"
sees ' samples  50.0% of samples lost  ' -t lost

# A database of an older version does not follow its daemon, and the title says so.
sqlite3 -cmd '.timeout 60000' "$db" 'DROP TABLE segment_samples; DROP TABLE segmented_windows; DROP TABLE pieces; DROP TABLE context_counts; DROP TABLE contexts; DROP TABLE range_counts; DROP TABLE ranged_windows; DROP TABLE segment_counts; DROP TABLE piece_counts; DROP TABLE window_notes; DROP TABLE parcel_windows; DROP TABLE parcels; PRAGMA user_version = 7'
screen -f /dev/null new-session -d -s older -x 120 -y 12 \
	"env LC_ALL=C.UTF-8 '$ctl' --db '$db' top --since -1d; sleep 60"
sees "samples  an older version's, as it was at first" -t older
finish
