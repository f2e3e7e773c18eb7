# SPDX-License-Identifier: GPL-2.0-or-later
# What runs in the guest on a kernel for which no module is built.
. ./common.sh
. ./bpf.sh
verify_bpf
conform_bpf
exit $failed
