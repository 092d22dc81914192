#!/bin/sh
# Says which changes to proto/ would break clients built from BASE_REF (default: main, or origin/main).
# ALLOW_BREAKING=1 only reports them. Not `buf breaking --against .git#branch=…`: the imports in third_party/ are not
# in git, so they are linked in here.
set -eu

buf=${BUF:-bin/tools/buf}

ref=
for candidate in ${BASE_REF:-main origin/main}; do
	if git rev-parse --quiet --verify "$candidate^{commit}" >/dev/null 2>&1; then
		ref=$candidate
		break
	fi
done
if [ -z "$ref" ]; then
	echo "breaking: skipped, there is no commit ${BASE_REF:-main}"
	exit 0
fi
# A first version of the API has nothing to break.
if ! git ls-tree -r --name-only "$ref" -- proto | grep -q '\.proto$' || ! git cat-file -e "$ref:buf.yaml" 2>/dev/null; then
	echo "breaking: skipped, $ref has no proto"
	exit 0
fi

base=$(mktemp -d)
trap 'rm -rf "$base"' EXIT
git archive "$ref" proto buf.yaml | tar -x -C "$base"
ln -s "$PWD/third_party" "$base/third_party"
if "$buf" breaking --against "$base"; then
	echo "breaking: nothing, compared with $ref"
elif [ -n "${ALLOW_BREAKING:-}" ]; then
	echo "breaking: the changes above break clients of $ref; allowed this time"
else
	echo "breaking: the changes above break clients of $ref (ALLOW_BREAKING=1 if that is meant)" >&2
	exit 1
fi
