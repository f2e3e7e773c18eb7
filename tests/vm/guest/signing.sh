# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by stock.sh, last of all: from here on nothing unsigned can be loaded. The module is signed
# with a key that this kernel does not know, which is where an installation begins; that a kernel
# takes one whose key it knows cannot be tried here.
enforce=/sys/module/module/parameters/sig_enforce

# refused NAME MODULE WHY: not loaded, and the kernel's log says why.
refused() {
	local before=$(dmesg | wc -l)
	if insmod "/modules/$2" 2>/tmp/out; then
		not_ok "$1" "it was loaded"
		unload
	elif dmesg | tail -n +$((before + 1)) | grep -q "$3"; then
		ok "$1 ($(sed 's/.*: //' /tmp/out); $3)"
	else
		not_ok "$1" "$(cat /tmp/out): $(dmesg | tail -1)"
	fi
}

if ! [ -e $enforce ] || ! [ -e /modules/pathprof-signed.ko ]; then
	echo "# signing: this kernel does not look at signatures"
	return
fi
echo 1 >$enforce
refused signing_unsigned pathprof.ko "unsigned module is rejected"
refused signing_unknown pathprof-signed.ko "unavailable key is rejected"
