// SPDX-License-Identifier: GPL-2.0
/*
 * A PMU at the hardware's border: it takes events with a branch stack, and hands their overflow
 * handler stacks whose every entry follows from (event, CPU, sample number), so that a reader can
 * tell each one that was lost, doubled or changed. The code under test sees it as any other PMU of
 * perf.
 *
 * config is TESTPMU_* of testpmu.h, config1 the address of branch 0, the period in nanoseconds.
 * With TESTPMU_GIVEN the stacks are those that user space wrote into a file of debugfs before.
 *
 * Parameters, read-only: how many stacks were handed over, how many of them in an NMI, and how many
 * events were opened, how many of them for virtual machines as well.
 *
 * Locking: a CPU's state is touched by that CPU alone, with interrupts off or in an NMI; only
 * nmi_pending is set from another. An NMI that finds the timer delivering leaves its stack out. The
 * stacks that user space gave change under a mutex, and only while there is no event. Nothing else
 * survives the event.
 */
#include <linux/cpumask.h>
#include <linux/debugfs.h>
#include <linux/fs.h>
#include <linux/hrtimer.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/perf_event.h>
#include <linux/uaccess.h>
#include <linux/version.h>
#include <linux/vmalloc.h>
#include <asm/apic.h>
#include <asm/irq_regs.h>
#include <asm/nmi.h>

#include "testpmu.h"

#define ENTRIES_MAX   32
#define PERIOD_MIN_NS 20000
#define GIVEN_MAX     (16u << 20) /* bytes */

/* A struct perf_branch_stack with room for its entries. */
struct stack {
	u64 nr;
	u64 hw_idx;
	struct perf_branch_entry entries[ENTRIES_MAX];
};

struct cpu_state {
	struct perf_event *event;
	struct hrtimer timer;
	u64 branch_cnt; /* made so far */
	int nmi_pending;
	int busy;
	struct stack stack;
};

/* A branch as user space gives it. */
struct given_branch {
	u64 from; /* | cycles << 48 */
	u64 to;   /* | kind << 48 | mispredicted << 60 */
};

static DEFINE_PER_CPU(struct cpu_state, states);
static struct pmu test_pmu;

static DEFINE_MUTEX(given_lock);   /* of the four below */
static struct given_branch *given; /* vmalloc, GIVEN_MAX; constant while there are events */
static size_t given_bytes;         /* written; likewise */
static u32 event_cnt;              /* open */
static struct dentry *given_file;
static atomic64_t given_next; /* window that comes next, of all CPUs */

static unsigned long delivered, delivered_nmi;
module_param(delivered, ulong, 0444);
MODULE_PARM_DESC(delivered, "stacks handed over since the module was loaded");
module_param(delivered_nmi, ulong, 0444);
MODULE_PARM_DESC(delivered_nmi, "... of them in an NMI");
static unsigned long opened, opened_guest;
module_param(opened, ulong, 0444);
MODULE_PARM_DESC(opened, "events opened since the module was loaded");
module_param(opened_guest, ulong, 0444);
MODULE_PARM_DESC(opened_guest, "... of them without exclude_guest");

static u32 entries_of(const struct perf_event *event)
{
	return event->attr.config & TESTPMU_ENTRIES;
}

static void fill_entry(struct perf_branch_entry *entry, u64 base, u64 number)
{
	memset(entry, 0, sizeof(*entry));
	entry->from = base + number * TESTPMU_BRANCH_BYTES;
	entry->to = entry->from + TESTPMU_BRANCH_LEAP;
	entry->mispred = number % 7 == 0;
	entry->predicted = !entry->mispred;
	entry->cycles = number % 100 + 1;
	entry->type = number % 3 ? PERF_BR_UNCOND : PERF_BR_COND;
}

static void fill_given(struct perf_branch_entry *entry, const struct given_branch *branch)
{
	memset(entry, 0, sizeof(*entry));
	entry->from = branch->from & ((1ULL << 48) - 1);
	entry->to = branch->to & ((1ULL << 48) - 1);
	entry->cycles = branch->from >> 48;
	entry->type = branch->to >> 48 & 15;
	entry->mispred = branch->to >> 60 & 1;
	entry->predicted = !entry->mispred;
}

static u64 given_windows(u32 entries)
{
	return given_bytes / sizeof(*given) / entries;
}

static void fill_stack_given(struct stack *stack, u64 window, u32 cnt)
{
	u32 i;

	window %= given_windows(cnt);

	for (i = 0; i < cnt; i++)
		fill_given(&stack->entries[cnt - 1 - i], &given[window * cnt + i]);
}

static void fill_stack_made(struct cpu_state *state, const struct perf_event *event, u32 cnt)
{
	u32 i;

	for (i = 0; i < cnt; i++)
		fill_entry(&state->stack.entries[cnt - 1 - i], event->attr.config1,
			   state->branch_cnt + i);
	state->branch_cnt += cnt;
}

/* Adds faults that hardware is known to produce now and then: an empty entry, and one twice. */
static void dirty(struct stack *stack)
{
	if (stack->nr < 4)
		return;
	memset(&stack->entries[stack->nr - 1], 0, sizeof(stack->entries[0]));
	stack->entries[1] = stack->entries[0];
}

/* Newest first, as the hardware's. number: of this stack, among those that user space gave. */
static void fill_stack(struct cpu_state *state, const struct perf_event *event, u64 number)
{
	u32 cnt = entries_of(event);

	state->stack.nr = cnt;
	state->stack.hw_idx = -1ULL;
	if (event->attr.config & TESTPMU_GIVEN)
		fill_stack_given(&state->stack, number, cnt);
	else
		fill_stack_made(state, event, cnt);
	if (event->attr.config & TESTPMU_HOLE)
		state->stack.entries[cnt / 2].from = -1ULL << 47;
	if (event->attr.config & TESTPMU_DIRTY)
		dirty(&state->stack);
}

static void attach_stack(struct perf_sample_data *data, struct perf_event *event,
			 struct stack *stack)
{
	struct perf_branch_stack *branches = (struct perf_branch_stack *)stack;

#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	perf_sample_save_brstack(data, event, branches, NULL);
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	perf_sample_save_brstack(data, event, branches);
#else
	data->br_stack = branches;
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 1, 0)
	data->sample_flags |= PERF_SAMPLE_BRANCH_STACK;
#endif
#endif
}

static bool is_wanted(const struct perf_event *event, struct pt_regs *regs)
{
	return !event->attr.exclude_kernel || (event->attr.config & TESTPMU_ANYWHERE) ||
	       user_mode(regs);
}

static int (*overflow)(struct perf_event *event, struct perf_sample_data *data,
		       struct pt_regs *regs); /* perf's, where it was found */

/*
 * A driver would call perf's overflow, which is not exported; the handler behind it does as well,
 * but that from 6.10 on an event's BPF program is no longer behind the handler.
 */
static void hand_over(struct perf_event *event, struct perf_sample_data *data, struct pt_regs *regs)
{
#ifdef CONFIG_BPF_SYSCALL
	if (event->prog && overflow) {
		overflow(event, data, regs);
		return;
	}
#endif
	READ_ONCE(event->overflow_handler)(event, data, regs);
}

/*
 * Samples that real hardware would not take, because the event excludes the kernel, are left out.
 */
static void deliver(struct cpu_state *state, struct pt_regs *regs)
{
	struct perf_event *event = READ_ONCE(state->event);
	struct perf_sample_data data;
	u64 number;

	if (!event || state->busy || !is_wanted(event, regs))
		return;
	number = event->attr.config & TESTPMU_GIVEN ? atomic64_fetch_inc(&given_next) : 0;
	state->busy = 1;
	barrier(); /* an NMI on this CPU sees it before the stack changes */
	fill_stack(state, event, number);
	perf_sample_data_init(&data, 0, event->hw.last_period);
	attach_stack(&data, event, &state->stack);
	__atomic_fetch_add(&delivered, 1, __ATOMIC_RELAXED);
	if (in_nmi())
		__atomic_fetch_add(&delivered_nmi, 1, __ATOMIC_RELAXED);
	hand_over(event, &data, regs);
	barrier();
	state->busy = 0;
}

static int on_nmi(unsigned int type, struct pt_regs *regs)
{
	struct cpu_state *state = this_cpu_ptr(&states);

	if (!xchg(&state->nmi_pending, 0))
		return NMI_DONE;
	deliver(state, regs);
	return NMI_HANDLED;
}

static void send_nmi(int cpu)
{
	if (cpu >= nr_cpu_ids || !cpu_online(cpu))
		return;
	/* One at a time: of two on their way the second would find nothing, and nobody to claim it.
	 */
	if (!xchg(&per_cpu(states, cpu).nmi_pending, 1))
		apic->send_IPI(cpu, NMI_VECTOR);
}

static enum hrtimer_restart on_timer(struct hrtimer *timer)
{
	struct cpu_state *state = container_of(timer, struct cpu_state, timer);
	struct perf_event *event = state->event;
	struct pt_regs *regs = get_irq_regs();

	if (!event)
		return HRTIMER_NORESTART;
	if (event->attr.config & TESTPMU_NMI_PAIR)
		send_nmi(smp_processor_id() ^ 1);
	else if (event->attr.config & TESTPMU_NMI)
		send_nmi(smp_processor_id());
	else if (regs)
		deliver(state, regs);
	hrtimer_forward_now(timer, ns_to_ktime(event->attr.sample_period));
	return HRTIMER_RESTART;
}

static void test_event_destroy(struct perf_event *event)
{
	mutex_lock(&given_lock);
	event_cnt--;
	mutex_unlock(&given_lock);
}

/* From here to its destruction nobody changes what was given. */
static int test_event_hold(struct perf_event *event)
{
	int err = 0;

	mutex_lock(&given_lock);
	if ((event->attr.config & TESTPMU_GIVEN) && !given_windows(entries_of(event)))
		err = -EINVAL;
	else
		event_cnt++;
	mutex_unlock(&given_lock);
	if (!err)
		event->destroy = test_event_destroy;
	__atomic_fetch_add(&opened, !err, __ATOMIC_RELAXED);
	__atomic_fetch_add(&opened_guest, !err && !event->attr.exclude_guest, __ATOMIC_RELAXED);
	return err;
}

static int test_event_init(struct perf_event *event)
{
	if (event->attr.type != test_pmu.type)
		return -ENOENT;
	if (!has_branch_stack(event))
		return -EOPNOTSUPP;
	if (event->cpu < 0 || event->attr.freq || event->attr.sample_period < PERIOD_MIN_NS ||
	    !entries_of(event) || entries_of(event) > ENTRIES_MAX)
		return -EINVAL;
	return test_event_hold(event);
}

static void test_start(struct perf_event *event, int flags)
{
	struct cpu_state *state = this_cpu_ptr(&states);

	event->hw.state = 0;
	hrtimer_start(&state->timer, ns_to_ktime(event->attr.sample_period),
		      HRTIMER_MODE_REL_PINNED_HARD);
}

static void test_stop(struct perf_event *event, int flags)
{
	hrtimer_try_to_cancel(&this_cpu_ptr(&states)->timer);
	event->hw.state |= PERF_HES_STOPPED;
}

static int test_add(struct perf_event *event, int flags)
{
	struct cpu_state *state = this_cpu_ptr(&states);

	if (state->event)
		return -EAGAIN;
	state->branch_cnt = 0;
	state->event = event;
	event->hw.state = PERF_HES_STOPPED | PERF_HES_UPTODATE;
	event->hw.last_period = event->attr.sample_period;
	if (flags & PERF_EF_START)
		test_start(event, flags);
	return 0;
}

static void test_del(struct perf_event *event, int flags)
{
	test_stop(event, flags);
	WRITE_ONCE(this_cpu_ptr(&states)->event, NULL);
}

static void test_read(struct perf_event *event)
{
}

static struct pmu test_pmu = {
	.module = THIS_MODULE,
	.task_ctx_nr = perf_invalid_context,
	.event_init = test_event_init,
	.add = test_add,
	.del = test_del,
	.start = test_start,
	.stop = test_stop,
	.read = test_read,
};

static void init_timer(struct hrtimer *timer)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, on_timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_REL_PINNED_HARD);
	timer->function = on_timer;
#endif
}

/* -------------------------------------------------------- what user space gives */

static int given_open(struct inode *inode, struct file *file)
{
	int err = 0;

	mutex_lock(&given_lock);
	if (!given)
		given = vzalloc(GIVEN_MAX);
	if (!given)
		err = -ENOMEM;
	else if (event_cnt)
		err = -EBUSY;
	else if (file->f_flags & O_TRUNC)
		given_bytes = 0;
	atomic64_set(&given_next, 0);
	mutex_unlock(&given_lock);
	return err;
}

/* Always behind what is there. */
static ssize_t given_write(struct file *file, const char __user *from, size_t len, loff_t *at)
{
	ssize_t err = len;

	mutex_lock(&given_lock);
	if (event_cnt)
		err = -EBUSY;
	else if (len > GIVEN_MAX - given_bytes)
		err = -ENOSPC;
	else if (copy_from_user((char *)given + given_bytes, from, len))
		err = -EFAULT;
	else
		given_bytes += len;
	mutex_unlock(&given_lock);
	return err;
}

static const struct file_operations given_operations = {
	.owner = THIS_MODULE,
	.open = given_open,
	.write = given_write,
	.llseek = noop_llseek,
};

/* perf does not export it, and a probe tells where a function is. */
static void __init find_overflow(void)
{
	struct kprobe probe = {.symbol_name = "perf_event_overflow"};

	if (register_kprobe(&probe))
		return;
	overflow = (typeof(overflow))probe.addr;
	unregister_kprobe(&probe);
}

static int __init testpmu_init(void)
{
	int cpu, err;

	find_overflow();
	for_each_possible_cpu(cpu)
		init_timer(&per_cpu(states, cpu).timer);
	err = register_nmi_handler(NMI_LOCAL, on_nmi, 0, "pathprof_testpmu");
	if (err)
		return err;
	err = perf_pmu_register(&test_pmu, "pathprof_test", -1);
	if (err)
		unregister_nmi_handler(NMI_LOCAL, "pathprof_testpmu");
	else
		given_file = debugfs_create_file("pathprof_testpmu", 0200, NULL, NULL,
						 &given_operations);
	return err;
}

static void __exit testpmu_exit(void)
{
	debugfs_remove(given_file);
	perf_pmu_unregister(&test_pmu);
	unregister_nmi_handler(NMI_LOCAL, "pathprof_testpmu");
	vfree(given);
}

module_init(testpmu_init);
module_exit(testpmu_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("pathprof: a PMU of made-up branch stacks, for tests");
