# SPDX-License-Identifier: GPL-2.0-or-later
# Sourced by main when somebody wants to look around (SYSTEMD_SHELL=1): each line that comes in is a
# script in base64; what it says goes out, then a line with its status.
stty raw -echo
echo "# shell"
while read -r line && [ "$line" != end ]; do
	timeout 600 bash -c "$(base64 -d <<<"$line")" </dev/null 2>&1
	echo "# status $?"
done
