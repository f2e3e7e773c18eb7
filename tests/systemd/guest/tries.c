// SPDX-License-Identifier: GPL-2.0-or-later
/* tries WHAT: does one thing that a service's walls forbid. Exit status 0: it could. */
#include <errno.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/personality.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

static long try_one(const char *what)
{
	if (!strcmp(what, "socket"))
		return socket(AF_INET, SOCK_STREAM, 0);
	if (!strcmp(what, "mount"))
		return mount("none", "/mnt", "tmpfs", 0, "") ? -1 : umount("/mnt");
	if (!strcmp(what, "namespace"))
		return unshare(CLONE_NEWNS);
	if (!strcmp(what, "keyring"))
		return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 1);
	if (!strcmp(what, "module"))
		return syscall(SYS_finit_module, 0, "", 0);
	if (!strcmp(what, "exec-memory"))
		return mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
			       ? -1
			       : 0;
	if (!strcmp(what, "personality"))
		return personality(PER_LINUX32);
	if (!strcmp(what, "clock"))
		return settimeofday(&(struct timeval){1, 0}, NULL);
	if (!strcmp(what, "setuid"))
		return setuid(getuid());
	if (!strcmp(what, "is-root"))
		return geteuid() == 0 ? 0 : -1;
	return -1;
}

int main(int argc, char **argv)
{
	if (argc == 2 && try_one(argv[1]) >= 0)
		return 0;
	fprintf(stderr, "tries: %s: %s\n", argc == 2 ? argv[1] : "WHAT", strerror(errno));
	return 1;
}
