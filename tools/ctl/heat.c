// SPDX-License-Identifier: GPL-2.0-or-later
/* Colours from cold to hot: see heat.h. */
#include "heat.h"

#include <math.h>
#include <stdio.h>

/* OKLab: lightness, and the two axes of chroma at the hue of orange. */
#define COLD_L 0.985
#define HOT_L  0.70
#define COLD_C 0.010
#define HOT_C  0.175
#define COLD_H 1.55 /* radians: a yellow white */
#define HOT_H  0.80 /* an orange red */

/* sRGB's transfer function, IEC 61966-2-1, to 0..255. */
static int to_byte(double linear)
{
	double value;

	linear = fmin(fmax(linear, 0), 1);
	value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * pow(linear, 1 / 2.4) - 0.055;
	return (int)lround(255 * value);
}

static double cube(double x)
{
	return x * x * x;
}

char *heat_color(char out[static HEAT_SIZE], double heat)
{
	double at = fmin(fmax(heat, 0), 1);
	double light = COLD_L + at * (HOT_L - COLD_L), chroma = COLD_C + at * (HOT_C - COLD_C);
	double hue = COLD_H + at * (HOT_H - COLD_H);
	double a = chroma * cos(hue), b = chroma * sin(hue);
	double l = cube(light + 0.3963377774 * a + 0.2158037573 * b);
	double m = cube(light - 0.1055613458 * a - 0.0638541728 * b);
	double s = cube(light - 0.0894841775 * a - 1.2914855480 * b);

	snprintf(out, HEAT_SIZE, "#%02x%02x%02x",
		 (unsigned int)to_byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s) &
			 255,
		 (unsigned int)to_byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s) &
			 255,
		 (unsigned int)to_byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s) &
			 255);
	return out;
}
