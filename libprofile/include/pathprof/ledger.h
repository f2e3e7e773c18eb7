/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * The ledger of a recording's branches: each entry of a branch stack was used, or left out for one
 * reason. `import` and `export --recording` keep the same ledger, in the same words.
 *
 * Workload: one for a recording, filled by its reader. Sums hold: branches = used + all left out.
 */
#ifndef PATHPROF_LEDGER_H
#define PATHPROF_LEDGER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Entries that nobody asked for, or that are no branches, are no loss. The last three reasons are
 * losses. */
#define PATHPROF_LEDGER_REASONS(X)                                                                 \
	X(KERNEL, "kernel", false)       /* one end is in the kernel */                            \
	X(OUTSIDE, "other files", false) /* not of the binary that is exported */                  \
	X(OTHER_EVENT, "events of another kind", false)                                            \
	X(EMPTY, "empty", false)                /* an address is 0: no entry there */              \
	X(REPEATED, "repeated", false)          /* the newest is the one before again */           \
	X(ABORTED, "aborted", false)            /* a transaction was given up there */             \
	X(UNTAKEN, "not taken", false)          /* foreseen wrongly, or not taken */               \
	X(UNMAPPED, "unmapped", true)           /* an end is in nothing that is mapped */          \
	X(NAMELESS, "outside any symbol", true) /* the format names places by symbols */           \
	X(NOBODY, "processes beyond the bound", true)

#define PATHPROF_LEDGER_NAME_(name, text, is_loss) PATHPROF_LEDGER_##name,
enum pathprof_ledger_reason { PATHPROF_LEDGER_REASONS(PATHPROF_LEDGER_NAME_) PATHPROF_LEDGER_CNT };
#undef PATHPROF_LEDGER_NAME_

struct pathprof_ledger {
	uint64_t branches; /* entries of all stacks, each as often as it was seen */
	uint64_t used;
	uint64_t left[PATHPROF_LEDGER_CNT];
};

/* One to three words, for tables. Never NULL. */
const char *pathprof_ledger_name(enum pathprof_ledger_reason reason);
/* The share that was lost: lost / (used + lost), in millionths. */
uint64_t pathprof_ledger_loss_ppm(const struct pathprof_ledger *ledger);

/* The lost share, 5 % in millionths, above which a program that reads a recording ends with an exit
 * status of its own, unless the user sets another limit. */
#define PATHPROF_LEDGER_LOSS_PPM 50000

#define PATHPROF_LEDGER_TEXT_LEN 800
/* "12080 branches read, ..." as one line without its end; text holds PATHPROF_LEDGER_TEXT_LEN
 * bytes. */
const char *pathprof_ledger_text(const struct pathprof_ledger *ledger, char *text);

#ifdef __cplusplus
}
#endif

#endif
