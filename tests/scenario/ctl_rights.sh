#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
#
# Run by root, pathprofctl lets processes without rights read the files of others. Who has a binary
# mapped is looked up while a view is written to a pipe that is full. The same look-up, while an
# ordinary user's pathprofctl reads by itself, finds a process that is not walled in: it sees the
# difference. What only root may read (a binary, its debug file, .dwo files, sources) has names and
# lines all the same. A reader that dies, of a signal that strace sends it, costs names, not the view,
# and what it said before is kept.
set -eu
name=ctl_rights
. "$(dirname "$0")/ctl_common.bash"
. "$(dirname "$0")/help_common.bash"

[ "$(id -u)" = 0 ] || {
	echo "skip $name: it is about root"
	exit 0
}
for tool in g++ strace setpriv; do
	command -v $tool >/dev/null || {
		echo "skip $name: $tool is not installed"
		exit 0
	}
done

# ---------------------------------------------------------------- files that root alone may read
chmod 755 "$dir"
mkdir -m 700 "$dir/private"
cd "$dir/private"
{
	echo 'volatile unsigned total;'
	echo 'namespace deep { __attribute__((noinline)) unsigned sum(unsigned n) {'
	for ((i = 0; i < 200; i++)); do echo "	total ^= n + ${i}u; // the secret line $i"; done
	echo '	return total; } }'
	echo 'int main(int argc, char **argv) { return deep::sum(argc) == 77; }'
} >sum.cc
mkdir plain linked split fetched
build() { g++ -O1 -Wl,--build-id=sha1 "$@" || fail "the program does not compile"; }
build -g -o plain/sum sum.cc
objcopy --only-keep-debug plain/sum linked/sum.debug
objcopy --strip-all --add-gnu-debuglink=linked/sum.debug plain/sum linked/sum
(cd split && build -gdwarf-5 -gsplit-dwarf -o sum "$dir/private/sum.cc")
objcopy --strip-all plain/sum fetched/sum
hex=$(readelf -n plain/sum | awk '/Build ID/ { print $3 }')
mkdir -p server/buildid/$hex
cp linked/sum.debug server/buildid/$hex/debuginfo
chmod 600 sum.cc server/buildid/$hex/debuginfo linked/sum.debug split/*.dwo
for kind in plain linked split fetched; do
	chmod 700 $kind $kind/sum
	from=$kind
	[ $kind = linked ] || [ $kind = fetched ] && from=plain
	"$known" "$dir/$kind.db" code "$dir/private/$kind/sum" <<END || fail "no database of $kind"
path $(nm $from/sum | awk '/ _ZN4deep3sumEj$/ { print $1 }') 400 100
clock $(nm $from/sum | awk '/ _ZN4deep3sumEj$/ { print $1 }') 100
END
done
cd "$dir"
id_of() { "$ctl" --db "$1" paths --json | sed -n 's/.*"id": *\([0-9]*\).*/\1/p' | head -n 1; }

# Without a server there is no name; with one it is what root's debuginfod fetched.
run 0 --db fetched.db top --by functions --since @0
! grep -q 'deep::sum' got || fail "a stripped file has names"
export XDG_CACHE_HOME=$dir/cache DEBUGINFOD_URLS=file://$dir/private/server
run 0 --db fetched.db top --by functions --since @0
grep -q 'deep::sum\b' got || fail "fetched: the function has no name: $(cat said)"
unset DEBUGINFOD_URLS

# None of the formats of what was sampled needs what a process apart does not tell.
for kind in plain linked split; do
	run 0 --db $kind.db top --by functions --since @0
	grep -q 'deep::sum\b' got || fail "$kind: the function has no name"
	[ -s said ] && fail "$kind: $(cat said)"
	run 0 --db $kind.db show "$(id_of $kind.db)"
	grep -q 'sum.cc:5 .*the secret line 2' got || fail "$kind: the source is not shown"
	for format in $(sampled_formats); do
		run 0 --db $kind.db export --any-owner --format $format -o $kind.$format
	done
	grep -q '^_ZN4deep3sumEj:' $kind.llvm-sample || fail "$kind: its inlined functions are not known"
done
run 0 --db plain.db cfg 'deep::sum(unsigned int)'
grep -q 'the secret line 2' got || fail "cfg: the source is not shown"

# ---------------------------------------------------------------- whose sources
# A user's binary names a file that only root may read, and one that the user may.
mkdir -m 755 theirs
echo 'the secret of root' >private/shadow
chmod 600 private/shadow
(
	cd theirs
	for named in "$dir/private/shadow" "$dir/theirs/open.txt"; do
		{
			echo 'volatile unsigned total;'
			echo 'int main(int argc, char **argv) {'
			echo "#line 1 \"$named\""
			echo '	total ^= argc; return total == 77; }'
		} >named.cc
		build -g -o "$(basename "$named")" named.cc
	done
	mv open.txt opened
	rm named.cc
)
echo 'nothing secret here' >theirs/open.txt
chown -R 65534:65534 theirs
for program in shadow opened; do
	at=$(nm theirs/$program | awk '/ main$/ { print $1 }')
	"$known" "$dir/$program.db" code "$dir/theirs/$program" <<<"path $at 400 100" ||
		fail "no database of $program"
	run 0 --db $program.db show "$(id_of $program.db)"
	cp got "shown.$program"
	run 0 --db $program.db cfg main
	cat got >>"shown.$program"
done
! grep -q 'the secret of root' shown.shadow || fail "a user's binary has root show a file of root's"
[ "$(grep -c 'shadow:1' shown.shadow)" -ge 1 ] || fail "the line that cannot be read is not named"
[ "$(grep -c 'nothing secret here' shown.opened)" -ge 2 ] || fail "a user's own source is not shown"

# ---------------------------------------------------------------- who reads
cat >readers.py <<'END'
import fcntl, glob, os, subprocess, sys, time

# Lists the processes that have the file mapped while the command's output is blocked, and their
# rights: a line each.
path, command = sys.argv[1], sys.argv[2:]
out, into = os.pipe()
fcntl.fcntl(into, 1031, 4096)  # F_SETPIPE_SZ
os.set_blocking(into, False)
try:
    while True:
        os.write(into, b"x" * 4096)
except BlockingIOError:
    os.set_blocking(into, True)

def descendants(pid):
    for task in glob.glob(f"/proc/{pid}/task/*/children"):
        for child in open(task).read().split():
            yield child
            yield from descendants(child)

def has_mapped(pid):
    try:
        return any(line.rstrip().endswith(path) for line in open(f"/proc/{pid}/maps"))
    except OSError:
        return False

def is_stuck(pid):
    # it sleeps in a write to standard output; wchan does not tell everywhere
    try:
        return open(f"/proc/{pid}/syscall").read().startswith("1 0x1 ")
    except OSError:
        return False

def describe(pid):
    status = dict(l.rstrip("\n").split(":\t", 1) for l in open(f"/proc/{pid}/status") if ":\t" in l)
    limits = open(f"/proc/{pid}/limits").read()
    cpu = next(l for l in limits.splitlines() if l.startswith("Max cpu time")).split()[3]
    kinds = {os.readlink(f"/proc/{pid}/fd/{fd}").split(":")[0] for fd in os.listdir(f"/proc/{pid}/fd")}
    kinds = {"binary" if k == path else k for k in kinds}
    return (f"uid={status['Uid'].split()[0]} caps={int(status['CapPrm'], 16):x}"
            f" nnp={status['NoNewPrivs']} seccomp={status['Seccomp']} cpu={cpu}"
            f" open={','.join(sorted(kinds))}")

process = subprocess.Popen(command, stdout=into, stdin=subprocess.DEVNULL)
os.close(into)
for _ in range(2400):
    pids = [str(process.pid), *descendants(process.pid)]
    # everything up to there has been read then
    if any(map(is_stuck, pids)) and any(map(has_mapped, pids)):
        break
    if process.poll() is not None:
        break
    time.sleep(0.05)
for pid in pids:
    if has_mapped(pid):
        print(describe(pid))
while os.read(out, 65536):
    pass
sys.exit(process.wait())
END
id=$(id_of plain.db)
python3 readers.py "$dir/private/plain/sum" "$ctl" --db plain.db show "$id" >got ||
	fail "show, as its readers were looked up"
echo "uid=65534 caps=0 nnp=1 seccomp=2 cpu=120 open=/dev/null,binary,socket" >want
expect "who reads a binary for root"

# In a container root may not become another user. The filter remains, and doctor says so.
python3 readers.py "$dir/private/plain/sum" setpriv --bounding-set=-setuid,-setgid --inh-caps=-all \
	"$ctl" --db plain.db show "$id" >got || fail "show, by root that cannot change its identity"
echo "uid=0 caps=0 nnp=1 seccomp=2 cpu=120 open=/dev/null,binary,socket" >want
expect "who reads a binary for root that cannot change its identity"
setpriv --bounding-set=-setuid,-setgid --inh-caps=-all "$ctl" --db plain.db top --by functions --since @0 \
	>got 2>said || fail "top, by root that cannot change its identity: $(cat said)"
grep -q 'deep::sum\b' got || fail "root that cannot change its identity sees no names: $(cat said)"
[ ! -s said ] || fail "root that cannot change its identity: $(cat said)"
setpriv --bounding-set=-setuid,-setgid --inh-caps=-all "$ctl" doctor >got || true
grep -q '^warn *readers of files: processes of root without capabilities -- CAP_SETUID' got ||
	fail "doctor does not warn of readers that stay root: $(grep readers got)"
"$ctl" doctor >got || true
grep -q '^ok *readers of files: processes of the user nobody' got || fail "doctor warns for nothing: $(grep readers got)"

mkdir -m 755 public
install -m 755 private/plain/sum public/sum
"$known" public/sum.db code "$dir/public/sum" <<<"path $(nm public/sum | awk '/ _ZN4deep3sumEj$/ { print $1 }') 400 100" ||
	fail "no database of a public file"
chmod 644 public/sum.db
python3 readers.py "$dir/public/sum" setpriv --reuid 1234 --regid 1234 --clear-groups \
	"$ctl" --db "$dir/public/sum.db" show "$(id_of public/sum.db)" >got 2>said2 || fail "show, by a user: $(cat said2)"
grep -q '^uid=1234 caps=0 nnp=0 seccomp=0 cpu=unlimited ' got || {
	cat got
	fail "the look-up does not see an ordinary user's reader"
}

# ---------------------------------------------------------------- a reader that dies
# dies WHEN VERB...: the process that reads the binary gets a signal at its WHENth read.
dies() {
	local when=$1
	shift
	strace -f -qq -o /dev/null -P "$dir/private/plain/sum" -e trace=pread64 \
		-e "inject=pread64:signal=SIGSEGV:when=$when" "$ctl" --db plain.db "$@" >got 2>said
}
# How often VERB... reads the binary.
reads_of() {
	strace -f -qq -o reads -P "$dir/private/plain/sum" -e trace=pread64 "$ctl" --db plain.db "$@" >/dev/null 2>&1
	grep -c 'pread64(' reads
}
told_once() {
	[ "$(grep -c 'the process that read it is gone: Segmentation fault' said)" = 1 ] ||
		fail "$1: not said once why names are missing: $(cat said)"
}
# The reader dies while the file is opened, or later.
read_cnt=$(reads_of paths)
[ "$read_cnt" -ge 3 ] || fail "paths reads the binary $read_cnt times"
for when in $(seq $((read_cnt < 6 ? read_cnt : 6))); do
	dies $when paths || fail "paths: a dead reader ends it: $?, $(cat said)"
	told_once "paths, at read $when"
	grep -q ' 100.00% .* sum ' got || fail "paths: the path is not shown: $(cat got)"
	[ $when -gt 3 ] || grep -q ' sum+0x' got || fail "paths: not shown with its address"
	dies $when show "$id" || fail "show: a dead reader ends it: $(cat said)"
	told_once "show, at read $when"
	dies $when top --by functions --since @0 || fail "top: a dead reader ends it: $(cat said)"
	told_once "top, at read $when"
done
dies 1 show "$id"
grep -q 'code      not available' got || fail "show: not said that there is no code"
# A profile that is not whole is none.
for when in 4 6; do
	! dies $when export --any-owner --format csv -o died.csv || fail "export: half a profile is written"
	grep -q 'export: .*is gone' said || fail "export: not said why: $(cat said)"
	[ ! -e died.csv ] || fail "export: half a profile is left"
done
dies 1000 paths || fail "paths, with a reader that lives"
grep -q 'deep::sum' got || fail "paths: the reader that lives gave no name"

finish
