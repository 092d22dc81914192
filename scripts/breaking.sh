#!/bin/sh
# Says which changes to proto/ would break clients built from BASE_REF (default: main).
# Not `buf breaking --against .git#branch=…`: the imports in third_party/ are not in git, so they are linked in here.
set -eu

buf=${BUF:-bin/tools/buf}
ref=${BASE_REF:-main}

if ! git rev-parse --quiet --verify "$ref^{commit}" >/dev/null 2>&1; then
	echo "breaking: skipped, there is no commit $ref"
	exit 0
fi
# A first version of the API has nothing to break.
if [ -z "$(git ls-tree -r --name-only "$ref" -- proto | grep '\.proto$')" ] || ! git cat-file -e "$ref:buf.yaml" 2>/dev/null; then
	echo "breaking: skipped, $ref has no proto"
	exit 0
fi
base=$(mktemp -d)
trap 'rm -rf "$base"' EXIT
git archive "$ref" proto buf.yaml | tar -x -C "$base"
ln -s "$PWD/third_party" "$base/third_party"
"$buf" breaking --against "$base"
echo "breaking: nothing, compared with $ref"
