# SPDX-License-Identifier: GPL-2.0-or-later
# A program without names: its functions have them once a debuginfod server has the debug file of its build.
. ./common.bash

fresh "$quick"
work far --property=WorkingDirectory="$PWD" ./hot-far
systemctl start "$unit"
check debuginfod_recorded 'pathprofctl status' wait_for_bursts sees hot-far
rest far
functions() { pathprofctl top --since -10min --by functions --binary hot-far -n 0; }
check debuginfod_none 'functions' eval '! functions | grep -q hot_inner'
work answers --property=WorkingDirectory="$PWD" systemd-socket-activate -l 127.0.0.1:8002 --inetd -a ./answer
export DEBUGINFOD_URLS=http://127.0.0.1:8002 DEBUGINFOD_CACHE_PATH=/run/debuginfod
check debuginfod_named 'functions; journalctl -u answers -o cat --no-pager -n 5' eval 'functions | grep -q hot_inner'
rest answers
check debuginfod_kept functions eval 'functions | grep -q hot_inner'
fresh
