/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether an open file of a held thread is of procfs, wherever that is mounted. Neither a look-up
 * of the file nor statfs would do: a file server that is gone would hold us, and the target with
 * us. The number of the file's mount and the thread's list of mounts ask nobody. Our list
 * and process 1's have the mount of a root that chroot moved into a directory.
 *
 * A file whose mount is in no such list, as one that was opened before a container's chroot, is
 * taken for one of procfs: it cannot be told. So is one whose mount is behind the first 200 or so
 * of a list, since the thread is held meanwhile and anybody may mount thousands. What is known of a
 * mount holds for a second, since the kernel gives its number to another one once it is gone.
 *
 * Workload: once a read of a file on the way of a burst: 8 us, and a list of mounts (1 us a mount)
 * each second and mount. The stepper's one thread owns the table. Source: proc(5), /proc/PID/fdinfo
 * and /proc/PID/mountinfo.
 */
#ifndef PP_STEP_MOUNT_H
#define PP_STEP_MOUNT_H

#include <stdbool.h>
#include <sys/types.h>

bool pp_step_mount_is_procfs(pid_t tid, int fd);

#endif
