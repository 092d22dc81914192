#!/bin/sh
# Installs a release of Windlass for this user: downloads the archive for this machine, compares its SHA-256 with that in SHA256SUMS, and unpacks it.
# Nothing is changed when anything fails, and after a signal there is the old version or the new one. Nothing is sent anywhere but the two requests.
#
#   sh install.sh v0.1.0
#
# A power cut between the last two steps of an installation over the same version can leave a command that leads to nothing: run it again.
#
# WINDLASS_RELEASES is where releases are (default: those on GitHub), WINDLASS_HOME the folder for the programs (default: ~/.local/share/windlass), and
# WINDLASS_BIN the folder for the command (default: ~/.local/bin). An older version stays beside the new one.
set -eu

fail() { echo "install: $*" >&2; exit 1; }

version=${1:-}
case $version in
v[0-9]*) ;;
*) fail "say which version, as in: sh install.sh v0.1.0" ;;
esac
case $version in */* | *..*) fail "$version is no version" ;; esac

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "there is no archive for $(uname -s) that this script can unpack: see docs/how-to/install.md" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no archive for the processor $(uname -m): build from source, see README.md" ;;
esac

if command -v sha256sum >/dev/null; then sum() { sha256sum "$1"; }
elif command -v shasum >/dev/null; then sum() { shasum -a 256 "$1"; }
else fail "sha256sum or shasum is needed to check what was downloaded"; fi
if command -v curl >/dev/null; then download() { curl --fail --silent --show-error --location --retry 3 --output "$2" "$1"; }
elif command -v wget >/dev/null; then download() { wget -q -O "$2" "$1"; }
else fail "curl or wget is needed"; fi

releases=${WINDLASS_RELEASES:-https://github.com/windlass-dev/windlass/releases/download}
home=${WINDLASS_HOME:-$HOME/.local/share/windlass}
bin=${WINDLASS_BIN:-$HOME/.local/bin}
name=windlass_${version}_${os}_$arch
archive=$name.tar.gz

mkdir -p "$home" "$bin"
# The link of the command leads to an absolute path.
home=$(CDPATH='' cd -- "$home" && pwd)
bin=$(CDPATH='' cd -- "$bin" && pwd)
[ -w "$bin" ] || fail "$bin cannot be written: set WINDLASS_BIN to a folder of yours"
[ ! -d "$bin/windlass" ] || fail "$bin/windlass is a folder: the command cannot be there"
work=$(mktemp -d "$home/.install-XXXXXX")
# end puts back the version that was there, unless the new one has taken its place.
end() {
	trap '' HUP INT TERM
	if [ -e "$work/old" ] && [ ! -e "$home/$version" ]; then mv "$work/old" "$home/$version" || fail "the version that was there is now $work/old"; fi
	rm -rf "$work"
}
trap end EXIT
trap 'exit 1' HUP INT TERM
download "$releases/$version/SHA256SUMS" "$work/SHA256SUMS" || fail "cannot download $releases/$version/SHA256SUMS: is $version a release?"
want=$(awk -v name="$archive" '$2 == name {print $1}' "$work/SHA256SUMS")
[ -n "$want" ] || fail "release $version has no $archive"
download "$releases/$version/$archive" "$work/$archive" || fail "cannot download $releases/$version/$archive"
got=$(sum "$work/$archive" | cut -d ' ' -f 1)
[ "$got" = "$want" ] || fail "$archive has the SHA-256 $got, and SHA256SUMS says $want: it is not what was released. Nothing was installed"
tar -xzf "$work/$archive" -C "$work"
[ -x "$work/$name/windlass" ] || fail "$archive has no program windlass"

[ ! -e "$home/$version" ] || mv "$home/$version" "$work/old"
mv "$work/$name" "$home/$version"
# The command is a link, made beside the old one and moved over it, so that there is one at any moment.
ln -s "$home/$version/windlass" "$work/windlass"
mv -f "$work/windlass" "$bin/windlass"
echo "Windlass $version is in $home/$version, the command is $bin/windlass."
case :$PATH: in
*":$bin:"*) echo "Start it: windlass up" ;;
*) echo "$bin is not on your PATH. Start it: $bin/windlass up" ;;
esac
