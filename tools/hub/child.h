/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Work that takes long, in a process apart: this program again with another verb, whose standard
 * output the hub reads as it comes. So the hub does not wait for it, and survives its failures.
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
	char *answer; /* the output so far, zero-terminated */
	size_t len, room;
	int status; /* exit status when it has ended */
	int error;  /* -errno; of HUB_CHILD_LOST */
};

enum hub_child_state {
	HUB_CHILD_RUNS,
	HUB_CHILD_ENDED, /* by itself; status says how */
	HUB_CHILD_LATE,  /* it took too long, and was killed */
	HUB_CHILD_LONG,  /* it said too much, and was killed */
	HUB_CHILD_LOST,  /* its answer could not be read, and it was killed; error says why */
};

/* argv[0] is this program's name. Returns -errno if no child could be started; another try may
 * succeed. */
int hub_child_start(struct hub_child *child, const char *const *argv);
/* Reads the output so far. Kills the child and all its processes after most_ns or most_bytes. */
enum hub_child_state hub_child_follow(struct hub_child *child, uint64_t most_ns, size_t most_bytes);
/* Descriptor to wait for; -1: there is no child. */
int hub_child_fd(const struct hub_child *child);
void hub_child_release(struct hub_child *child);
/* The path of another program of this project, in the directory of this one. Returns false if that
 * is unknown. */
bool hub_child_find(const char *name, char *ret_path, size_t size);

/* To be called in the child: gives it the lowest priority, a limit of memory, and makes it the OOM
 * killer's first choice. */
void hub_child_be_modest(size_t memory_bytes);

#endif
