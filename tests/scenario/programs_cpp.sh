#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# C++ and its library: templates, lambdas, virtual calls, what is behind the procedure linkage table.
. "$(dirname "$0")/programs_common.bash"
g++ -O2 -g -o program_cpp "$here/tests/workloads/programs/program.cpp" || { not_ok programs_cpp "not compiled"; finish; }
program cpp ./program_cpp "$seconds"
finish
