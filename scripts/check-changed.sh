#!/bin/sh
# The checks of `make check` for what has changed against BASE: `scripts/check-changed.sh BASE`. Each check runs whole if the change reaches it, the
# linter on the packages that have changed files.
set -eu

base=$1
make=${MAKE:-make}
files=$( (git diff --name-only "$base" --; git ls-files --others --exclude-standard) | sort -u)
[ -n "$files" ] || { echo "check-changed: nothing has changed against $base"; exit 0; }

changed() { printf '%s\n' "$files" | grep -qE "$1"; }

"$make" --no-print-directory check-format check-words
if changed '(^|/)go\.(mod|sum)$|\.go$'; then "$make" --no-print-directory check-tidy; fi
if changed '^(proto/|buf|gateway/openapi/|tools/(buf|protoc)/|scripts/generate)'; then "$make" --no-print-directory check-generated check-proto; fi
if changed '^(gateway/console/|scripts/console)'; then "$make" --no-print-directory check-console; fi
if changed '^workflows/.*\.go$'; then "$make" --no-print-directory check-workflows; fi
if changed '^(deploy/(helm|prometheus)|scripts/check-deploy)'; then "$make" --no-print-directory check-deploy; fi
if changed '(^|/)go\.(mod|sum)$|^(tools/supply|scripts/check-supply|\.gitleaks)'; then "$make" --no-print-directory check-supply; fi

packages=$(printf '%s\n' "$files" | grep '\.go$' | xargs -rn1 dirname | sort -u | while read -r dir; do [ ! -d "$dir" ] || echo "./$dir"; done)
lint() { # lint MODULE: the changed packages that belong to it
	here=$(printf '%s\n' "$packages" | grep -E "$2" | sed "s|^\./$1/|./|; s|^\./$1\$|.|" || true)
	# shellcheck disable=SC2086 # a list of packages
	[ -z "$here" ] || (cd "$1" && "$LINT" run $here)
}
export CGO_ENABLED=0
lint . '^\./(\.|libs|services|workflows|gateway|internal|cmd|bench|test|proto)?(/|$)'
lint examples '^\./examples'
GOWORK=off lint deploy/temporal '^\./deploy/temporal$'
GOWORK=off lint tools/protoc '^\./tools/protoc'
echo "check-changed: ok"
