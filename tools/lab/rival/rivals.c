// SPDX-License-Identifier: GPL-2.0-or-later
#include "rivals.h"

const struct lab_rival_ops *const lab_rivals[] = {
	&lab_rival_hpt_lfu,        &lab_rival_hpt_spill,      &lab_rival_space_saving,
	&lab_rival_space_saving_4, &lab_rival_misra_gries,    &lab_rival_count_min,
	&lab_rival_heavy_keeper,   &lab_rival_tiny_lfu,       &lab_rival_rap,
	&lab_rival_hpt_tail,       &lab_rival_hpt_admit_tail, NULL};
