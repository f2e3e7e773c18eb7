# SPDX-License-Identifier: GPL-2.0-or-later
# Programs in containers of systemd-nspawn and podman, the latter under its default seccomp profile.
. ./place.bash

mkdir -p /srv/root/{proc,sys,dev,etc,tmp,run,usr} && cp ./hot-podman ./hot-nspawn /srv/root/
place nspawn -- systemd-nspawn -q --register=no --keep-unit --as-pid2 -M placed -D /srv/root /hot-nspawn
place podman -- podman --cgroup-manager=cgroupfs run --rm --cgroups=disabled --network=none --rootfs /srv/root /hot-podman
fresh
