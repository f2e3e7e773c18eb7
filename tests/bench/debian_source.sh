#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-or-later
# The sources of a program as its authors released them, out of Debian's archive:
#
#     debian_source.sh PACKAGE DIR
#
# leaves them in DIR/PACKAGE, once for all time. apt fetches and checks them, with the mirrors that
# this machine has; lists of sources are asked for into DIR, so what apt knows of the system stays
# as it is. Needs no root. Exit 1 with a line that says why.
set -eu
package=$1
dir=$(realpath -m "$2")
[ ! -e "$dir/$package/unpacked" ] || exit 0

fail() {
	echo "sources of $package: $1" >&2
	exit 1
}

mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache" "$dir/$package"
cat >"$dir/apt/conf" <<END
Dir::Etc::SourceList "$dir/apt/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::State::Lists "$dir/apt/lists";
Dir::Cache "$dir/apt/cache";
APT::Sandbox::User "";
Acquire::Languages "none";
END

# The archives that packages come from have their sources too.
apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)' 'Created-By: Packages' |
	awk '$4 == "Debian" && !seen[$0]++ { print "deb-src", $1, $2, $3 }' >"$dir/apt/sources.list"
[ -s "$dir/apt/sources.list" ] || fail "apt knows no archive of Debian"

export APT_CONFIG=$dir/apt/conf
cd "$dir/$package"
apt-get -qq update >said 2>&1 || fail "$(tail -n 1 said)"
apt-get -qq source --download-only "$package" >said 2>&1 || fail "$(tail -n 1 said)"
for archive in *.orig.tar.*; do
	[ -e "$archive" ] || fail "no archive came"
	[ "${archive%.asc}" = "$archive" ] || continue
	tar -xf "$archive" --strip-components=1 --no-same-owner
done
touch unpacked
