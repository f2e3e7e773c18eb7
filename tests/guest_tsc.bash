# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by what boots emulated machines. tsc_word BUILD: the word that tells a guest's kernel how fast its time
# stamp counter counts. Left to itself it measures that at boot, and on a busy host finds a twentieth of it: the
# guest's seconds are then so much too short, and all that waits there for a second sees nothing happen.
tsc_word() {
	local tool=$1/tests/tools/tsc_khz

	make -s -C "$(dirname "${BASH_SOURCE[0]}")/.." BUILD="$1" "$tool" >&2 && echo "tsc_early_khz=$("$tool")"
}
