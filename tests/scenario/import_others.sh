#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Recordings as other people make them, in ways that their public bug reports tell of: events given
# by number, names made unique, build-ids filled up, instructions that no library knows yet; and
# counts that are the same when they are written and read again.
set -u
. "$(dirname "$0")/both_ways.bash"
. "$(dirname "$0")/recording_common.bash"
ctl=$build/bin/pathprofctl
export HOME=$work # nothing of the user's ~/.debug

is() { # NAME HAVE WANT
	if [ "$2" = "$3" ]; then ok "$1"; else not_ok "$1" "have '$2', want '$3'"; fi
}

# ---------------------------------------------------------------- events by number

make_ways_file prog || exit 1
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
	both_ways "event: $event" perf.data event.data prog
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

# ---------------------------------------------------------------- one end is known

# No mapping at a branch's source or target: it comes from elsewhere, or goes elsewhere.
{
	printf 'file\nevent sample=ip+tid+time+branches\nbegin\n'
	echo "mmap2 200 0 0x400000 0x82000 0 5 inode /bin/prog"
	echo "sample 0 200 2000 0x400100 0x40010e>0x400100:P 0x900000>0x400100:M 0x40010e>0x900100:P 0x900004>0x900000:P"
	echo "sample 0 200 3000 0x400100 0x4001ee>0x4001e0:P 0x900000>0x400100:M 0x4001ee>0x4001e0:P"
} | "$write" ends.data
both_ways "one end is known" perf.data ends.data prog
is "one end is known: exported" "$(grep -c ' X:0\|X:0 ' ways.imported)" 2
"$ctl" import -o ends.db ends.data --binary prog >log 2>&1
is "one end is known: the ledger" "$(grep -c '7 branches read, 6 used (85.7 %); left out: 1 unmapped' log)" 1

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
# Ranges that code does not run through, and one that a branch may lead into the middle of, too.
for whose in "$id" "${id}00000000"; do
	printf "F $whose:%x $whose:%x 50\nF $whose:%x $whose:%x 60\nR $whose:%x $whose:%x $whose:%x 5\n" \
		$start $((start + 2)) $start $((start + 9)) $((start + 9)) $((start + 2)) $((start + 9)) >>"$whose.txt"
	both_ways "build-id: $whose" bolt-preagg "$whose.txt" md5
done
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

# ---------------------------------------------------------------- instructions newer than libraries

# A loop around each, of the lists of Sierra Forest, Arrow Lake, Granite Rapids, Diamond Rapids and
# of AMD's XOP: its range is the one that the assembler's labels say, and its path is seen.
new_instructions() {
	cat <<-'END'
		vpdpbssd %xmm1, %xmm2, %xmm3
		vpdpbssd 0x12345(%rax,%rbx,4), %ymm2, %ymm3
		vpdpwsud 8(%rax), %xmm2, %xmm3
		{vex} vpmadd52huq %ymm1, %ymm2, %ymm3
		vbcstnebf162ps (%rax), %xmm0
		cmpoxadd %eax, %ecx, (%rdx)
		vsha512rnds2 %xmm1, %ymm2, %ymm3
		vsm3msg1 %xmm1, %xmm2, %xmm3
		vsm3rnds2 $4, %xmm1, %xmm2, %xmm3
		vsm4rnds4 %ymm1, %ymm2, %ymm3
		tdpfp16ps %tmm0, %tmm1, %tmm2
		aadd %eax, 8(%rdx)
		axor %rax, (%rdx)
		movrsb (%rax), %cl
		movrsq 8(%rax), %rcx
		vminmaxps $1, %zmm1, %zmm2, %zmm3
		vcvttps2ibs %zmm1, %zmm3
		vaddbf16 0x40(%rax), %zmm2, %zmm3
		vcomxss %xmm1, %xmm2
		vmpsadbw $3, %zmm1, %zmm2, %zmm3
		urdmsr $0x123, %rax
		uwrmsr %rax, $0x123
		addq %r16, %r17
		movq %r24, (%r25,%r26,4)
		movq (%r21), %rax
		addq %rax, %rbx, %rcx
		{nf} addl $0x12345678, %eax
		addw $0x1234, %ax, %cx
		imulw $0x1234, %ax, %cx
		xorq $0x12345678, (%rsi), %rax
		{evex} imulq $5, %rax, %rcx
		shldq $3, %rax, %rbx, %rcx
		shrdq %cl, %rax, %rbx, %rcx
		ccmpeq {dfv=of} $5, %rax
		ccmpneq {dfv=} $0x12345, 0x10(%rax,%r17)
		ctestnew {dfv=cf} $0x1234, %ax
		ctestbb {dfv=} $1, (%rax)
		cfcmovneq %rax, %rbx
		setzune %al
		push2 %rax, %rbx
		pop2p %rax, %rbx
		pushp %rax
		movabsq $0x123456789abcdef0, %r16
		notq %r16
		{evex} notq %rax, %rbx
		{evex} sarq $4, %rax, %rbx
		kmovq %k1, (%r16)
		{evex} crc32q %r16, %rax
		vprotb $1, %xmm1, %xmm2
		bextr $0x12345678, %eax, %ecx
		lwpins $0x12345678, %eax, %ecx
		tilemovrow $1, %tmm1, %zmm2
		tdpbf8ps %tmm0, %tmm1, %tmm2
	END
}

write_loops() { # the assembler's text
	local n=0 insn
	printf '.globl _start\n_start: ret\n'
	while read -r insn; do
		n=$((n + 1))
		printf '.type f%d,@function\nf%d: jo 1f\n%s\nj%d: jne f%d\n1: ret\n.size f%d,.-f%d\n' \
			$n $n "$insn" $n $n $n $n
	done < <(new_instructions)
	# The one branch that is new.
	printf '.type fa,@function\nfa: nop\nja: jmpabs $fb\n.size fa,.-fa\n'
	printf '.type fb,@function\nfb: incl %%eax\njb: jmpabs $fa\n.size fb,.-fb\n'
}

address_of() { printf '0x%s' "$(sed -n "s/^0*\([0-9a-f]*\) . $1\$/\1/p" symbols)"; }

new_loops() {
	local n f j fa ja fb jb cnt
	write_loops >loops.s
	clang-22 -nostdlib -static -Wl,--build-id -o loops loops.s || return 1
	nm loops >symbols
	id=$(readelf -n loops | sed -n 's/.*Build ID: //p')
	cnt=$(new_instructions | wc -l)
	fa=$(address_of fa) ja=$(address_of ja) fb=$(address_of fb) jb=$(address_of jb)
	{
		printf 'file\nevent sample=ip+tid+time+branches\nbegin\n'
		readelf -lW loops | awk -v id="$id" '/LOAD.* R E /{
			print "mmap2 100 0", $3, "0x" substr($6, 3), $2, 5, id, "/loops"}'
		for ((n = 1; n <= cnt; n++)); do
			f=$(address_of f$n) j=$(address_of j$n)
			echo "sample 0 100 $((1000 + n)) $f $j>$f:P $j>$f:P $j>$f:P"
			echo "$j $f $j" | sed 's/0x//g' >>want
		done
		echo "sample 0 100 9000 $fa $jb>$fa:P $ja>$fb:P $jb>$fa:P $ja>$fb:P"
	} | "$write" loops.data
	printf '%s %s %s\n' "$jb" "$fa" "$ja" "$ja" "$fb" "$jb" | sed 's/0x//g' >>want
	"$ctl" export --recording loops.data --file loops -F bolt-preagg -o loops.txt 2>/dev/null
	sed -n 's/^T \(.* .* .*\) 2$/\1/p; s/^T \(.* .* .*\) 1$/\1/p' loops.txt | sort >have
	sort want | diff - have || return 1
	rm -f loops.db*
	"$ctl" import -o loops.db loops.data --binary loops >said 2>&1 || { cat said; return 1; }
	# Two paths of each stack of three, one way round of the last.
	! grep -i 'refused\|undecodable' said && grep -q "^paths  *$((cnt * 2 + 1))\$" said || { cat said; return 1; }
}
if command -v clang-22 >/dev/null; then
	if why=$(new_loops 2>&1); then ok "instructions: new ones"; else not_ok "instructions: new ones" "$why"; fi
	both_ways "instructions" perf.data loops.data loops
else
	echo "skip instructions: no clang-22"
fi

# ---------------------------------------------------------------- counts, written and read again

# Two functions of a name, stubs, code that leaves the binary; counts that no program would give.
write_rounds() {
	cat >r1.c <<-'END'
		#include <stdlib.h>
		static __attribute__((noinline)) int hot(int x) { return x > 3 ? abs(rand()) : x * 5; }
		int entry1(int x) { int s = 0; while (x--) s += hot(x) ? hot(x + 1) : 1; return s; }
	END
	cat >r2.c <<-'END'
		#include <stdio.h>
		static __attribute__((noinline)) int hot(int x) { if (x & 1) putchar(x); return x - 7; }
		int entry1(int x);
		int main(int c, char **v)
		{
			int (*f)(const char *) = puts;
			for (int i = 0; i < c; i++)
				if (hot(i) > entry1(i))
					f(v[i]);
			return 0;
		}
	END
	gcc -O1 -fno-inline -Wl,-q -o rounds r1.c r2.c || return 1
	# A line each: address, mnemonic, target, function. Stubs, too.
	objdump -d --no-show-raw-insn rounds | awk '
		/^[0-9a-f]+ <.*>:$/ { f = $2; next }
		/^ +[0-9a-f]+:/ {
			a = substr($1, 1, length($1) - 1); m = $2; t = $3
			if (m == "bnd" || m == "notrack") { m = $3; t = $4 }
			print a, m, t, f
		}' >insns
	awk '
		{ at[NR] = $1; op[NR] = $2; to[NR] = $3; f[NR] = $4; line[$1] = NR }
		function count() { n = (n * 1103515245 + 12345) % 2147483648; return n % 997 + 1 }
		function run(from, i) { # on to the next branch, and at times over one that is not taken
			for (i = line[from]; i && f[i] == f[i + 1]; i++)
				if (op[i] ~ /^(jmp|call|ret|hlt)/ || (op[i] ~ /^j/ && count() % 3))
					break
			if (i)
				print "F", from, at[i], count()
		}
		END {
			for (i = 1; i <= NR; i++)
				if (op[i] ~ /^(j|call)/ && to[i] in line) {
					c = count()
					print "B", at[i], to[i], c, c % 5
					run(to[i])
					if (op[i] ~ /^j[^m]/)
						run(at[i])
				} else if (op[i] ~ /^(jmp|call|ret)/) {
					print "B", at[i], "X:0", count(), 0
					print "B X:0", at[line[at[i]]], count(), 0
				}
		}' insns >rounds.txt
}

rounds() { # FORMAT: what is written of it, read and written again
	"$ctl" export --recording rounds.txt --recording-format bolt-preagg --file rounds -F "$1" \
		-o "$1.first" 2>said || { cat said; return 1; }
	"$ctl" export --recording "$1.first" --recording-format "$1" --file rounds -F "$1" \
		-o "$1.second" 2>said || { cat said; return 1; }
	[ "$(wc -l <"$1.first")" -gt 40 ] && cmp "$1.first" "$1.second"
}
if why=$(write_rounds 2>&1); then
	for format in bolt-fdata bolt-preagg profgen-raw autofdo-text; do
		if why=$(rounds $format 2>&1); then ok "again: $format"; else not_ok "again: $format" "$why"; fi
		both_ways "counted: $format" $format $format.first rounds
	done
	both_ways "counted: as it was made" bolt-preagg rounds.txt rounds
	printf 'no_lbr cycles\n1 hot/1 0 7\n1 main 0 3\n' >plain.fdata
	both_ways "counted: samples" bolt-fdata plain.fdata rounds
	# Lines of each kind were among those.
	for line in '1 hot/1 .* 1 hot/1 ' '1 hot/2 ' '@PLT 0 ' '0 \[unknown\] 0 1 '; do
		is "again: fdata has '$line'" "$(grep -q "$line" bolt-fdata.first && echo yes)" yes
	done
else
	not_ok "again: counts" "$why"
fi
# perf2bolt's own, of the same counts, is read as what it was made of; but for the first stub, which
# it has a name for.
if command -v perf2bolt-22 >/dev/null; then
	perf2bolt-22 --pa -p rounds.txt -o bolt.fdata rounds >said 2>&1 || cat said
	"$ctl" export --recording bolt.fdata --recording-format bolt-fdata --file rounds -F bolt-fdata \
		-o bolt.again 2>said
	is "again: perf2bolt's fdata" \
		"$(grep -v __BOLT_PSEUDO_ bolt.fdata | sort | diff - <(sort bolt.again) | head -5)" ""
else
	echo "skip again: no perf2bolt-22"
fi

# Names of functions alone: each that is called so was entered once, static ones of a name as well.
printf 'symbols\nhot\nmain\nnowhere\n' >symbols.fdata
"$ctl" export --recording symbols.fdata --recording-format bolt-fdata --file rounds -F bolt-fdata \
	-o symbols.out 2>said
is "names alone" "$(sort symbols.out | tr '\n' ';')" \
	"0 [unknown] 0 1 hot/1 0 0 1;0 [unknown] 0 1 hot/2 0 0 1;0 [unknown] 0 1 main 0 0 1;"

# A jump alone behind a conditional branch is the branch's other end, unless it leaves its function,
# be it into another's middle: then it is a block, as perf2bolt has it.
cat >leaves.s <<-'END'
	.globl _start
	.type other,@function
	other:
		incl %eax
		nop
	.Linner:
		incl %ebx
		ret
	.size other,.-other
	.type _start,@function
	_start:
		decl %ecx
		jne 1f
		jmp .Linner
	1:	incl %edx
		jne 2f
		jmp 1b
	2:	ret
	.size _start,.-_start
END
gcc -nostdlib -static -Wl,--build-id -o leaves leaves.s || exit 1
start=$((16#$(nm leaves | sed -n 's/ T _start$//p')))
printf 'F %x %x 5\n' $start $((start + 4)) $((start + 6)) $((start + 10)) >leaves.txt
"$ctl" export --recording leaves.txt --recording-format bolt-preagg --file leaves -F bolt-fdata \
	-o leaves.fdata 2>said
is "falls: onto a jump out of its function" "$(cat leaves.fdata)" "1 _start 2 1 _start 4 0 5"
if command -v perf2bolt-22 >/dev/null; then
	perf2bolt-22 --pa -p leaves.txt -o bolt.fdata leaves >said 2>&1 || cat said
	is "falls: perf2bolt's" "$(cat bolt.fdata)" "$(cat leaves.fdata)"
fi

# The ledger of counts: a fall-through is no branch that was left out, and what a sample of a return
# tells of branches that left the binary is read as well as used.
ledger_of() { # FORMAT FILE
	rm -f ledger.db*
	"$ctl" import -F "$1" -o ledger.db "$2" --binary leaves >log 2>said
	sed 's/^pathprofctl: //' said
}
is "ledger: fall-throughs" "$(ledger_of bolt-fdata leaves.fdata)" "0 branches read, 0 used (0.0 %)"
read -r file vaddr < <(readelf -lW leaves | sed -n 's/^ *LOAD *\(0x[0-9a-f]*\) \(0x[0-9a-f]*\) .* R E .*/\1 \2/p')
offset=$((start - vaddr + file))
printf '1\n%x-%x:5\n1\n%x:7\n1\n%x->%x:3\n' $offset $((offset + 2)) $((offset + 12)) \
	$((offset + 12)) $offset >left.txt
is "ledger: branches that samples tell of" "$(ledger_of autofdo-text left.txt)" \
	"7 branches read, 7 used (100.0 %)"
printf 'B X:0 X:0 9 0\nB %x %x 3 0\n' $((start + 10)) $((start + 6)) >outside.txt
is "ledger: branches elsewhere" "$(ledger_of bolt-preagg outside.txt)" \
	"12 branches read, 3 used (25.0 %); left out: 9 other files (75.0 %)"
printf 'B 1 %x 50 0\nB %x %x 3 0\n' $((start + 6)) $((start + 10)) $((start + 6)) >nowhere.txt
ledger_of bolt-preagg nowhere.txt >/dev/null
is "ledger: counts, and those outside the code" "$(sed -n 's/^counts.* //p' log | xargs)" "2 1"

# ---------------------------------------------------------------- files that lie elsewhere

# Recorded as /usr/bin/elsewhere; the file is a relative name at import, and is found again from
# another folder, and under another name by --file. Another build is not taken.
mkdir -p first second
cat >first/app.c <<-'END'
	__attribute__((noinline)) unsigned work(unsigned n) { unsigned s = 1; while (n--) s = s * 5 + n; return s; }
	int main(int argc, char **argv) { (void)argv; return work(argc) == 0; }
END
gcc -O1 -g -static-pie -o first/app first/app.c 2>/dev/null || gcc -O1 -g -o first/app first/app.c
gcc -O2 -g -o second/app first/app.c
id=$(readelf -n first/app | sed -n 's/.*Build ID: //p')
read -r start last < <(objdump -d --no-show-raw-insn first/app | awk '
	/^[0-9a-f]+ <work>:$/ { on = 1; next }
	/^$/ { on = 0 }
	on && !start { start = substr($1, 1, length($1) - 1) }
	on && $2 ~ /^j[^m]/ && !done { last = substr($1, 1, length($1) - 1); to = $3 }
	END { print to, last }')
recording() { # MAPPED-AS ID
	printf 'file\nevent sample=ip+tid+time+branches type=4 config=0x20c4\nbegin\n'
	readelf -lW first/app | awk -v name="$1" -v id="$2" '/LOAD.* R E /{
		print "mmap2 100 0", $3, "0x" substr($6, 3), $2, 5, id, name}'
	echo "sample 0 100 2000 0x$start 0x$last>0x$start:P 0x$last>0x$start:P 0x$last>0x$start:P"
}
recording /usr/bin/elsewhere "$id" | "$write" app.data
(cd first && "$ctl" import -o ../app.db ../app.data --binary ./app) >said 2>&1 || cat said
is "file: its name, from another folder" "$(cd second && "$ctl" paths --db ../app.db | grep -c ' work+')" 1
is "file: its graph, from another folder" "$(cd second && "$ctl" cfg --db ../app.db work >/dev/null && echo drawn)" drawn
mv first/app moved
is "file: gone" "$("$ctl" paths --db app.db | grep -c ' work+')" 0
is "file: by --file" "$("$ctl" paths --db app.db --file moved | grep -c ' work+')" 1
is "file: its graph by --file" "$("$ctl" cfg --db app.db --file moved work >/dev/null && echo drawn)" drawn
is "file: another build" "$("$ctl" cfg --db app.db --file second/app work 2>&1 | grep -c 'is another build')" 1

# ---------------------------------------------------------------- a text without mappings

loop="0x$last/0x$start/P/-/-/0"
printf 'app 100/100 1.000000: r20c4: %s %s %s %s\n' "$start" "$loop" "$loop" "$loop" >text
"$ctl" export --recording text --recording-format perf-script --file moved -F bolt-preagg -o text.txt \
	2>said || cat said
is "text without mappings: export" "$(grep -c "^T $last $start $last 2" text.txt)" 1
"$ctl" import -F perf-script -o text.db text --binary moved >said 2>&1 || cat said
is "text without mappings: import" "$("$ctl" paths --db text.db | grep -c ' work+')" 1

# ---------------------------------------------------------------- what has no paths

printf 'B %x %x 7 1\n' 0x"$last" 0x"$start" >edges.txt
"$ctl" import -F bolt-preagg -o edges.db edges.txt --binary moved >said 2>&1 || cat said
for verb in paths "cfg work" "export -F csv -o out"; do
	is "branches alone: what can be asked, told by ${verb%% *}" "$("$ctl" $verb --db edges.db 2>&1 |
		grep -c 'has branches and no whole paths: pathprofctl edges lists them')" 1
done
is "branches alone: that lists them" "$("$ctl" edges --db edges.db | grep -c " 7  *1$")" 1

{
	printf 'file\nevent sample=ip+tid+time type=8\nbegin\n'
	echo "mmap2 100 0 0x400000 0x1000 0 5 inode /bin/prog"
	echo "aux 64"
} | "$write" traced.data
for verb in "export --recording traced.data --file moved -F csv -o out" "import traced.data -o traced.db"; do
	# shellcheck disable=SC2086
	said=$("$ctl" $verb 2>&1)
	is "processor's trace: ${verb%% *}, status" $? 1
	is "processor's trace: ${verb%% *}" "$(grep -c 'decode it first (perf inject --itrace' <<<"$said")" 1
done

{
	printf 'file\nevent sample=ip+tid+time\nbegin\n'
	echo "mmap2 100 0 0x400000 0x1000 0 5 inode /bin/prog"
	echo "sample 0 100 2000 0x400100"
} | "$write" bare.data
said=$("$ctl" import bare.data -o bare.db 2>&1)
is "samples without stacks: import, status" $? 3
"$ctl" export --recording bare.data --file moved -F csv -o out 2>/dev/null
is "samples without stacks: export, status" $? 3
is "samples without stacks: import" "$(grep -c 'no branch stacks: record them' <<<"$said")" 1
is "samples without stacks: no database, and none is named" \
	"$(ls bare.db 2>/dev/null; grep -c 'written to' <<<"$said")" 0

: >nothing.txt
said=$("$ctl" import -F bolt-preagg --binary moved nothing.txt -o nothing.db 2>&1)
is "an empty text: import, status" $? 3
is "an empty text: import" "$(grep -c 'nothing.txt: has neither samples nor counts' <<<"$said")" 1

# ---------------------------------------------------------------- packed

read_both() { # FILE FORMAT OUT: what import and export make of it
	rm -f both.db*
	"$ctl" export --recording "$1" --recording-format "$2" --file moved -F csv -o "$3.csv" 2>said &&
		"$ctl" import -F "$2" -o both.db "$1" --binary moved --json 2>said |
		grep -v '"db"' >"$3.json" || cat said
}
"$ctl" import -F perf.data -o $'both\377.db' app.data --binary moved --json >odd.json 2>said
is "a database that is named in no UTF-8" "$(python3 -c 'import json; print(ascii(json.load(open("odd.json"))["db"]))')" "'both\\ufffd.db'"
rm -f $'both\377.db'*
for file in app.data text; do
	format=perf.data
	[ $file = text ] && format=perf-script
	read_both $file $format plain
	both_ways "$file" $format $file moved
	for tool in gzip zstd; do
		command -v $tool >/dev/null || { echo "skip packed: no $tool"; continue; }
		$tool -c <$file >packed
		read_both packed $format packed
		is "packed: $file by $tool" "$(cmp plain.csv packed.csv && cmp plain.json packed.json &&
			[ -s packed.csv ] && [ -s packed.json ] && echo same)" same
		rm -f both.db*
		"$ctl" import -F $format -o both.db - --binary moved --json < <(cat packed) 2>said |
			grep -v '"db"' >packed.json
		"$ctl" export --recording - --recording-format $format --file moved -F csv -o packed.csv \
			< <(cat packed) 2>said
		is "packed: $file by $tool, through a pipe" "$(cmp plain.csv packed.csv &&
			cmp plain.json packed.json && echo same)" same
		is "packed: $file by $tool, no room" "$(TMPDIR=/nowhere "$ctl" import -F $format -o packed.db packed 2>&1 |
			grep -c "packed: cannot be unpacked into /nowhere: No such file.*TMPDIR names another")" 1
		head -c $(($(stat -c %s packed) - 5)) packed >short
		is "packed: $file by $tool, cut off" "$("$ctl" import -F $format -o packed.db short 2>&1 |
			grep -c "short: is packed, and damaged or cut off: ")" 1
	done
	for tool in xz bzip2; do
		command -v $tool >/dev/null || { echo "skip packed: no $tool"; continue; }
		$tool -c <$file >packed
		is "packed: export of $file by $tool" "$("$ctl" export --recording packed \
			--recording-format $format --file moved -F csv -o out 2>&1 |
			grep -c "is packed by $tool: unpack it first ($tool -d)")" 1
		is "packed: $file by $tool, through a pipe" "$("$ctl" import -F $format -o packed.db - < <(cat packed) 2>&1 |
			grep -c "is packed by $tool: unpack it first ($tool -d)")" 1
		is "packed: import of $file by $tool" "$("$ctl" import -F $format -o packed.db packed 2>&1 |
			grep -c "is packed by $tool: unpack it first ($tool -d)")" 1
	done
done
printf 'PERFTEXT;BUILDIDS=32;MMAP=2DC6C0;MAIN=1388;TASK=55730;\n' >parsed
for verb in "export --recording parsed --recording-format perf-script --file moved -F csv -o out" \
	"import -F perf-script parsed -o parsed.db"; do
	# shellcheck disable=SC2086
	is "perf2bolt's pre-parsed text: ${verb%% *}" "$("$ctl" $verb 2>&1 | grep -c "pre-parsed text")" 1
done
if objcopy --compress-debug-sections=zstd moved zstd-debug 2>/dev/null; then
	said=$("$ctl" export --recording app.data --file zstd-debug -F llvm-sample -o out.prof 2>&1)
	is "packed: debug sections" "$({ [ -s out.prof ] || grep 'packed by zstd' <<<"$said"; } >/dev/null &&
		echo 'read, or named')" "read, or named"
else
	echo "skip packed: objcopy knows no zstd"
fi

# ---------------------------------------------------------------- what BOLT wrote

if command -v llvm-bolt-22 >/dev/null; then
	llvm-bolt-22 rounds -o bolted >said 2>&1 || cat said
	printf 'B %s %s 7 1\n' "$(nm bolted | sed -n 's/ T main$//p')" "$(nm bolted | sed -n 's/ T main$//p')" >bolted.txt
	for format in bolt-fdata bolt-preagg; do
		is "bolted: $format" "$("$ctl" export --recording bolted.txt --recording-format bolt-preagg \
			--file bolted -F $format -o bolted.out 2>&1 | grep -c 'was written by BOLT')" 1
	done
	is "bolted: others" "$("$ctl" export --recording bolted.txt --recording-format bolt-preagg \
		--file bolted -F csv -o - 2>/dev/null | grep -c ',7,1')" 1
else
	echo "skip bolted: no llvm-bolt-22"
fi

ways_end 22
exit $failed
