#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Seeds for fuzz_perf_data: a small file of each kind. Usage: seeds_perf_data.sh WRITER DIR.
set -eu
write=$1 dir=$2
records() {
	cat <<-'END'
	mmap -1 0 0xffffffff81000000 0x1000000 0xffffffff81000000 k [kernel.kallsyms]_text
	spawn 100 0 1
	mmap2 100 0 0x400000 0x10000 0 5 inode /bin/prog
	exec 200 1000 prog
	mmap2 200 1100 0x400000 0x10000 0x1000 5 00112233445566778899aabbccddeeff00112233 /bin/id
	fork 201 1300 200
	sample 0 200 2000 0x400100 hw=5 chain=3 0x400200>0x400100:P:5 0x400210>0x400300:M:0:1
	sample 0 201 1900 0x10 mode=1 0x400200>0x400100:XAP:65535:4 0x5>0x6:M
	lost 2100 5
	lost-samples 2200 7
	round
	exit 200 2400
	round
	END
}
make_seed() { # NAME HEADER EVENT...
	local name=$1 header=$2
	shift 2
	{
		echo "$header"
		printf '%s\n' "$@" "feature hostname here" "feature cmdline perf record" \
			"feature clock 1700000000000000000 5000000000" \
			"feature build-id user-sized 0011223344556677 /bin/a" begin
		[[ $name != *zip* ]] || echo "$name"
		records
		[[ $name != *zip* ]] || echo unzip
		[[ $header != pipe ]] || printf '%s\n' "aux 100" "tracing 64" "update 0 other"
	} | "$write" "$dir/seed_$name"
}
all=ip+tid+time+addr+id+stream+cpu+period+read+chain+raw+branches
make_seed plain file "event sample=ip+tid+time+branches name=cycles:u"
make_seed pipe pipe "event sample=ip+tid+time+branches ids=1 name=cycles:u"
make_seed all file "event sample=identifier+$all ids=1 read=31 branch=0xa0008"
make_seed two file "event sample=ip+tid+time+id+branches ids=1" "event sample=ip+tid+time+id ids=2"
make_seed zip file "event sample=ip+tid+time+branches"
make_seed zip2 pipe "event sample=ip+tid+time+branches"
make_seed old "file v1 old" "event sample=ip+tid+time+branches size=80"
make_seed killed "file unclosed" "event sample=ip+tid+time+branches size=200"
