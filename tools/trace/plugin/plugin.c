// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The exact tracer's half inside the emulator (qemu-x86_64 of Debian 12): cuts the program into
 * blocks as the emulator translates them and has each record itself as it runs.
 *
 * Workload: a translation is rare, some hundred thousand in a large program. Locking: one mutex a
 * process; the emulator translates in any thread. Ownership: lives as long as the process.
 *
 * Arguments: fd=N, the shared memory of ../share.h.
 */
#include "plugin.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../../libprofile/core/pp_decode.h"
#include "../../../libprofile/core/pp_insn_len.h"
#include "count.h"
#include "pathprof/trace_format.h"
#include "qemu_plugin.h"
#include "record.h"

QEMU_EXPORT int qemu_plugin_version = 1;
QEMU_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc,
				    char **argv);

struct trace_share *plugin_share;
uint64_t plugin_guest_base;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void plugin_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void plugin_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

static uint32_t kind_of(const struct pp_insn *insn)
{
	if (insn->kind != PP_KIND_NONE)
		return insn->kind;
	switch (insn->hazard) {
	case PP_HAZARD_SYSCALL:
		return PATHPROF_TRACE_ENDS_SYSCALL;
	case PP_HAZARD_REP:
		return PATHPROF_TRACE_ENDS_REP;
	case PP_HAZARD_TRAP:
	case PP_HAZARD_FAR:
	case PP_HAZARD_TSX:
		return PATHPROF_TRACE_ENDS_OTHER;
	default:
		return PATHPROF_TRACE_ENDS_PLAIN;
	}
}

static void decode(const struct qemu_plugin_insn *insn, struct pp_insn *ret_insn)
{
	pp_decode(qemu_plugin_insn_data(insn), (__u32)qemu_plugin_insn_size(insn),
		  qemu_plugin_insn_vaddr(insn), ret_insn);
}

/*
 * Counts the instructions that a translation runs. The emulator leaves an instruction that
 * continues in the next page to the next translation, yet lists here the bytes that it had read.
 */
static size_t whole_insns(const struct qemu_plugin_tb *tb)
{
	size_t cnt = qemu_plugin_tb_n_insns(tb);
	const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, cnt - 1);
	uint64_t page_left = 4096 - (qemu_plugin_insn_vaddr(last) & 4095);

	if (cnt < 2 || page_left >= PP_INSN_MAX)
		return cnt;
	return pp_insn_len(qemu_plugin_insn_data(last), (__u32)qemu_plugin_insn_size(last))
		       ? cnt
		       : cnt - 1;
}

static struct block describe(const struct qemu_plugin_tb *tb, size_t insn_cnt)
{
	const struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, insn_cnt - 1);
	struct block block = {
		.as = {.start = qemu_plugin_tb_vaddr(tb), .insn_cnt = (uint16_t)insn_cnt},
		.last_pc = qemu_plugin_insn_vaddr(last),
	};
	struct pp_insn insn;

	decode(last, &insn);
	block.as.kind = (uint8_t)kind_of(&insn);
	block.as.target = insn.kind ? insn.target : 0;
	block.as.last_offset = (uint16_t)(block.last_pc - block.as.start);
	block.as.len_bytes = block.as.last_offset + (uint32_t)qemu_plugin_insn_size(last);
	block.turns = block.as.kind == PATHPROF_TRACE_ENDS_REP && insn_cnt == 1;
	count_describe(&block);
	return block;
}

static void plant_accesses(struct qemu_plugin_tb *tb, size_t insn_cnt)
{
	qemu_mem_cb record =
		plugin_share->flags & PATHPROF_TRACE_HAS_LOADS ? record_load : record_access;

	/* Asks for both directions, and the callback selects: version 7.2 delivers the wrong ones
	 * otherwise. */
	for (size_t i = 0; i < insn_cnt; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, i);

		qemu_plugin_register_vcpu_mem_cb(insn, record, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW,
						 (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
	}
}

static qemu_vcpu_udata_cb block_callback(void)
{
	if (plugin_share->counts)
		return record_threads ? count_block_threads : count_block;
	return record_threads ? record_block_threads : record_block;
}

static void plant(struct qemu_plugin_tb *tb, size_t insn_cnt, struct block *block)
{
	struct qemu_plugin_insn *last = qemu_plugin_tb_get_insn(tb, insn_cnt - 1);

	qemu_plugin_register_vcpu_tb_exec_cb(tb, block_callback(), QEMU_PLUGIN_CB_NO_REGS, block);
	if (record_threads)
		qemu_plugin_register_vcpu_insn_exec_cb(last, record_reached, QEMU_PLUGIN_CB_NO_REGS,
						       NULL);
	else
		qemu_plugin_register_vcpu_insn_exec_inline(last, QEMU_PLUGIN_INLINE_ADD_U64,
							   &record_arrivals, 1);
	if (plugin_share->flags)
		plant_accesses(tb, insn_cnt);
}

static void find_guest_base(const struct qemu_plugin_tb *tb)
{
	const struct qemu_plugin_insn *first = qemu_plugin_tb_get_insn(tb, 0);

	plugin_guest_base =
		(uintptr_t)qemu_plugin_insn_haddr(first) - qemu_plugin_insn_vaddr(first);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t insn_cnt = whole_insns(tb);
	struct block made = describe(tb, insn_cnt);
	struct block *block;

	plugin_lock();
	find_guest_base(tb);
	made.as.module = map_module(made.as.start);
	block = block_intern(&made);
	plugin_unlock();
	if (block)
		plant(tb, insn_cnt, block);
}

static void on_begin(qemu_plugin_id_t id, unsigned vcpu)
{
	record_thread_begin(vcpu);
}

static void on_end(qemu_plugin_id_t id, unsigned vcpu)
{
	record_thread_end(vcpu);
}

/* The program must not find the descriptor among its own. */
static struct trace_share *attach(int fd)
{
	struct trace_share *share;
	struct stat status;

	/* Maps the whole file, which has arenas only when paths are counted. */
	if (fstat(fd, &status) < 0)
		return NULL;
	share = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_NORESERVE, fd, 0);
	close(fd);
	if (share == MAP_FAILED)
		return NULL;
	return share->magic == TRACE_SHARE_MAGIC ? share : NULL;
}

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int argc, char **argv)
{
	if (info->system_emulation || strcmp(info->target_name, "x86_64") != 0)
		return 1;
	if (argc != 1 || strncmp(argv[0], "fd=", 3) != 0)
		return 1;
	plugin_share = attach((int)strtol(argv[0] + 3, NULL, 10));
	if (!plugin_share)
		return 1;
	plugin_lock();
	process_claim(0);
	plugin_unlock();
	qemu_plugin_register_vcpu_init_cb(id, on_begin);
	qemu_plugin_register_vcpu_exit_cb(id, on_end);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
	syscalls_register(id);
	return 0;
}
