#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Seeds for fuzz_recording_text: a few lines of each format. Usage: seeds_recording_text.sh - DIR.
set -eu
dir=$2
seed() { # NAME BYTE: the first byte says the format
	{ printf "$2"; cat; } >"$dir/$1"
}
seed perf-script '\000' <<-'END'
	# hostname : box
	 x  1/1  1.000000: PERF_RECORD_COMM exec: x:1/1
	 x  1/1  1.000000: PERF_RECORD_MMAP2 1/1: [0x1000(0x2000) @ 0x1000 08:04 19 35]: r-xp /bin/x
	PERF_RECORD_MMAP2 1/1: [0x1000(0x2000) @ 0 <00112233445566778899aabbccddeeff00112233>]: r--p /x
	PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x1000) @ 0xffffffff81000000]: x [kernel.kallsyms]
	 x  1/1  1.000000: PERF_RECORD_FORK(2:2):(1:1)
	 x  1/1  1.000000: PERF_RECORD_EXIT(2:2):(1:1)
	 x  1/1  1.000000: PERF_RECORD_LOST lost 12
	 x  1/2  [001]  1.000000:  12 c:u:      7f0011223344 m+0x1 (/x) 0x1(/x+0x1)/0x2(/y)/M/X/A/7/COND/SPEC_WRONG_PATH
	   1/2        7f0011223344  0x1/0x2/P/-/-  0x3/0x4/-/-/-/1//-  0x5/0x6/PN/-/-/0/ARCH_1/N/A
	    2 0x1/0x2/P/-/-/0
	x 1/2 2.000000: c:
	 7f0011223344 x (y)
	 0x1/0x2/P/-/-/0

END
seed perfscript '\001' <<-'END'
	PERF_RECORD_MMAP2 1/1: [0x1000(0x2000) @ 0 08:04 19 35]: r-xp /bin/x
	3
	          4005dc
	          400684
	 0x1/0x2/P/-/-/0  0x3/0x4/M/-/-/1//-

	 12     400684 0x1/0x2/P/-/-/0
	; remark
END
seed raw '\002' <<-'END'
	[aa55:0x1 @ bb66:0x2]
	  1
	  1-2:3
	  1
	  1->2:3
	1
	10-20:5
	0
END
seed preagg '\003' <<-'END'
	E cycles
	T X:1 aa55:2 3 4
	T ffffffffffffffff 20 30 2
	B 1 2 3 4
	F 1 2 3
	r 1 2 3
	R 0 2 3 4
	S 1 2
END
printf '\004no_lbr c d\nboltedcollection\n1 a\\ b 1 2\n4 a 1 3 b 2 3\n' >"$dir/fdata-samples"
printf '\0041 a\\\\ 1 0 /lib/b 2 3 4\n2 f/x.c/1 a 1 main 0 0 1\n' >"$dir/fdata"
seed autofdo '\005' <<-'END'
	1
	1000-1010:5
	2
	1000:3
	0x1004:4
	1
	1010->1000:7
	# made here
END
