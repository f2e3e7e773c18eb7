/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
