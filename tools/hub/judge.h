/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The contract between `judge` and those who run it. The database's status
 * (pathprof_store_set_status()) is the hub's: an object with one member, HUB_JUDGE_SPANS, an object
 * by length of span in seconds of what its last judgement left: {"until": S, "builds": {...},
 * "hosts": N, ...}.
 */
#ifndef HUB_JUDGE_H
#define HUB_JUDGE_H

#define HUB_JUDGE_SPANS      "spans"
#define HUB_JUDGE_BUILDS_MAX 1024
/* A build counts as new for this long after the first judgement that saw it. */
#define HUB_JUDGE_NEW_S 86400

#endif
