#!/bin/sh
# Makes container images of the programs of a release in dist/images, without a container engine. Two runs at the same commit give the same bytes.
# Run it through `make images`.
set -eu

version=$1
out=$PWD/dist/images
linux=
for platform in $PLATFORMS; do
	case $platform in linux/*) linux="$linux $platform" ;; esac
done
of=$(PLATFORMS=$linux ./scripts/dist-programs.sh "$version")
key=
[ -z "${SIGN_KEY:-}" ] || key=$(realpath "$SIGN_KEY")
programs=$PWD/bin/dist
rm -rf "$out"
export GOWORK=off CGO_ENABLED=0
exec "${GO:-go}" -C tools/images run . -version "$version" -commit "${of% *}" -date "${of#* }" -programs "$programs" \
	-platforms "$linux" -out "$out" -push "${PUSH:-}" -key "$key"
