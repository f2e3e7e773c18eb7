#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings as other people make them, in ways that their public bug reports tell of: events given
# by number, names made unique, build-ids filled up.
set -u
. "$(dirname "$0")/recording_common.bash"
ctl=$build/bin/pathprofctl
export HOME=$work # nothing of the user's ~/.debug

is() { # NAME HAVE WANT
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "have '$2', want '$3'"; fi
}

# ---------------------------------------------------------------- events by number

basis() { # EVENT...: what an import of a recording with this event says
	{
		echo file
		printf 'event sample=ip+tid+time+branches %s\n' "$*"
		echo begin
		echo "mmap2 100 0 0x400000 0x10000 0 5 inode /bin/prog"
		echo "sample 0 100 2000 0x400100 0x400200>0x400100:P 0x400210>0x400150:P"
	} | "$write" event.data
	rm -f event.db*
	"$ctl" import -o event.db event.data >log 2>&1 || cat log
	"$ctl" windows --db event.db --json | sed -n 's/.*"basis": "\([a-z]*\)".*/\1/p'
}

while read -r want event; do
	is "event: $event" "$(basis "$event")" "$want"
done <<-'END'
	branches type=4 config=0x20c4 name=cpu/event=0xC4,umask=0x20/u
	branches type=4 config=0x20c4 name=hot
	branches type=4 config=0x20c4
	branches type=4 config=0xc4 name=rc4:u
	branches type=10 config=0xc0c4 name=cpu_atom/event=0xc4,umask=0xc0/
	branches type=0 config=0x400000004 name=cpu_core/hot/
	time type=4 config=0x3c name=branch_lookalike
	time type=2 config=77 name=bridge:br_fdb_add
	time type=1 config=0 name=branches
	time type=0 config=5 name=branch-misses:u
END

# ---------------------------------------------------------------- build-ids filled up

cat >prog.c <<-'END'
	__attribute__((noinline)) unsigned work(unsigned n)
	{
		unsigned s = 1;
		while (n--)
			s = s * 5 + n;
		return s;
	}
	int main(int argc, char **argv) { (void)argv; return work(argc) == 0; }
END
gcc -O1 -Wl,--build-id=md5 -o md5 prog.c || exit 1
id=$(readelf -n md5 | sed -n 's/.*Build ID: //p')
start=$((16#$(nm md5 | sed -n 's/ T work$//p')))
for whose in "$id" "${id}00000000" "${id}00000001"; do
	printf "B $whose:%x $whose:%x 7 1\n" $((start + 4)) $start >"$whose.txt"
	"$ctl" export --recording "$whose.txt" --recording-format bolt-preagg --file md5 \
		-F bolt-fdata -o - >"$whose.fdata" 2>/dev/null
	rm -f pa.db*
	"$ctl" import -F bolt-preagg -o pa.db "$whose.txt" --binary md5 >log 2>&1
	"$ctl" edges --db pa.db 2>/dev/null | grep -c " 7  *1$" >"$whose.edges"
done
is "build-id: 16 bytes, export" "$(cat "$id.fdata")" "1 work 4 1 work 0 1 7"
is "build-id: filled up, export" "$(cat "${id}00000000.fdata")" "1 work 4 1 work 0 1 7"
is "build-id: another one, export" "$(cat "${id}00000001.fdata")" ""
is "build-id: 16 bytes, import" "$(cat "$id.edges")" 1
is "build-id: filled up, import" "$(cat "${id}00000000.edges")" 1

# ---------------------------------------------------------------- names made unique

# Both files' functions called `hot` ran, one more often; llvm-profgen says what each is called.
unique_names() {
	local address
	for i in 1 2; do
		cat >"u$i.c" <<-END
			static __attribute__((noinline)) int hot(int x) { return x * $i + 5; }
			int entry$i(int x) { return hot(x) + hot(x + 1); }
		END
	done
	echo 'int entry1(int), entry2(int); int main(int c, char **v) { return entry1(c) + entry2(c); }' >um.c
	clang-22 -O2 -g -fdebug-info-for-profiling -funique-internal-linkage-names \
		-o unique u1.c u2.c um.c || return 1
	nm unique | sed -n 's/ t .*hot.*__uniq.*//p' | {
		count=100
		while read -r address; do
			printf "F %s %s %d\n" "$address" "$address" $((count += 1000))
		done
	} >unique.txt
	for format in llvm-sample profgen-raw; do
		"$ctl" export --recording unique.txt --recording-format bolt-preagg --file unique \
			-F $format -o "unique.$format" 2>/dev/null || return 1
	done
	llvm-profgen-22 --unsymbolized-profile=unique.profgen-raw --binary=unique --format=text \
		--output=unique.want >log 2>&1 || return 1
	[ "$(grep -c '^[^ ]*__uniq' unique.want)" = 2 ] && grep -v '^#' unique.llvm-sample | diff unique.want -
}
if command -v clang-22 llvm-profgen-22 >/dev/null; then
	if why=$(unique_names 2>&1); then ok "names: unique"; else not_ok "names: unique" "$why"; fi
else
	echo "skip names: no clang-22, llvm-profgen-22"
fi

exit $failed
