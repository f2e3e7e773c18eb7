/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/*
 * Labels of hosts: "dc=ams role=web". A host says them of itself, and hosts are selected by them.
 * A text of labels is ordered by key, with one blank between two; each key has one value. Keys are
 * of letters, digits and ._-, values also of :/@+ so that none of it means anything to SQL, JSON or
 * a terminal. In a URL's query a + reads as a blank: whoever writes one escapes labels.
 *
 * Workload: once a parcel, and once a question. No allocation. Any thread.
 */
#ifndef PATHPROF_LABELS_H
#define PATHPROF_LABELS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PATHPROF_LABELS_BYTES    1024u /* of a text, its end included */
#define PATHPROF_LABELS_MAX      32u
#define PATHPROF_LABEL_KEY_MAX   63u
#define PATHPROF_LABEL_VALUE_MAX 127u
/* `group:NAME` and `--group NAME` mean this label. */
#define PATHPROF_LABEL_GROUP "group"

/*
 * Adds what text says, labels with blanks or commas between them; labels may be "". On an error it
 * stays as it was: -EINVAL: one is no label; -EEXIST: its key has another value; -E2BIG.
 */
int pathprof_labels_add(char labels[PATHPROF_LABELS_BYTES], const char *text);
/* Whether text is one of labels as this header says; "" is. */
bool pathprof_labels_check(const char *text);
/* Whether each of wanted is among labels; both are checked. */
bool pathprof_labels_match(const char *labels, const char *wanted);

#ifdef __cplusplus
}
#endif

#endif
