# SPDX-License-Identifier: GPL-2.0-or-later
# Programs in places of their own: services with a private /tmp, a user of the moment, a system call
# filter, a mount namespace; deleted and over-mounted files. Each is profiled, by its name.
. ./place.bash

cp ./hot-* /srv/
place ptmp -p PrivateTmp=yes -- bash -c 'cp /srv/hot-ptmp /tmp/; exec /tmp/hot-ptmp'
place dynamic -p DynamicUser=yes -- /srv/hot-dynamic
place filter -p SystemCallFilter=@system-service -p NoNewPrivileges=yes -p User=nobody -- /srv/hot-filter
place mount -- unshare -m bash -c 'mount -t tmpfs none /mnt; cp /srv/hot-mount /mnt/; exec /mnt/hot-mount'
place deleted -- bash -c 'cp /srv/hot-deleted /srv/gone/ 2>/dev/null || { mkdir -p /srv/gone; cp /srv/hot-deleted /srv/gone/; }; /srv/gone/hot-deleted & sleep 1; rm /srv/gone/hot-deleted; wait'
place covered -p PrivateTmp=yes -- bash -c 'mkdir /tmp/d; cp /srv/hot-covered /tmp/d/; /tmp/d/hot-covered & sleep 1; mount -t tmpfs none /tmp/d; wait'
fresh
