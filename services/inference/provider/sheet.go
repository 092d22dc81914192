package provider

import (
	"slices"
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// Sheet is what a model takes besides text, and what it can do. That of a kind is what its API takes at most.
type Sheet struct {
	// Images are scaled to their limits, and converted to their types.
	Images Images
	// Audio and Documents are passed on as they are.
	Audio, Documents Files
	// Tools and StructuredOutput are abilities.
	Tools, StructuredOutput bool
}

// Images are the images that a model takes; without types it takes none. A limit of 0 is none.
type Images struct {
	// Types are media types.
	Types []string
	// MaxEdge limits width and height in pixels, MaxBytes the size of each, and MaxCount their number in a conversation.
	MaxEdge, MaxBytes, MaxCount int
	// InResults are taken in the results of tools; others come in a message of the user behind the results.
	InResults bool
}

// Files are the files of some media types that a model takes; without types it takes none.
type Files struct {
	// Types are media types.
	Types []string
	// MaxBytes limits the size of each; 0 = no limit.
	MaxBytes int
}

// CommonImages are the media types of images that most APIs take.
func CommonImages() []string { return []string{"image/png", "image/jpeg", "image/webp", "image/gif"} }

// IsImage reports whether a media type is that of an image, of any kind.
func IsImage(mediaType string) bool { return strings.HasPrefix(mediaType, "image/") }

// PDF is the media type of documents that most APIs take as they are.
const PDF = "application/pdf"

// Has reports whether a blob is an image that the model takes.
func (i Images) Has(b *turnv1.Blob) bool {
	return slices.Contains(i.Types, b.GetMediaType()) && (i.MaxBytes == 0 || len(b.GetData()) <= i.MaxBytes)
}

// Has reports whether a blob is a file that the model takes.
func (f Files) Has(b *turnv1.Blob) bool {
	return slices.Contains(f.Types, b.GetMediaType()) && (f.MaxBytes == 0 || len(b.GetData()) <= f.MaxBytes)
}
