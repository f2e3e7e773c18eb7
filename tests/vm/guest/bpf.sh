# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by stock.sh, and by bpf_only.sh where there is no module: the BPF collector in this kernel
# held against its twin in user space and a plain model, and what the verifier processes of it here
# (tests/bpf). vm_bpf_windows: of the usual setting; vm_bpf_others: of each other.
verify_bpf() { ./collect_check -v clang collect.bpf.o || failed=1; }

conform_bpf() {
	if [ -r /sys/kernel/btf/vmlinux ]; then
		./collect_check -n "$vm_bpf_windows" -m "$vm_bpf_others" collect.bpf.o *.win || failed=1
	else
		echo "skip bpf: this kernel has no type information"
	fi
}
