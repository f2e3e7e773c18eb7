/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that takes long, in a process apart: this program again with another verb, whose standard
 * output the hub reads as it comes. So nobody waits for it, and what goes wrong there ends there.
 *
 * Ownership: a struct hub_child of zeros is none; hub_child_release() ends what runs. One thread.
 */
#ifndef HUB_CHILD_H
#define HUB_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct hub_child {
	pid_t pid; /* 0: none */
	int pipe;
	uint64_t begin_ns;
	char *answer; /* what came, zero behind it */
	size_t len, room;
	int status; /* exit status when it has ended */
	int error;  /* -errno; of HUB_CHILD_LOST */
};

enum hub_child_state {
	HUB_CHILD_RUNS,
	HUB_CHILD_ENDED, /* by itself; status says how */
	HUB_CHILD_LATE,  /* it took too long, or said too much, and was killed */
	HUB_CHILD_LOST,  /* its answer could not be read, and it was killed; error says why */
};

/* argv[0] is this program's name. -errno: there is none, and another try may bring one. */
int hub_child_start(struct hub_child *child, const char *const *argv);
/* Reads what has come. Killed with all that it started: most_ns or most_bytes are over. */
enum hub_child_state hub_child_follow(struct hub_child *child, uint64_t most_ns, size_t most_bytes);
/* Descriptor to wait for; -1: there is no child. */
int hub_child_fd(const struct hub_child *child);
void hub_child_release(struct hub_child *child);
/* The path of another program of this project, which lies beside this one. False: it is unknown. */
bool hub_child_find(const char *name, char *ret_path, size_t size);

/* In the child: behind everything else, and never the reason for which something else lacks memory.
 */
void hub_child_be_modest(size_t memory_bytes);

#endif
