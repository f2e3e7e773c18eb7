/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The part of the emulator's plugin interface, version 1, that we use: our own declarations, since
 * Debian 12 ships no header of it. The functions are exported by qemu-x86_64 itself.
 *
 * Locking: callbacks of execution run in the thread they are about; translation under the
 * emulator's own lock, yet in any thread.
 *
 * Source: the interface's documentation ("QEMU TCG Plugins"), version 7.2.
 */
#ifndef TRACE_QEMU_PLUGIN_H
#define TRACE_QEMU_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define QEMU_EXPORT __attribute__((visibility("default")))

typedef uint64_t qemu_plugin_id_t;
typedef uint32_t qemu_plugin_meminfo_t;

typedef struct {
	const char *target_name;
	struct {
		int min, cur;
	} version;
	bool system_emulation;
	struct {
		int smp_vcpus, max_vcpus;
	} system;
} qemu_info_t;

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum { QEMU_PLUGIN_CB_NO_REGS = 0 };
enum { QEMU_PLUGIN_MEM_RW = 3 };
/* The bit of meminfo for a load. The interface only has a function that tests the bit for a
 * store. */
enum { QEMU_PLUGIN_MEMINFO_LOAD = 1 << 16 };
enum { QEMU_PLUGIN_INLINE_ADD_U64 = 0 };

typedef void (*qemu_vcpu_cb)(qemu_plugin_id_t, unsigned vcpu);
typedef void (*qemu_vcpu_udata_cb)(unsigned vcpu, void *data);
typedef void (*qemu_mem_cb)(unsigned vcpu, qemu_plugin_meminfo_t info, uint64_t address,
			    void *data);
typedef void (*qemu_translate_cb)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*qemu_syscall_cb)(qemu_plugin_id_t, unsigned vcpu, int64_t number, uint64_t a1,
				uint64_t a2, uint64_t a3, uint64_t a4, uint64_t a5, uint64_t a6,
				uint64_t a7, uint64_t a8);
typedef void (*qemu_syscall_ret_cb)(qemu_plugin_id_t, unsigned vcpu, int64_t number, int64_t ret);

void qemu_plugin_register_vcpu_init_cb(qemu_plugin_id_t, qemu_vcpu_cb);
void qemu_plugin_register_vcpu_exit_cb(qemu_plugin_id_t, qemu_vcpu_cb);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, qemu_translate_cb);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, qemu_vcpu_udata_cb, int flags,
					  void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(struct qemu_plugin_insn *, qemu_vcpu_udata_cb,
					    int flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_inline(struct qemu_plugin_insn *, int op, void *at,
						uint64_t value);
void qemu_plugin_register_vcpu_mem_cb(struct qemu_plugin_insn *, qemu_mem_cb, int flags, int rw,
				      void *data);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t, qemu_syscall_cb);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t, qemu_syscall_ret_cb);

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t index);
const void *qemu_plugin_insn_data(const struct qemu_plugin_insn *);
size_t qemu_plugin_insn_size(const struct qemu_plugin_insn *);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t);

#endif
