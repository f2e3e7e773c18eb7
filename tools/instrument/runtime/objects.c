// SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause
/*
 * The list of this process's objects that count. A library leaves it before it is unloaded, and
 * waits until no thread walks the list.
 *
 * Locking: one lock over the list, with signals blocked, so a handler that loads a library does not
 * wait for the thread it interrupts. Its holder may take an object's lock, but none of the dynamic
 * linker's.
 */
#include "counts.h"
#include "kernel.h"

struct counts_object *__pathprof_objects;
int __pathprof_objects_held;

static struct counts_object self = {.attach = counts_attach};

static uint64_t lock(void)
{
	uint64_t signals = kernel_hold_signals();

	while (__atomic_exchange_n(&__pathprof_objects_held, 1, __ATOMIC_ACQUIRE))
		kernel_yield();
	return signals;
}

static void unlock(uint64_t signals)
{
	__atomic_store_n(&__pathprof_objects_held, 0, __ATOMIC_RELEASE);
	kernel_let_signals(signals);
}

void counts_objects_enter(void)
{
	uint64_t signals = lock();

	self.next = __pathprof_objects;
	__pathprof_objects = &self;
	unlock(signals);
}

void counts_objects_leave(void)
{
	uint64_t signals = lock();
	struct counts_object **at = &__pathprof_objects;

	while (*at && *at != &self)
		at = &(*at)->next;
	if (*at)
		*at = self.next;
	unlock(signals);
}

void counts_objects_attach(void)
{
	uint64_t signals = lock();

	for (struct counts_object *o = __pathprof_objects; o; o = o->next)
		o->attach();
	unlock(signals);
}

void counts_objects_after_fork(void)
{
	__atomic_store_n(&__pathprof_objects_held, 0, __ATOMIC_RELEASE);
}
