#!/bin/sh
# Packs an archive for each of PLATFORMS into dist/: windlass with the Temporal server and the tool servers that it starts, so that one download is
# enough. Two runs at the same commit give the same bytes. Run it through `make dist`.
set -eu

version=$1
go=${GO:-go}
of=$(./scripts/dist-programs.sh "$version")
# Archives are made of all platforms in the folder: others of an earlier run go.
for folder in bin/dist/*/*; do
	name=$(basename "$folder")
	case " $PLATFORMS " in *" ${name%_*}/${name#*_} "*) ;; *) rm -rf "$folder" "bin/dist/.$name" ;; esac
done
mkdir -p dist
find dist -mindepth 1 -maxdepth 1 ! -name images -exec rm -rf {} +
"$go" run ./internal/release -version "$version" -commit "${of% *}" -date "${of#* }" README.md LICENSE CHANGELOG.md
ls -l dist | awk 'NR > 1 && $NF != "images" {printf "dist: %8.1f MB  %s\n", $5 / 1e6, $NF}'
