/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The inputs of the experiments' programs: text, sources and scripts made here, the same bytes each
 * time on every machine. Some megabytes at most. Errors show in ferror(out).
 */
#ifndef LAB_EXPERIMENT_INPUT_H
#define LAB_EXPERIMENT_INPUT_H

#include <stdio.h>

typedef void lab_input_writer(FILE *out);

lab_input_writer lab_input_text, lab_input_sentences, lab_input_c, lab_input_perl, lab_input_lua,
	lab_input_sql, lab_input_python, lab_input_chess, lab_input_postscript, lab_input_go;

/* Second and third inputs of programs whose profiles are compared. */
lab_input_writer lab_input_noise, lab_input_log, lab_input_perl_log, lab_input_lua_text,
	lab_input_lua_numbers, lab_input_sql_keys, lab_input_sql_text, lab_input_python_text,
	lab_input_python_numbers;

#endif
