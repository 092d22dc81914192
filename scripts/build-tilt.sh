#!/bin/sh
# build-tilt.sh OUT: builds the pinned Tilt from its Go module into OUT. Needs a C compiler; takes some minutes the first time.
#
# `go install` refuses Tilt because its go.mod has replacements, so its source is copied and built where it lies. Two things are
# changed in the copy: the module comes without its web page and Tilt refuses to start without one, so it gets a short one; and
# its go.sum has another hash for the tag v0.32.1 of docker/buildx than the Go checksum database, whose hash is pinned here.
set -eu

out=$1
go=${GO:-go}
version=v0.37.6
sum='h1:U5jJcAPwIxPLFbNUVKtEnoiRMGfweQFj5dfcFxjhnhM='
buildx='github.com/docker/buildx v0.32.1 h1:ecen0VNo7UINEv+Wx7xDPlTH5nQ1EaxzFOoslYIISuk='

mkdir -p "$(dirname "$out")"
out=$(cd "$(dirname "$out")" && pwd)/$(basename "$out")
src=$(mktemp -d "${out}-src.XXXXXX")
trap 'rm -rf "$src"' EXIT
trap 'exit 1' INT TERM

export GOWORK=off GOFLAGS=-buildvcs=false
field() { sed -n "s/^[[:space:]]*\"$1\": \"\(.*\)\",*\$/\1/p"; }
module=$(cd "$src" && "$go" mod download -json "github.com/tilt-dev/tilt@$version")
got=$(printf '%s\n' "$module" | field Sum)
[ "$got" = "$sum" ] || { echo "build-tilt: tilt $version has the hash $got, want $sum" >&2; exit 1; }

cp -R "$(printf '%s\n' "$module" | field Dir)/." "$src"
chmod -R u+w "$src"
echo '<!doctype html><title>Tilt</title><p>This build of Tilt has no web page. Read the logs in the terminal, or with <code>tilt logs -f</code>.' \
	>"$src/pkg/assets/build/index.html"
sed "s|^github.com/docker/buildx v0.32.1 h1:.*|$buildx|" "$src/go.sum" >"$src/go.sum.new"
mv "$src/go.sum.new" "$src/go.sum"

cd "$src"
CGO_ENABLED=1 "$go" build -trimpath -ldflags "-s -w -X main.version=${version#v}" -o "$out" ./cmd/tilt
