package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxName is the limit of the model APIs.
const maxName = 64

// hashLen is the number of hex digits that distinguish colliding names.
const hashLen = 8

// ToolName returns the plain namespaced name of a source's tool: "source__tool", with "_" for each character that model APIs reject, and a
// hash at the end of a name that is too long. Two tools may get the same name; the store then adds a hash to the second one. Only the
// store's table maps a name back, never its text.
func ToolName(source, original string) string {
	name := source + "__" + clean(original)
	if len(name) > maxName {
		return hashedName(source, original)
	}
	return name
}

// hashedName ends with a hash of source and original name.
func hashedName(source, original string) string {
	name := source + "__" + clean(original)
	sum := sha256.Sum256([]byte(source + "\x00" + original))
	return name[:min(len(name), maxName-hashLen-1)] + "_" + hex.EncodeToString(sum[:])[:hashLen]
}

func clean(original string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		default:
			return '_'
		}
	}, original)
}

// DefinitionHash returns the hash of a definition: hex SHA-256 over the namespaced name, a NUL and the raw definition. It includes the name
// because two sources may have identical tools.
func DefinitionHash(name string, raw []byte) string {
	h := sha256.New()
	h.Write([]byte(name))
	h.Write([]byte{0})
	h.Write(raw)
	return hex.EncodeToString(h.Sum(nil))
}
