/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The meaning of the words in an output, a line each: --explain. */
#ifndef CTL_GLOSSARY_H
#define CTL_GLOSSARY_H

#include <stdio.h>

/* Prints the words that this verb's output has, with their meaning. Prints nothing for a verb
 * without any. */
void glossary_print(FILE *out, const char *verb);

#endif
