#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# Seeds for fuzz_parcel: a sound file, and the message in it. Usage: seeds_parcel.sh WRITER DIR.
set -eu
write=$1 dir=$2
{ printf '\1' && "$write"; } >"$dir/seed_file"
{ printf '\0' && "$write" | zstd -qdc; } >"$dir/seed_message"
{ printf '\0' && "$write" 20 | zstd -qdc; } >"$dir/seed_paths"
{ printf '\0' && "$write" 20 2 | zstd -qdc; } >"$dir/seed_rows"
