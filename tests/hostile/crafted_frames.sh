#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A neighbour runs programs whose tables of frames have no end: hundreds of thousands of functions, one
# function of a million rows, and ever new files. The daemon stays within its memory and in time, and
# what an honest program's functions are called by is known all the same.
. "$(dirname "$0")/hostile_common.bash"
for tool in gcc objcopy; do command -v $tool >/dev/null || { echo "skip crafted-frames: no $tool"; exit 0; }; done

# functions CNT, rows CNT: a program that spins two calls deep, beside that.
assemble() { # KIND CNT FILE
	{
		case $1 in
		functions) printf '.text\n.rept %d\n.cfi_startproc\nret\n.cfi_endproc\n.endr\n' "$2" ;;
		rows) printf '.text\n.cfi_startproc\n.rept %d\nnop\n.cfi_def_cfa_offset 16\nnop\n.cfi_def_cfa_offset 24\n.endr\nret\n.cfi_endproc\n' "$(($2 / 2))" ;;
		esac
		printf '.type spin,@function\nspin:\n.cfi_startproc\nmov $2000,%%ecx\n1: dec %%ecx\njnz 1b\nret\n.cfi_endproc\n.size spin,.-spin\n'
		printf '.globl main\nmain:\n.cfi_startproc\npush %%rbx\n.cfi_def_cfa_offset 16\n2: call spin\njmp 2b\n.cfi_endproc\n.section .note.GNU-stack,"",@progbits\n'
	} >"$tmp/crafted.s"
	gcc -o "$3" "$tmp/crafted.s" -Wl,--build-id
}
mkdir "$tmp/programs"
chmod 755 "$tmp/programs"
assemble functions 500000 "$tmp/programs/functions" && assemble rows 1000000 "$tmp/programs/rows" &&
	assemble functions 30000 "$tmp/new" || { not_ok assembled "gcc failed"; finish; }
# Other files with the same tables: the last bytes of the build-id differ.
at=$(($(objdump -h "$tmp/new" | awk '$2 == ".note.gnu.build-id" { print "0x" $6 }') + 32))
for i in $(seq 200); do
	cp "$tmp/new" "$tmp/programs/new$i"
	printf "\\x$(printf %02x $((i % 256)))\\x$(printf %02x $((i / 256)))" | dd of="$tmp/programs/new$i" bs=1 seek=$at conv=notrunc status=none
done
chmod 755 "$tmp/programs/"*

start --db "$db" --overhead 20 --window "$window_s"
watch_machine
wait_for 30 eval '[ "$(windows)" -ge 1 ]' || not_ok first-window "none"
before=$(windows)
for kind in functions rows; do
	"${neighbour[@]}" timeout 20 "$tmp/programs/$kind" &
	others+=("$!")
done
"${neighbour[@]}" bash -c "for i in \$(seq 200); do timeout 0.2 '$tmp/programs/new'\$i; done" 2>/dev/null &
others+=("$!")
sleep 5
"$BUILD/tests/workloads/callers" 3600 >/dev/null &
busy=$!
known() { sql "SELECT count(*) FROM contexts c JOIN binaries b ON b.id = c.binary WHERE b.name LIKE '%/callers'" 2>/dev/null || echo 0; }
wait_for 120 eval '[ "$(known)" -ge 1 ]' || true
check crafted-frames-others-known "no caller of an honest program in 120 s" test "$(known)" -ge 1
what_must_hold crafted-frames "$before"
status=$("$BUILD/bin/pathprofctl" --db "$db" status --json)
echo "# $(known) contexts of the honest program; $(echo "$status" | tr ',' '\n' | grep -E 'callers|child_cpu' | head -n 3 | tr '\n' ' ')"
show_teeth
stop
check ends-well "$stop_status" test "$stop_status" -eq 0
finish
