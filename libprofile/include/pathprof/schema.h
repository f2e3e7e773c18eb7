/* SPDX-License-Identifier: GPL-2.0-or-later OR BSD-2-Clause */
/* The migrations of schema/sqlite/, embedded by the build: one text each, in order, then NULL. */
#ifndef PATHPROF_SCHEMA_H
#define PATHPROF_SCHEMA_H

#ifdef __cplusplus
extern "C" {
#endif

extern const char *const pathprof_schema_sqlite[];

#ifdef __cplusplus
}
#endif

#endif
