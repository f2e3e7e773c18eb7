# SPDX-License-Identifier: GPL-2.0-or-later
# What runs in the guest on a kernel for which no module is built. One before 5.14 may refuse the
# sampling program for a helper that it lacks; the chain is the same.
. ./common.sh
. ./bpf.sh
verify_bpf
conform_bpf
exit $failed
