/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rings between this module and its reader, one a CPU (kmod_abi.h describes what the reader
 * sees). They exist from the device's open to its release.
 *
 * Writing: any context, NMI included, with interrupts off. A ring has one producer, its CPU; one
 * that interrupts another is turned away and counted.
 */
#ifndef PATHPROF_KMOD_RING_H
#define PATHPROF_KMOD_RING_H

#include <linux/types.h>

struct file;
struct poll_table_struct;
struct vm_area_struct;

int pp_ring_alloc(void);

/* Nobody writes any more and no mapping is left. */
void pp_ring_free(void);

/* The size of each ring, while they exist. */
u32 pp_ring_bytes(void);

/*
 * Room for a record of this CPU: its payload, 8-byte aligned. NULL: none, counted.
 * The same context must commit what it reserved, with as many bytes or fewer.
 */
void *pp_ring_reserve(u16 type, u32 payload_bytes);
void pp_ring_commit(u32 payload_bytes);

/* A whole record at once; true when it went in. */
bool pp_ring_write(u16 type, const void *payload, u32 payload_bytes);

int pp_ring_mmap(struct vm_area_struct *vma);
__poll_t pp_ring_poll(struct file *file, struct poll_table_struct *table);

#endif
