/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A parcel for people, a row a part, and as JSON with all that it holds. */
#ifndef CTL_PARCEL_SHOW_H
#define CTL_PARCEL_SHOW_H

#include <jansson.h>

#include "../text/table.h"
#include "pathprof/parcel.h"

void parcel_table_init(struct table *table);
void parcel_add_cells(struct table *table, const struct pathprof_parcel *parcel);
json_t *parcel_json(const struct pathprof_parcel *parcel);

#define PARCEL_STORE_TEXT (2 * PATHPROF_PARCEL_STORE_BYTES + 1)
/* In hex digits. Returns text. */
char *parcel_store_text(const uint8_t store[PATHPROF_PARCEL_STORE_BYTES],
			char text[PARCEL_STORE_TEXT]);
json_t *parcel_host_json(const struct pathprof_parcel_host *host);

#endif
