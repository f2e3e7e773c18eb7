/* SPDX-License-Identifier: GPL-2.0-or-later */
/* graphviz's dot, as a process of its own. */
#ifndef CTL_GRAPHVIZ_H
#define CTL_GRAPHVIZ_H

#include <stddef.h>
#include <stdio.h>

/*
 * Writes the picture of dot_text, as SVG, to out once it is whole. CTL_OK or CTL_FAILURE, said.
 */
int graphviz_svg(FILE *out, const char *dot_text, size_t len_bytes);

#endif
