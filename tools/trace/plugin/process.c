// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One traced process: its slot in the shared memory and its ring of definitions.
 *
 * Workload: a record for each block translated; the ring is rarely full. Locking: plugin_lock().
 * Ownership: the slot is this process' until it dies; pathprof-trace frees it then.
 */
#include "plugin.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "count.h"
#include "pathprof/trace_format.h"

static struct trace_process_slot *self;
static uint32_t slot_index;
static uint8_t *ring;

bool process_known(void)
{
	return self != NULL;
}

uint32_t process_number(void)
{
	return self ? self->process : 0;
}

uint32_t process_slot(void)
{
	return slot_index;
}

static int take_slot(uint32_t *ret_index)
{
	for (uint32_t i = 0; i < TRACE_PROCESS_CNT; i++) {
		uint32_t expected = TRACE_FREE;

		if (__atomic_compare_exchange_n(&plugin_share->processes[i].state, &expected,
						TRACE_CLAIMED, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED)) {
			*ret_index = i;
			return 0;
		}
	}
	return -ENOSPC;
}

/* In another pid namespace, where the tracer's number of this process is not known: the tracer
 * would take another process for this one. */
static bool is_apart(void)
{
	struct stat own;

	return plugin_share->pid_namespace && stat("/proc/self/ns/pid", &own) == 0 &&
	       own.st_ino != plugin_share->pid_namespace;
}

/* parent: the number of the process this one was forked from; its own for the first. */
int process_claim(uint32_t parent)
{
	struct pathprof_trace_process record = {.parent = parent, .pid = (uint32_t)getpid()};
	int r = is_apart() ? -EXDEV : take_slot(&slot_index);

	self = NULL;
	if (r < 0) {
		__atomic_add_fetch(&plugin_share->lost_streams, 1, __ATOMIC_RELAXED);
		return r;
	}
	self = &plugin_share->processes[slot_index];
	ring = trace_share_definitions(plugin_share, slot_index);
	self->process = __atomic_fetch_add(&plugin_share->next_process, 1, __ATOMIC_RELAXED);
	self->pid = record.pid;
	self->executing = 0;
	record.process = self->process;
	if (plugin_share->counts)
		count_open(slot_index);
	/* Pairs with the reader's acquire: a slot seen live has its other members filled in. */
	__atomic_store_n(&self->state, TRACE_LIVE, __ATOMIC_RELEASE);
	process_define(PATHPROF_TRACE_PROCESSES, &record, sizeof(record), NULL, 0);
	return 0;
}

void process_ring_bell(void)
{
	__atomic_add_fetch(&plugin_share->bell, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &plugin_share->bell, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool tracer_gone(void)
{
	if (__atomic_load_n(&plugin_share->stopped, __ATOMIC_RELAXED))
		return true;
	return kill((pid_t)plugin_share->tracer_pid, 0) < 0 && errno == ESRCH;
}

void process_wait(uint32_t *seq, uint32_t seen)
{
	const struct timespec timeout = {.tv_nsec = 200 * 1000 * 1000};

	process_ring_bell();
	if (syscall(SYS_futex, seq, FUTEX_WAIT, seen, &timeout, NULL, 0) < 0 &&
	    errno == ETIMEDOUT && tracer_gone())
		kill(getpid(), SIGKILL);
}

static void wait_for_room(uint64_t bytes)
{
	for (;;) {
		uint32_t seen = __atomic_load_n(&self->taken_seq, __ATOMIC_ACQUIRE);
		uint64_t taken = __atomic_load_n(&self->taken_bytes, __ATOMIC_ACQUIRE);

		if (self->written_bytes + bytes - taken <= TRACE_RING_BYTES)
			return;
		process_wait(&self->taken_seq, seen);
	}
}

static uint64_t copy_in(uint64_t at, const void *from, uint32_t len_bytes)
{
	uint32_t offset = (uint32_t)at & (TRACE_RING_BYTES - 1);
	uint32_t first = TRACE_RING_BYTES - offset;

	if (first > len_bytes)
		first = len_bytes;
	if (len_bytes == 0)
		return at;
	memcpy(ring + offset, from, first);
	memcpy(ring, (const uint8_t *)from + first, len_bytes - first);
	return at + len_bytes;
}

/* type: enum pathprof_trace_chunk_type. record and name together become one record of the file. */
void process_define(uint32_t type, const void *record, uint32_t len_bytes, const void *name,
		    uint32_t name_bytes)
{
	struct trace_definition head = {.type = type, .len_bytes = len_bytes + name_bytes};
	uint64_t bytes = sizeof(head) + ((head.len_bytes + 7u) & ~7u);
	uint64_t at;

	if (!self || head.len_bytes > TRACE_DEFINITION_MAX)
		return;
	wait_for_room(bytes);
	at = copy_in(self->written_bytes, &head, sizeof(head));
	at = copy_in(at, record, len_bytes);
	copy_in(at, name, name_bytes);
	/* Pairs with the reader's acquire in front of its copy. */
	__atomic_store_n(&self->written_bytes, self->written_bytes + bytes, __ATOMIC_RELEASE);
}

void process_executing(const char *name)
{
	if (!self)
		return;
	strncpy(self->exec_name, name, sizeof(self->exec_name) - 1);
	__atomic_store_n(&self->executing, 1, __ATOMIC_RELEASE);
}

void process_not_executing(void)
{
	if (self)
		__atomic_store_n(&self->executing, 0, __ATOMIC_RELEASE);
}
