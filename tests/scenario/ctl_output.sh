#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# -o and --svg over whatever may stand under the name: every verb that writes a file writes into
# devices and pipes, follows links, takes - for standard output, replaces a regular file at once, and
# leaves everything as it was when it fails. Nothing of /dev is named as an output: code that is wrong
# would replace the machine's own.
set -eu
name=ctl_output
. "$(dirname "$0")/ctl_common.bash"
writer=$BUILD/tests/tools/perf_data_write
[ -x "$writer" ] || fail "$writer is not built"
command -v gcc >/dev/null || {
	echo "skip $name: no gcc"
	exit 0
}
cd "$dir"
export TMPDIR=$dir/tmp
mkdir tmp out

# ---------------------------------------------------------------- something to write

cat >program.c <<'END'
#include <stdio.h>
__attribute__((noinline)) unsigned int turn(unsigned int n)
{
	unsigned int sum = 0;

	for (unsigned int i = 0; i < n; i++)
		sum = sum * 31 + i;
	return sum;
}
int main(int argc, char **argv)
{
	printf("%u\n", turn(1000 * argc));
}
END
gcc -O1 -g -no-pie -o program program.c
# The loop's branch back: from, to. The recording maps the file as it lies.
read -r from to < <(objdump -d --no-show-raw-insn program | awk '
	/<turn>:$/ { within = 1 } within && $2 == "jne" { sub(":", "", $1); print $1, $3; exit }')
at() { printf '0x%x' $((0x$1 - 0x400000 + 0x10000000)); }
{
	echo "file
event sample=ip+tid+time+period+branches name=branches
begin
comm 7 0 program
mmap2 7 0 0x10000000 0x10000 0 5 inode $dir/program"
	back="$(at "$from")>$(at "$to"):P"
	for ((i = 1; i <= 50; i++)); do
		echo "sample 0 7 ${i}000000 $(at "$to") $back $back $back $back"
	done
} | "$writer" recorded
export PATHPROF_DB=$dir/known.db
"$known" known.db && "$known" known.db drift || fail "the generator failed"
run 0 import recorded --binary program -o program.db
printf 'one\t1\ntwo\t2\n' >one.txt
printf 'one\t2\ntwo\t1\n' >two.txt

cases=(export recording compare drift cfg combine profile)
words_of() { # CASE FILE
	case $1 in
	export) words=(--db program.db export --binary program --file ./program -F bolt-fdata -o "$2") ;;
	recording) words=(export --recording recorded --file ./program -F bolt-fdata -o "$2") ;;
	compare) words=(compare window:1 window:2 --svg "$2") ;;
	drift) words=(drift --svg "$2") ;;
	cfg) words=(--db program.db cfg turn --format dot -o "$2") ;;
	combine) words=(combine file:one.txt file:two.txt --replace -o "$2") ;;
	profile) words=(combine window:1 window:2 --replace -o "$2") ;;
	esac
}

# writes CASE FILE: succeeds. refused CASE FILE WHY: one line with FILE's name and WHY.
writes() {
	words_of "$1" "$2"
	run 0 "${words[@]}"
}
refused() {
	words_of "$1" "$2"
	run 1 "${words[@]}"
	tail -n 1 said | grep -q "^pathprofctl: .*$2: cannot be written: .*$3" || {
		cat said
		fail "$1 to $2: expected '$3'"
	}
}
# The same as in a new file; a profile file has the time in it.
same() { # CASE FILE HOW
	if [ "$1" = profile ]; then
		[ "$(head -c 15 "$2")" = 'SQLite format 3' ] && [ "$(stat -c %s "$2")" = "$(stat -c %s "want.$1")" ]
	else
		cmp -s "want.$1" "$2"
	fi || fail "$1 $3: not what a new file gets"
}
# only CASE NAME...: these are in out/, and nothing else was left.
only() {
	local case=$1
	shift
	[ "$(ls -A out | xargs)" = "$(printf '%s\n' "$@" | sort | xargs)" ] ||
		fail "$case: left in the directory: $(ls -A out | tr '\n' ' ')"
	rm -rf out
	mkdir out
}

umask 022
# Devices of our own; links to the machine's where none can be made or opened.
device() { # NAME MINOR
	mknod "$1" c 1 "$2" 2>/dev/null && { : >"$1"; } 2>/dev/null || ln -sf "/dev/$1" "$1"
}
device null 3
device full 7
ln -s /proc/self/fd/1 stdout
for case in "${cases[@]}"; do
	# By this combine knows that text is asked for.
	x=
	[ "$case" != combine ] || x=.txt

	# ---------------------------------------------------------------- regular files
	writes "$case" "out/new$x"
	cp "out/new$x" "want.$case"
	[ -s "want.$case" ] || fail "$case: nothing was written"
	[ "$(stat -c %a "out/new$x")" = 644 ] || fail "$case: mode $(stat -c %a "out/new$x") of a new file"
	only "$case" new$x

	echo before >"out/old$x"
	chmod 640 "out/old$x"
	[ "$(id -u)" != 0 ] || chown 65534:65534 "out/old$x"
	ids=$(stat -c '%a %u %g' "out/old$x")
	echo victim >victim
	for planted in old$x.draft old$x.new old$x.new.db; do ln -s ../victim "out/$planted"; done
	writes "$case" "out/old$x"
	same "$case" "out/old$x" "over a file"
	[ "$(stat -c '%a %u %g' "out/old$x")" = "$ids" ] || fail "$case: a file's mode or owner changed"
	[ "$(cat victim)" = victim ] || fail "$case: a planted link was followed"
	only "$case" old$x old$x.draft old$x.new old$x.new.db

	# ---------------------------------------------------------------- links
	echo before >real
	ln -s ../real "out/link$x"
	ln -s ../fresh "out/dangling$x"
	ln -s ring$x "out/ring$x"
	writes "$case" "out/link$x"
	same "$case" real "through a link"
	rm -f fresh
	writes "$case" "out/dangling$x"
	same "$case" fresh "through a dangling link"
	refused "$case" "out/ring$x" 'Too many levels'
	[ "$(find out -type l | wc -l)" = 3 ] || fail "$case: a link was replaced"
	only "$case" link$x dangling$x ring$x

	# ---------------------------------------------------------------- devices and pipes
	cp -a null "out/null$x"
	ln -s ../null "out/link$x"
	for file in "out/null$x" "out/link$x"; do writes "$case" "$file"; done
	[ -c "out/null$x" ] && [ "$(stat -c %F "out/null$x")" = "$(stat -c %F null)" ] && [ -L "out/link$x" ] ||
		fail "$case: a device, or a link to one, was replaced"
	only "$case" "null$x" "link$x"
	mkfifo "out/pipe$x"
	timeout 60 cat "out/pipe$x" >piped &
	writes "$case" "out/pipe$x"
	wait
	[ -p "out/pipe$x" ] || fail "$case: the pipe was replaced"
	same "$case" piped "into a pipe"
	only "$case" pipe$x
	ln -s /proc/self/fd/7 "out/link$x"
	words_of "$case" "out/link$x"
	{ timeout 60 "$ctl" "${words[@]}" 7>&1 >got 2>said || echo "status $?" >>said; } | cat >piped
	! grep -q '^status' said || fail "$case to /dev/fd/7: $(cat said)"
	same "$case" piped "into a descriptor by its name"
	only "$case" "link$x"

	# ---------------------------------------------------------------- standard output
	# Text is what combine writes there.
	if [ "$case" = profile ]; then
		writes "$case" out/new.txt
		mv out/new.txt "want.$case"
	fi
	for file in - ./stdout; do
		words_of "$case" "$file"
		"$ctl" "${words[@]}" >got 2>said || fail "$case to $file: $(cat said)"
		cmp -s "want.$case" got || fail "$case to $file: not what a new file gets, and that alone"
		python3 - "$ctl" "${words[@]}" 2>said >got <<'END' || fail "$case to $file, a socket: $(cat said)"
import socket, subprocess, sys
ours, its = socket.socketpair()
child = subprocess.Popen(sys.argv[1:], stdout=its)
its.close()
while data := ours.recv(65536):
    sys.stdout.buffer.write(data)
sys.exit(child.wait())
END
		cmp -s "want.$case" got || fail "$case to $file, a socket: not what a new file gets"
		status=0
		"$ctl" "${words[@]}" >/dev/full 2>said || status=$?
		[ "$status" = 1 ] && grep -q 'cannot be written: No space left' said ||
			fail "$case to $file, full: status $status: $(cat said)"
		[ ! -e ./- ] || fail "$case: a file named -"
	done
	only "$case"

	# ---------------------------------------------------------------- what cannot be
	mkdir "out/directory$x"
	refused "$case" "out/directory$x" 'Is a directory'
	refused "$case" "out/nowhere/file$x" 'No such file'
	ln -s ../full "out/full$x"
	refused "$case" "out/full$x" 'No space left'
	[ -c full ] && [ -L "out/full$x" ] || fail "$case: a full device was replaced"
	only "$case" directory$x full$x
	echo before >"out/kept$x"
	words_of "$case" "out/kept$x"
	(trap '' XFSZ && ulimit -f 0 && exec "$ctl" "${words[@]}" 2>&1 >/dev/null) | cat >said
	case $case in # the others read databases, beside which SQLite writes
	recording | combine)
		grep -q 'out/kept.*: cannot be written: File too large' said || fail "$case, too large: $(cat said)"
		;;
	esac
	[ "$(cat "out/kept$x")" = before ] || fail "$case: half a file replaced a whole one"
	only "$case" kept$x

	words_of "$case" -
	python3 - "$ctl" "${words[@]}" 2>said <<'END' || fail "$case without a reader: $(cat said)"
import os, subprocess, sys
reader, writer = os.pipe()
os.close(reader)
ended = subprocess.run(sys.argv[1:], stdout=writer, stderr=subprocess.PIPE, text=True)
sys.stderr.write(f"{ended.returncode}: {ended.stderr}")
assert ended.returncode == 0 and "Broken pipe" not in ended.stderr
END
done

# A file of another that cannot stay theirs.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$dir"
	mkdir shared
	chmod 777 shared
	echo before >shared/file
	chmod 666 shared/file
	words_of recording shared/file
	status=0
	setpriv --reuid 65534 --regid 65534 --clear-groups "$ctl" "${words[@]}" >got 2>said || status=$?
	[ "$status" = 1 ] && grep -q "shared/file: cannot be written: it cannot stay user 0's" said ||
		fail "a file of another: status $status: $(cat said)"
	[ "$(cat shared/file)" = before ] && [ "$(ls -A shared)" = file ] || fail "a file of another was touched"
fi

[ -z "$(ls -A tmp)" ] || fail "left in \$TMPDIR: $(ls -A tmp)"

# A database is a file of SQLite's: it cannot be a pipe, nor standard output.
for verb in 'record -o - -- true' 'import -o - recorded'; do
	read -ra words <<<"$verb"
	run 1 "${words[@]}"
	grep -q 'a database cannot be standard output' said && [ ! -e ./- ] || fail "$verb: $(cat said)"
done
finish
