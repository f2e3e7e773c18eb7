/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader: a child process that reads the mappings of other processes for the tracker. The
 * kernel takes the lock of their address space for that, and a process can keep it for as long as
 * it likes: a thread faults on a page that its own file server never brings. Whoever waits for
 * the lock then sleeps until it is killed. So the event loop never asks the kernel: it asks the
 * reader, and looks at its state each 10 ms. A reader that has slept over one request for a tenth
 * of a second is killed, and the process it slept over is left alone (silent.h). One that is
 * running or ready to run is waited for up to a second, without blame. It may fall asleep over
 * that request later, while another waits its turn: the process it is at is blamed, not the one
 * asked about last.
 *
 * The event loop itself reads only files of a process that take none of its locks: stat, status,
 * cgroup, mountinfo, root, the links to its program and its threads.
 *
 * Time that readers have slept is paid out of a tenth of real time, of which three tenths of a
 * second are saved up. While less than half of that is left, no process is read whose user has put
 * a reader to sleep within the hour, and a reader that sleeps is killed after 30 ms; the process is
 * left alone, but that does not count against its user. So windows close in time however many
 * processes play this trick at once.
 *
 * Killed readers end at once, as a rule. Those that do not are counted: 8 in all, and 2 a user,
 * are not added to.
 *
 * Workload: a request a scan and one a new file, 30 us each beside what is read itself. The reader
 * is started with the first request, by fork: a millisecond. One owner, the tracker.
 */
#ifndef PP_TRACK_READER_H
#define PP_TRACK_READER_H

#include "track_proc.h"

struct pp_reader;

int pp_reader_new(struct pp_reader **ret_reader);
/* NULL-safe. */
void pp_reader_free(struct pp_reader *reader);

/*
 * Works like pp_proc_vmas(). vma->looked is the file behind a mapping, if that could be
 * looked at. fn may call pp_reader_look(). More errors: -ETIMEDOUT: pid is left alone, or is from
 * now on; -ETIME: no answer in time; -EIO: the reader ended, another one starts with the next
 * request.
 */
int pp_reader_vmas(struct pp_reader *reader, pid_t pid, uint64_t until_ns, pp_vma_fn *fn,
		   void *context);
/* Works like pp_proc_look_mapped(); it may also return the errors above. */
int pp_reader_look(struct pp_reader *reader, pid_t pid, uint64_t start, uint64_t end);

/* CPU time of all readers. */
uint64_t pp_reader_cpu_ns(const struct pp_reader *reader);

#endif
