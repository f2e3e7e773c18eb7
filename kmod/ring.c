// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rings: a page that the reader may write (its tail), and behind another mapping, which it can only
 * read, a page of ours (head and losses) and the data.
 *
 * Workload: up to some ten thousand records a second and CPU, of 40 to some 8,000 bytes, from hard
 * interrupts, debug traps and NMIs; a reader that wakes up now and then.
 *
 * Locking: none. `nest` keeps a second producer on the same CPU out; head goes to the reader by
 * release, tail comes by acquire. Nothing that the reader can write is used for anything but how
 * much room there is and when to wake it, and what it says is held against what is possible.
 *
 * Ownership: memory belongs to the open file; mappings hold that file, so it outlives them. Only
 * CPUs that are plugged in when the device is opened have a ring: many machines could take far more
 * than they have. What a CPU that is added later would write is lost, and counted.
 */
#include "ring.h"

#include <linux/cpumask.h>
#include <linux/fs.h>
#include <linux/irq_work.h>
#include <linux/log2.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/poll.h>
#include <linux/vmalloc.h>
#include <linux/wait.h>

#include "compat.h"
#include "pathprof/kmod_abi.h"
#include "stats.h"

#define BYTES_MIN     (64u << 10)
#define BYTES_MAX     (64u << 20)
#define BYTES_DEFAULT (1u << 20)
#define BYTES_ALL     (64u << 20) /* of all rings by default: they are on the reader's account */
#define WAKEUPS_MAX   16          /* while a ring's bytes are written once */

static unsigned int ring_kib;
module_param(ring_kib, uint, 0444);
MODULE_PARM_DESC(ring_kib, "KiB of each CPU's ring, 64 to 65536, rounded up to a power of two; "
			   "0: 1024, or less where all rings together would take more than 64 MiB");

static unsigned int wakeup_percent = 25;
module_param(wakeup_percent, uint, 0644);
MODULE_PARM_DESC(wakeup_percent,
		 "wake the reader whenever so much of a ring is to be read, 1 to 100");

struct ring {
	struct pathprof_ring_producer *producer; /* the reader sees it, never writes it */
	struct pathprof_ring_consumer *consumer; /* the reader may write anything into it */
	u8 *data;
	u64 head;        /* ours; the producer page's is a copy for the reader */
	u64 last_wakeup; /* head when the reader was last woken */
	u32 seq;         /* records so far, lost ones included */
	u32 nest;        /* producers inside, those turned away included */
	bool is_full;    /* the last record found no room */
	struct irq_work wakeup;
};

static DEFINE_PER_CPU(struct ring, rings);
static DECLARE_WAIT_QUEUE_HEAD(readers);
static u32 data_bytes;      /* of each ring; constant while they exist */
static u32 watermark_bytes; /* likewise */
static u32 pause_bytes;     /* likewise; from one wake-up to the next */

static u32 wanted_bytes(void)
{
	if (ring_kib)
		return roundup_pow_of_two(clamp(ring_kib, BYTES_MIN >> 10, BYTES_MAX >> 10)) << 10;
	return clamp(rounddown_pow_of_two(BYTES_ALL / num_present_cpus()), BYTES_MIN,
		     BYTES_DEFAULT);
}

u32 pp_ring_bytes(void)
{
	return data_bytes;
}

static void wake_reader(struct irq_work *work)
{
	wake_up_interruptible(&readers);
}

/* ---------------------------------------------------------------- memory */

static void free_one(struct ring *ring)
{
	vfree(ring->producer);
	vfree(ring->consumer);
	memset(ring, 0, sizeof(*ring));
}

/* On the account of the control group that opens the device. */
static void *alloc_pages_for_user(u32 bytes)
{
	return __vmalloc(bytes, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
}

static int alloc_one(struct ring *ring, u32 cpu)
{
	memset(ring, 0, sizeof(*ring));
	init_irq_work(&ring->wakeup, wake_reader);
	ring->consumer = alloc_pages_for_user(PATHPROF_RING_PAGE);
	ring->producer = alloc_pages_for_user(PATHPROF_RING_PAGE + data_bytes);
	if (!ring->consumer || !ring->producer) {
		free_one(ring);
		return -ENOMEM;
	}
	ring->data = (u8 *)ring->producer + PATHPROF_RING_PAGE;
	ring->producer->version = PATHPROF_KMOD_VERSION;
	ring->producer->cpu = cpu;
	ring->producer->data_off_bytes = PATHPROF_RING_PAGE;
	ring->producer->data_len_bytes = data_bytes;
	return 0;
}

int pp_ring_alloc(void)
{
	int cpu, err = 0;

	BUILD_BUG_ON(PATHPROF_RING_PAGE != PAGE_SIZE);
	data_bytes = wanted_bytes();
	watermark_bytes = data_bytes / 100 * clamp(READ_ONCE(wakeup_percent), 1u, 100u);
	pause_bytes = min(watermark_bytes, data_bytes / WAKEUPS_MAX);
	for_each_present_cpu(cpu)
		err = err ? err : alloc_one(&per_cpu(rings, cpu), cpu);
	if (err)
		pp_ring_free();
	return err;
}

void pp_ring_free(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct ring *ring = &per_cpu(rings, cpu);

		if (!ring->producer)
			continue;
		irq_work_sync(&ring->wakeup);
		free_one(ring);
	}
}

/* --------------------------------------------------------------- writing */

static bool has_room(const struct ring *ring, u64 need_bytes)
{
	/* Pairs with the reader's release: it is done with what it read there. */
	u64 used = ring->head - smp_load_acquire(&ring->consumer->tail);

	return used <= data_bytes && data_bytes - used >= need_bytes;
}

/* Fills what is left before the data's end; there is room for it. */
static void pad(struct ring *ring, u32 off, u32 left)
{
	struct pathprof_record *record = (struct pathprof_record *)(ring->data + off);

	memset(record, 0, min_t(u32, left, sizeof(*record)));
	record->size_bytes = left;
	record->type = PATHPROF_RECORD_PAD;
	ring->head += left;
}

/*
 * A record goes up to the data's end or leaves room for a header before it: what fills the rest is
 * a record too. (What is committed short is so by whole entries of a branch stack: 16 bytes each.)
 */
static bool fits(u32 size_bytes, u32 left)
{
	return size_bytes == left || size_bytes + sizeof(struct pathprof_record) <= left;
}

static struct pathprof_record *place(struct ring *ring, u32 size_bytes)
{
	u32 off = ring->head & (data_bytes - 1), left = data_bytes - off;
	bool wraps = !fits(size_bytes, left);

	if (size_bytes > data_bytes / 2)
		return NULL;
	if (!has_room(ring, wraps ? (u64)left + size_bytes : size_bytes))
		return NULL;
	if (wraps) {
		pad(ring, off, left);
		off = 0;
	}
	return (struct pathprof_record *)(ring->data + off);
}

/*
 * An NMI between the test and the increment finds 0, runs to its end and leaves 0; one that comes
 * after finds 1 and is turned away. seq counts by one instruction, so it may do so at any moment.
 */
static bool enter(struct ring *ring)
{
	if (READ_ONCE(ring->nest)) {
		this_cpu_inc(rings.seq);
		WRITE_ONCE(ring->producer->lost_nested, ring->producer->lost_nested + 1);
		pp_stats_inc(PATHPROF_STAT_LOST_NESTED);
		return false;
	}
	WRITE_ONCE(ring->nest, 1);
	barrier();
	return true;
}

static void leave(struct ring *ring)
{
	barrier();
	WRITE_ONCE(ring->nest, 0);
}

static void wake(struct ring *ring)
{
	ring->last_wakeup = ring->head;
	WRITE_ONCE(ring->producer->wakeup_cnt, ring->producer->wakeup_cnt + 1);
	pp_stats_inc(PATHPROF_STAT_WAKEUPS);
	irq_work_queue(&ring->wakeup);
}

/* A large record may find no room below the watermark. */
static void note_full(struct ring *ring)
{
	WRITE_ONCE(ring->producer->lost_full, ring->producer->lost_full + 1);
	pp_stats_inc(PATHPROF_STAT_LOST_FULL);
	if (ring->is_full)
		return;
	WRITE_ONCE(ring->is_full, true);
	wake(ring);
}

void *pp_ring_reserve(u16 type, u32 payload_bytes)
{
	struct ring *ring = this_cpu_ptr(&rings);
	struct pathprof_record *record;
	u32 seq;

	if (unlikely(!ring->data)) {
		pp_stats_inc(PATHPROF_STAT_LOST_FULL);
		return NULL;
	}
	if (!enter(ring))
		return NULL;
	seq = this_cpu_inc_return(rings.seq) - 1;
	record = place(ring, sizeof(*record) + ALIGN(payload_bytes, 8));
	if (!record) {
		note_full(ring);
		leave(ring);
		return NULL;
	}
	record->type = type;
	record->flags = 0;
	record->cpu = ring->producer->cpu;
	record->seq = seq;
	return record + 1;
}

/*
 * The bytes that are left to read count: a reader goes to sleep when they are fewer than the
 * watermark. Bytes since the last wake-up would not do: they may have come while the reader was
 * awake, and many of them may still be there.
 */
static void wake_at_watermark(struct ring *ring)
{
	if (ring->head - READ_ONCE(ring->consumer->tail) < watermark_bytes ||
	    ring->head - ring->last_wakeup < pause_bytes)
		return;
	wake(ring);
}

void pp_ring_commit(u32 payload_bytes)
{
	struct ring *ring = this_cpu_ptr(&rings);
	u8 *at = ring->data + (ring->head & (data_bytes - 1));
	u32 size_bytes = sizeof(struct pathprof_record) + ALIGN(payload_bytes, 8);

	((struct pathprof_record *)at)->size_bytes = size_bytes;
	ring->head += size_bytes;
	/* Pairs with the reader's acquire: it sees the record whole. */
	smp_store_release(&ring->producer->head, ring->head);
	pp_stats_inc(PATHPROF_STAT_RECORDS);
	pp_stats_add(PATHPROF_STAT_BYTES, size_bytes);
	WRITE_ONCE(ring->is_full, false);
	wake_at_watermark(ring);
	leave(ring);
}

bool pp_ring_write(u16 type, const void *payload, u32 payload_bytes)
{
	void *room = pp_ring_reserve(type, payload_bytes);

	if (!room)
		return false;
	memcpy(room, payload, payload_bytes);
	pp_ring_commit(payload_bytes);
	return true;
}

/* --------------------------------------------------------------- reading */

static int map_pages(struct vm_area_struct *vma, char *memory)
{
	unsigned long at;
	int err = 0;

	for (at = vma->vm_start; !err && at < vma->vm_end; at += PAGE_SIZE, memory += PAGE_SIZE)
		err = vm_insert_page(vma, at, vmalloc_to_page(memory));
	return err;
}

/* The rings cannot go away meanwhile: the caller's file keeps them. */
int pp_ring_mmap(struct vm_area_struct *vma)
{
	u64 off = (u64)vma->vm_pgoff << PAGE_SHIFT, len = vma->vm_end - vma->vm_start;
	u64 cpu = off / PATHPROF_RING_STRIDE, within = off % PATHPROF_RING_STRIDE;
	bool tail = within == 0 && len == PATHPROF_RING_PAGE;
	bool data = within == PATHPROF_RING_PAGE && len == PATHPROF_RING_PAGE + (u64)data_bytes;
	const struct ring *ring;

	if (cpu >= nr_cpu_ids || !cpu_possible(cpu) || !(tail || data) ||
	    !(vma->vm_flags & VM_SHARED) || !per_cpu(rings, cpu).data)
		return -EINVAL;
	if ((vma->vm_flags & VM_EXEC) || (data && (vma->vm_flags & VM_WRITE)))
		return -EPERM;
	ring = &per_cpu(rings, cpu);
	pp_vm_flags_mod(vma, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP,
			data ? VM_MAYEXEC | VM_MAYWRITE : VM_MAYEXEC);
	return map_pages(vma, tail ? (char *)ring->consumer : (char *)ring->producer);
}

static bool is_due(const struct ring *ring)
{
	u64 used = READ_ONCE(ring->producer->head) - READ_ONCE(ring->consumer->tail);

	return used >= watermark_bytes || (used && READ_ONCE(ring->is_full));
}

__poll_t pp_ring_poll(struct file *file, struct poll_table_struct *table)
{
	int cpu;

	poll_wait(file, &readers, table);
	for_each_possible_cpu(cpu) {
		const struct ring *ring = &per_cpu(rings, cpu);

		if (ring->data && is_due(ring))
			return EPOLLIN | EPOLLRDNORM;
	}
	return 0;
}
