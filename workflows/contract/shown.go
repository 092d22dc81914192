package contract

import (
	"strings"

	"github.com/windlass-dev/windlass/libs/mediatext"
)

// Shown reports whether some models read files of a media type: images, sounds, documents, and what is text. Conversations only name
// others.
func Shown(mediaType string) bool {
	return strings.HasPrefix(mediaType, "image/") || strings.HasPrefix(mediaType, "audio/") || mediaType == "application/pdf" ||
		mediatext.Is(mediaType)
}
