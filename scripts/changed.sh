#!/bin/sh
# Lists packages of go.work for what has changed against a commit, uncommitted files included: `scripts/changed.sh BASE_REF reach` those whose
# tests the change can reach, `scripts/changed.sh BASE_REF own` those that have changed files.
# A file that is no Go code belongs to the package of the closest folder above it. A change of the build itself (go.mod, Makefile, scripts) reaches
# every package. Tests that start programs are reached by changes of their own; "smoke" is said where the programs are reached.
set -eu

base=$1 want=$2
go=${GO:-go}

files=$( (git diff --name-only "$base" --; git ls-files --others --exclude-standard) | sort -u)
[ -n "$files" ] || exit 0

if printf '%s\n' "$files" | grep -qE '^((examples/)?go\.(mod|sum)|go\.work|Makefile|scripts/(test|programs|changed)\.sh)$'; then
	echo work
	exit 0
fi

# Folders without Go files of their own belong to the first folder above that has some.
changed=$(printf '%s\n' "$files" | while read -r file; do
	case $file in docs/* | README.md) echo test/docs; continue ;; esac
	dir=$(dirname "$file")
	until ls "$dir"/*.go >/dev/null 2>&1 || [ "$dir" = . ]; do dir=$(dirname "$dir"); done
	echo "$dir"
done | sort -u)

module=$($go list -m -f '{{if not .Indirect}}{{.Path}}{{end}}' 2>/dev/null | head -n 1)
own=$(printf '%s\n' "$changed" | sed "s|^\.\$|$module|; t; s|^|$module/|")
all=$($go list work)
own=$(printf '%s\n' "$own" | grep -xF "$all" || true)

if [ "$want" = own ]; then
	printf '%s\n' "$own"
	exit 0
fi

# Each package with tests, its test binary's dependencies behind it.
$go list -test -f '{{if eq .Name "main"}}{{.ImportPath}}{{range .Deps}} {{.}}{{end}}{{end}}' work | OWN="$own" awk '
	BEGIN { n = split(ENVIRON["OWN"], list, "\n"); for (i = 1; i <= n; i++) changed[list[i]] = 1 }
	{
		name = $1; test = sub(/\.test$/, "", name)
		reached = test && changed[name]
		for (i = 2; i <= NF && !reached; i++) reached = changed[$i]
		if (!reached) next
		if (test) print name; else if (name ~ /\/cmd\/windlassd?$/) smoke = 1
	}
	END { if (smoke) print "smoke" }'
