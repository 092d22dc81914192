// Package mediatext says which bytes models read as text.
package mediatext

import (
	"strings"
	"unicode/utf8"
)

// Is reports whether models read bytes of a media type as text.
func Is(mediaType string) bool {
	return strings.HasPrefix(mediaType, "text/") || mediaType == "application/json"
}

// Of returns bytes as models read them as text. It reports false for other bytes, and for those that are not valid UTF-8.
func Of(mediaType string, data []byte) (string, bool) {
	if !Is(mediaType) || !utf8.Valid(data) {
		return "", false
	}
	return string(data), true
}
