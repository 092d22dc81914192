#!/bin/sh
# Builds the programs for PLATFORMS, and packs an archive for each into dist/: windlass with the Temporal server and the tool servers that it starts,
# so that one download is enough. Two runs at the same commit give the same bytes. Run it through `make dist`.
set -eu

version=$1
go=${GO:-go}
tools=${TOOLS:-bin/tools}
case $version in v[0-9]*) ;; *) echo "dist: VERSION is \"$version\", set one like v0.1.0" >&2; exit 1 ;; esac
commit=$(git rev-parse HEAD)
date=$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)
[ -z "$(git status --porcelain --untracked-files=no)" ] || { echo "dist: files are changed: commit them first, so that the archives are what the commit gives" >&2; exit 1; }
app=github.com/windlass-dev/windlass/internal/cli/app
stamp="-s -w -X main.version=$version -X $app.commit=$commit -X $app.date=$date"

rm -rf bin/dist
# bill writes the bill of materials of a program. What the tool logs is shown only when it fails.
bill() {
	log=$("$tools/cyclonedx-gomod" bin -json -noserial -notimestamp -version "$version" -output "$1/sbom-$2.cdx.json" "$1/$2$3" 2>&1) ||
		{ echo "$log" >&2; echo "dist: there is no bill of materials of $2" >&2; exit 1; }
}
for platform in $PLATFORMS; do
	export GOOS="${platform%/*}" GOARCH="${platform#*/}" CGO_ENABLED=0
	exe=
	[ "$GOOS" != windows ] || exe=.exe
	one=$PWD/bin/dist/windlass/${GOOS}_$GOARCH
	server=$PWD/bin/dist/windlassd/${GOOS}_$GOARCH
	mkdir -p "$one/examples"
	echo "dist: building for $platform"
	"$go" build -pgo=cmd/profile.pgo -ldflags "$stamp" -o "$one/" ./cmd/windlass
	"$go" build -ldflags "-s -w" -o "$one/examples/" ./examples/calculator ./examples/notes
	GOWORK=off "$go" -C deploy/temporal build -ldflags "-s -w" -o "$one/windlass-temporal$exe" .
	bill "$one" windlass "$exe"
	bill "$one" windlass-temporal "$exe"
	# Servers run Linux.
	[ "$GOOS" = linux ] || continue
	mkdir -p "$server"
	"$go" build -pgo=cmd/profile.pgo -ldflags "$stamp" -o "$server/" ./cmd/windlassd
	bill "$server" windlassd ""
done
unset GOOS GOARCH
rm -rf dist
"$go" run ./internal/release -version "$version" -commit "$commit" -date "$date" README.md LICENSE CHANGELOG.md
ls -l dist | awk 'NR > 1 {printf "dist: %8.1f MB  %s\n", $5 / 1e6, $NF}'
