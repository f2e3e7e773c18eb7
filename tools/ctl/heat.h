/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Colours from cold to hot, in steps the eye takes for equal: lightness, chroma and hue move in a
 * straight line in OKLab (B. Ottosson, "A perceptual color space for image processing", 2020).
 * Black text stays legible on all of them.
 */
#ifndef CTL_HEAT_H
#define CTL_HEAT_H

#define HEAT_SIZE 8

/* "#rrggbb" for heat 0..1. Returns out. */
char *heat_color(char out[static HEAT_SIZE], double heat);

#endif
