# SPDX-License-Identifier: GPL-2.0-or-later
# How often a test repeats what it shows. PATHPROF_ROUNDS=full asks for every repetition; without it
# the same is shown by fewer, so that all tests together take minutes.

rounds() { # SHORT FULL
	if [ "${PATHPROF_ROUNDS:-short}" = full ]; then echo "$2"; else echo "$1"; fi
}
