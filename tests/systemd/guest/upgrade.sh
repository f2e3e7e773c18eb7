# SPDX-License-Identifier: GPL-2.0-or-later
# A newer package over an older one: the service that ran runs on as the new program, with its settings, and
# with every window that it had.
. ./common.bash

packages=(./pathprof_*.deb)
if [ ! -e "${packages[0]}" ]; then
	echo "skip upgrade: no package: make deb"
	exit
fi
newer() {
	rm -rf /srv/newer
	dpkg-deb -R "${packages[0]}" /srv/newer &&
		sed -i '/^Version:/s/$/+newer/' /srv/newer/DEBIAN/control &&
		dpkg-deb -Znone -b /srv/newer /srv/newer.deb
}
check upgrade_made 'newer 2>&1 | tail -3' newer

fresh "$quick"
echo '# mine' >>/etc/pathprof/pathprofd.conf
work hot ./hot
systemctl enable -q --now "$unit"
check upgrade_recorded 'pathprofctl status' wait_for 300 at_least windows 2
windows() { sqlite3 -readonly -cmd '.timeout 5000' "$db" "SELECT count(*) FROM windows WHERE id <= $last"; }
last=$(sqlite3 -readonly -cmd '.timeout 5000' "$db" 'SELECT max(id) FROM windows')
before=$(windows) pid=$(property MainPID) begin=$(now)
check upgrade_installs 'cat /run/upgrade.log' eval 'dpkg --force-confdef -i /srv/newer.deb >/run/upgrade.log 2>&1 </dev/null'
check upgrade_is_newer 'dpkg -s pathprof' eval 'dpkg-query -W pathprof | grep -q "+newer$"'
check upgrade_runs_on 'systemctl status --no-pager $unit' wait_for 60 eval 'is_active && [ "$(property MainPID)" != "$pid" ]'
check upgrade_windows_kept 'windows' test "$(windows)" -eq "$before"
more() { [ "$(sqlite3 -readonly -cmd '.timeout 5000' "$db" 'SELECT max(id) FROM windows')" -gt "$last" ]; }
check upgrade_goes_on 'pathprofctl status; log_since $begin' wait_for 300 more
check upgrade_settings_kept 'tail -2 /etc/pathprof/pathprofd.conf' grep -qx '# mine' /etc/pathprof/pathprofd.conf
check upgrade_no_failure 'log_since $begin' test "$(journalctl -u "$unit" -p err -o cat --no-pager -q --since "@$begin" | wc -l)" -eq 0
systemctl disable -q "$unit"
rest hot
rm -rf /srv/newer*
fresh
