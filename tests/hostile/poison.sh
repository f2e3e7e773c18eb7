#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# A user gives a program the build-id of root's, and runs it beside that. It is counted apart from
# the first look on; where it came first it has one window with root's, which no compiler is given.
. "$(dirname "$0")/hostile_common.bash"
[ "$(id -u)" -eq 0 ] || { echo "skip poison: needs root, to be another user"; exit 0; }
ctl=$BUILD/bin/pathprofctl
other=$BUILD/tests/workloads/share_loop
nobody=65534
[ -x "$flow" ] && [ -x "$other" ] || { echo "not ok poison: workloads were not built"; exit 1; }

# A build-id of its own, so that nobody on this machine runs the same.
give_id() { # FILE HEX
	python3 - "$2" >"$tmp/note" <<-'END'
		import sys, struct
		ident = bytes.fromhex(sys.argv[1])
		sys.stdout.buffer.write(struct.pack('<III', 4, len(ident), 3) + b'GNU\0' + ident)
	END
	objcopy --update-section .note.gnu.build-id="$tmp/note" "$1"
	chmod 755 "$1"
}
id=$(python3 -c 'import os; print(os.urandom(20).hex())')
own_id=${id:0:32}0000fffe # of user 65534
cp "$flow" "$tmp/victim"
cp "$other" "$tmp/forged"
give_id "$tmp/victim" "$id"
give_id "$tmp/forged" "$id"
cp "$tmp/victim" "$tmp/copy"
chown "$nobody" "$tmp/forged"

run_victim() { "$tmp/victim" 2000000000 >/dev/null & others+=("$!"); }
run_copy() { "$tmp/copy" 2000000000 >/dev/null & others+=("$!"); }
run_forged() {
	"${neighbour[@]}" "$tmp/forged" 2000000000 >/dev/null &
	others+=("$!")
}
begin() { db=$tmp/$1.db; start --db "$db" --source step --window 2 --overhead 20 --hold 20ms; }
end() { stop; stop_others; }

lines() { grep -c 'has the same one' "$tmp/log" || true; }
# owners HEX: of its files, each once.
owners() {
	sql "SELECT group_concat(owner, ' ') FROM (SELECT DISTINCT f.owner FROM window_files f
		JOIN binaries b ON b.id = f.binary WHERE lower(hex(b.build_id)) = '$1'
		ORDER BY f.owner)"
}
# All that is known of them, to say why a check failed.
files_of_id() {
	sql "SELECT group_concat(f.window || ' ' || f.owner || ' ' || f.device || ' ' || f.inode, ', ')
		FROM window_files f JOIN binaries b ON b.id = f.binary WHERE lower(hex(b.build_id)) = '$id'"
}
# Clock samples under an identity of processes of a name.
samples() { # HEX COMM
	sql "SELECT coalesce(sum(c.samples), 0) FROM clock_counts c JOIN binaries b ON b.id = c.binary
		JOIN processes p ON p.id = c.process
		WHERE lower(hex(b.build_id)) = '$1' AND p.comm = '$2'"
}
has_samples() { [ "$(samples "$@")" -gt 0 ]; }
# Windows in which the identity is root's alone, and has paths.
has_paths_of_root() { # WINDOWS
	[ "$(sql "SELECT count(DISTINCT c.window) FROM path_counts c JOIN paths p ON p.id = c.path
		JOIN binaries b ON b.id = p.binary WHERE lower(hex(b.build_id)) = '$id' AND NOT EXISTS
		(SELECT 1 FROM window_files f WHERE f.window = c.window AND f.binary = b.id
		 AND f.owner <> 0)")" -ge "$1" ]
}
# Windows in which a file of the forger has the identity.
windows_of_forger() { # [CONDITION of f, the file, and b, the binary]
	sql "SELECT count(DISTINCT f.window) FROM window_files f JOIN binaries b ON b.id = f.binary
		WHERE lower(hex(b.build_id)) = '$id' AND f.owner = $nobody ${1:+AND $1}"
}
forger_has_paths() {
	[ "$(windows_of_forger 'EXISTS (SELECT 1 FROM path_counts c JOIN paths p ON p.id = c.path
		WHERE c.window = f.window AND p.binary = b.id)')" -gt 0 ]
}
export_it() { "$ctl" --db "$db" export --binary "$id" --file "$tmp/victim" -F csv "$@"; }

# ---------------------------------------------------------------- root's first
begin first
run_victim
run_copy
wait_for 120 has_samples "$id" victim || true
wait_for 120 has_samples "$id" copy || true
run_forged
wait_for 120 has_samples "$own_id" forged || true
wait_for 120 has_paths_of_root 2 || true
end
check told-once "$(cat "$tmp/log")" test "$(lines)" -eq 1
check roots-alone "owners $(owners "$id")" test "$(owners "$id")" = 0
check forged-apart "owners $(owners "$own_id")" test "$(owners "$own_id")" = "$nobody"
check forged-counted "no samples" test "$(samples "$own_id" forged)" -gt 0
check not-mixed "$(samples "$id" forged) samples" test "$(samples "$id" forged)" -eq 0
# the twin: a copy of root's is the same program, and nothing is said of it
check copy-adds-up "no samples" test "$(samples "$id" copy)" -gt 0
check victim-counted "no samples" test "$(samples "$id" victim)" -gt 0
inodes=$(sql "SELECT count(DISTINCT f.inode) FROM window_files f JOIN binaries b ON b.id = f.binary
	WHERE lower(hex(b.build_id)) = '$id' AND f.device <> 0")
check inodes-known "$inodes" test "$inodes" -eq 2
"$ctl" --db "$db" binaries --no-header >"$tmp/binaries" 2>/dev/null ||
	"$ctl" --db "$db" binaries >"$tmp/binaries"
check binaries-shows "$(cat "$tmp/binaries")" grep -q "$own_id *\(nobody\|$nobody\)" "$tmp/binaries"
check binaries-shows-root "$(cat "$tmp/binaries")" grep -q "$id *root" "$tmp/binaries"
export_it >"$tmp/out" 2>"$tmp/said" || true
check export-takes-roots "$(cat "$tmp/said")" test -s "$tmp/out"
check export-says-nothing "$(cat "$tmp/said")" not grep -q 'left out: .* windows' "$tmp/said"

# ---------------------------------------------------------------- the forger first
begin second
run_forged
wait_for 120 has_samples "$id" forged || true
wait_for 120 forger_has_paths || true
run_victim
wait_for 120 has_samples "$id" victim || true
wait_for 120 has_samples "$own_id" forged || true
wait_for 120 has_paths_of_root 2 || true
end
check mixed-owners "owners $(owners "$id"): $(files_of_id)" test "$(owners "$id")" = "0 $nobody"
mixed=$(sql "SELECT count(*) FROM (SELECT f.window FROM window_files f JOIN binaries b
	ON b.id = f.binary WHERE lower(hex(b.build_id)) = '$id' GROUP BY f.window
	HAVING count(DISTINCT f.owner) > 1)")
check mixed-once "$mixed windows" test "$mixed" -le 1
export_it >"$tmp/out" 2>"$tmp/said" || true
check export-leaves-out "$(windows_of_forger) windows: $(cat "$tmp/said")" \
	grep -q "left out: $(windows_of_forger) windows with a file of user $nobody" "$tmp/said"
# the twin: who asks for it gets it
export_it --any-owner >"$tmp/any" 2>"$tmp/said" || true
check any-owner "$(cat "$tmp/said")" not grep -q 'left out: .* windows' "$tmp/said"
check any-owner-differs "the same" not cmp -s "$tmp/out" "$tmp/any"
export_it --owner "$nobody" >"$tmp/owner" 2>/dev/null || true
check owner-is-taken "not as with --any-owner" cmp -s "$tmp/owner" "$tmp/any"
finish
