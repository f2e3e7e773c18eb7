# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by the scenarios that make recordings of branch stacks: `import` and then `export`, and
# `export --recording`, give the same branch profile of a file, byte by byte. $ctl is pathprofctl;
# $ways_cnt counts the profiles that had something in them.

ways_cnt=0

# way NAME OPTION...: what is exported but for the line of its origin; nothing where there is none.
way() {
	local to=$1
	shift
	rm -f ways.profile
	"$ctl" export "$@" -F bolt-preagg -o ways.profile >ways.said 2>&1
	[ ! -e ways.profile ] || grep -v '^E ' ways.profile >"$to"
	[ -e ways.profile ] || : >"$to"
}

# both_ways NAME FORMAT RECORDING FILE...
both_ways() {
	local name=$1 format=$2 recording=$3 file
	shift 3
	for file; do
		rm -f ways.db*
		way ways.straight --recording "$recording" --recording-format "$format" --file "$file"
		"$ctl" import -F "$format" -o ways.db "$recording" --binary "$file" >/dev/null 2>ways.said
		way ways.imported --db ways.db --file "$file" --binary "${file##*/}"
		cmp -s ways.straight ways.imported ||
			not_ok "$name: ${file##*/} both ways" "$(diff ways.straight ways.imported | head -n 4 | tr '\n' ' ')"
		[ ! -s ways.straight ] || ways_cnt=$((ways_cnt + 1))
	done
}

# make_ways_file NAME [LD-OPTION...]: a program that loops at 0x400100 and everywhere up to 0x482000.
make_ways_file() {
	local name=$1
	shift
	cat >ways.s <<-'END'
		.globl _start
		.type _start, @function
		_start:
			.rept 0x8200
		1:	.fill 14, 1, 0x90
			jne 1b
			.endr
			.size _start, . - _start
	END
	gcc -nostdlib -static -Wl,-Ttext-segment=0x400000,-z,noseparate-code,--build-id "$@" -o "$name" ways.s
}

# ways_end AT-LEAST
ways_end() {
	[ "$ways_cnt" -ge "$1" ] && ok "$ways_cnt profiles are the same straight and through an import" ||
		not_ok "profiles straight and through an import" "$ways_cnt"
}
