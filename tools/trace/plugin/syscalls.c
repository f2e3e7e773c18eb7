// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * System calls of the program that change where code lies or how control flows: mappings, signal
 * handlers and returns from them, other programs executed, processes forked.
 *
 * Workload: every system call of the program. Locking: plugin_lock() around what it changes.
 * Ownership: the arguments of the call in hand are the thread's.
 */
#include "plugin.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "qemu_plugin.h"

struct call {
	uint64_t a1, a2, a3;
};

static __thread struct call call;
static __thread unsigned calling_vcpu;
static uint32_t parent_number;

size_t plugin_read(uint64_t address, void *to, size_t len_bytes)
{
	struct iovec local = {.iov_base = to, .iov_len = len_bytes};
	struct iovec remote = {.iov_base = (void *)(uintptr_t)(address + plugin_guest_base),
			       .iov_len = len_bytes};
	ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);

	return n > 0 ? (size_t)n : 0;
}

/* A string may end right before unmapped memory. */
static void read_string(uint64_t address, char *to, size_t size)
{
	size_t len = 0;

	while (len < size - 1) {
		size_t part = 64 - ((address + len) & 63);
		size_t want = part < size - 1 - len ? part : size - 1 - len;
		size_t n = plugin_read(address + len, to + len, want);
		const char *end = memchr(to + len, '\0', n);

		if (end)
			return;
		len += n;
		if (n < want)
			break;
	}
	to[len] = '\0';
}

static void on_execute(uint64_t name)
{
	char text[TRACE_EXEC_NAME_SIZE];

	read_string(name, text, sizeof(text));
	plugin_lock();
	process_executing(text);
	plugin_unlock();
}

static void on_sigaction(uint64_t signal, uint64_t action)
{
	uint64_t handler;

	if (!action || plugin_read(action, &handler, sizeof(handler)) != sizeof(handler))
		return;
	plugin_lock();
	handler_set((uint32_t)signal, handler);
	plugin_unlock();
}

static void on_call(qemu_plugin_id_t id, unsigned vcpu, int64_t number, uint64_t a1, uint64_t a2,
		    uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8)
{
	call = (struct call){a1, a2, a3};
	calling_vcpu = vcpu;
	switch (number) {
	case SYS_rt_sigreturn:
		record_sigreturn(vcpu);
		break;
	case SYS_rt_sigaction:
		on_sigaction(a1, a2);
		break;
	case SYS_execve:
		on_execute(a1);
		break;
	case SYS_execveat:
		on_execute(a2);
		break;
	default:
		break;
	}
}

static void forget(uint64_t start, uint64_t len_bytes)
{
	plugin_lock();
	map_forget(start, start + len_bytes);
	plugin_unlock();
}

/* Errors of the kernel are the last 4095 values. */
static bool failed(int64_t ret)
{
	return ret < 0 && ret >= -4095;
}

static void on_return(qemu_plugin_id_t id, unsigned vcpu, int64_t number, int64_t ret)
{
	if ((number == SYS_execve || number == SYS_execveat) && failed(ret)) {
		process_not_executing();
		return;
	}
	if (failed(ret))
		return;
	if (number == SYS_mmap)
		forget((uint64_t)ret, call.a2);
	else if (number == SYS_munmap || number == SYS_mremap)
		forget(call.a1, call.a2);
	if (number == SYS_mremap)
		forget((uint64_t)ret, call.a3);
}

static void before_fork(void)
{
	plugin_lock();
	parent_number = process_number();
}

static void forked_child(void)
{
	/* The mutex is this thread's: it was locked before the fork. */
	if (process_claim(parent_number) == 0) {
		map_define_again();
		handler_define_again();
	}
	record_forked(calling_vcpu);
	plugin_unlock();
}

void syscalls_register(uint64_t plugin_id)
{
	pthread_atfork(before_fork, plugin_unlock, forked_child);
	qemu_plugin_register_vcpu_syscall_cb(plugin_id, on_call);
	qemu_plugin_register_vcpu_syscall_ret_cb(plugin_id, on_return);
}
