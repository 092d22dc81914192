#!/bin/sh
# Builds the programs of a release for PLATFORMS into bin/dist, with their bills of materials: `scripts/dist-programs.sh VERSION`. Those that were built
# of the same commit with the same compiler stay. `make dist` packs them into archives, `make images` into images. It prints the commit and its date.
set -eu

version=$1
go=${GO:-go}
tools=${TOOLS:-bin/tools}
case $version in v[0-9]*) ;; *) echo "dist: VERSION is \"$version\", set one like v0.1.0" >&2; exit 1 ;; esac
commit=$(git rev-parse HEAD)
date=$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)
[ -z "$(git status --porcelain --untracked-files=no)" ] || { echo "dist: files are changed: commit them first, so that the release is what the commit gives" >&2; exit 1; }
app=github.com/windlass-dev/windlass/internal/cli/app
stamp="-s -w -X main.version=$version -X $app.commit=$commit -X $app.date=$date"
pgo=${PGO--pgo=cmd/profile.pgo}
of="$version $commit $("$go" version) $pgo"

# bill writes the bill of materials of a program. What the tool logs is shown only when it fails.
bill() {
	log=$("$tools/cyclonedx-gomod" bin -json -noserial -notimestamp -version "$version" -output "$1/sbom-$2.cdx.json" "$1/$2$3" 2>&1) ||
		{ echo "$log" >&2; echo "dist: there is no bill of materials of $2" >&2; exit 1; }
}
# build builds what a platform has.
build() {
	mkdir -p "$one/examples"
	"$go" build ${pgo:+"$pgo"} -ldflags "$stamp" -o "$one/" ./cmd/windlass
	"$go" build -ldflags "-s -w" -o "$one/examples/" ./examples/calculator ./examples/notes
	GOWORK=off "$go" -C deploy/temporal build -ldflags "-s -w" -o "$one/windlass-temporal$exe" .
	bill "$one" windlass "$exe"
	bill "$one" windlass-temporal "$exe"
	bill "$one/examples" calculator "$exe"
	bill "$one/examples" notes "$exe"
	# Servers run Linux.
	[ "$GOOS" = linux ] || return 0
	mkdir -p "$server"
	"$go" build ${pgo:+"$pgo"} -ldflags "$stamp" -o "$server/" ./cmd/windlassd
	bill "$server" windlassd ""
}
for platform in $PLATFORMS; do
	export GOOS="${platform%/*}" GOARCH="${platform#*/}" CGO_ENABLED=0
	exe=
	[ "$GOOS" != windows ] || exe=.exe
	one=$PWD/bin/dist/windlass/${GOOS}_$GOARCH
	server=$PWD/bin/dist/windlassd/${GOOS}_$GOARCH
	built=bin/dist/.${GOOS}_$GOARCH
	[ "$(cat "$built" 2>/dev/null)" != "$of" ] || continue
	rm -rf "$one" "$server" "$built"
	echo "dist: building for $platform" >&2
	build >&2
	echo "$of" >"$built"
done
echo "$commit $date"
