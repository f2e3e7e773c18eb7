/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The parts of the plugin and what they share: one traced process, its mutex, its blocks, its map.
 *
 * Workload: record.h runs for every block, everything else for every block translated or system
 * call made.
 *
 * Locking: plugin_lock() guards definitions, blocks and map of the process; record.h's state
 * belongs to its thread. Nothing here is held while the program runs.
 *
 * Ownership: static, or allocated for the life of the process.
 */
#ifndef TRACE_PLUGIN_H
#define TRACE_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../../../libprofile/src/trace/pp_follow.h"
#include "../share.h"

/* A run of instructions as it was translated. */
struct block {
	struct pp_trace_block as; /* as the rules of pp_follow.h want it */
	uint64_t last_pc;
	/* counting: the next address if no branch is taken; UINT64_MAX: none */
	uint64_t fall;
	uint32_t id;
	uint32_t root; /* counting: the node where paths from here begin; 0: none yet */
	uint8_t step;  /* counting: enum count_step of its last instruction */
	bool anywhere; /* counting: an indirect branch ends it */
	bool turns; /* nothing but a repeated instruction: may be a further turn of the last one */
};

extern struct trace_share *plugin_share;
extern uint64_t plugin_guest_base; /* of an address of the program, in the emulator */

void plugin_lock(void);
void plugin_unlock(void);

/* process.c: this process, and its definitions. Under plugin_lock(). */
int process_claim(uint32_t parent);
bool process_known(void); /* false: no slot was left; nothing is recorded */
uint32_t process_number(void);
uint32_t process_slot(void);
void process_define(uint32_t type, const void *record, uint32_t len_bytes, const void *name,
		    uint32_t name_bytes);
void process_executing(const char *name);
void process_not_executing(void);
/* Waits until a futex word changes, for a limited time. Kills the process if the tracer is gone or
 * wants no more: nobody would record what it does. */
void process_wait(uint32_t *seq, uint32_t seen);
void process_ring_bell(void);

/* block.c. NULL: no memory. Under plugin_lock(). */
struct block *block_intern(const struct block *block);
void block_mark_handler(uint64_t address);
/* Counting of paths begins anew: blocks forget their roots among the nodes of before. */
void block_forget_roots(void);

/* map.c: which file an address of code comes from. Under plugin_lock(). */
uint32_t map_module(uint64_t address);
void map_forget(uint64_t start, uint64_t end);
void map_define_again(void);

/* handler.c: signal handlers set. Under plugin_lock(). */
void handler_set(uint32_t signal, uint64_t address);
bool handler_is(uint64_t address);
void handler_define_again(void);

/* syscalls.c */
void syscalls_register(uint64_t plugin_id);

/* record.c: see record.h for what runs with every block. */
void record_thread_begin(unsigned vcpu);
void record_thread_end(unsigned vcpu);
void record_forked(unsigned vcpu);
void record_sigreturn(unsigned vcpu);

/* Copies from the program's memory; bytes copied, fewer when it is not all there. */
size_t plugin_read(uint64_t address, void *to, size_t len_bytes);

#endif
