package scripted

import (
	"fmt"
	"strings"

	"github.com/windlass-dev/windlass/libs/media"
	"github.com/windlass-dev/windlass/libs/mediatext"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// sheet is what the model takes. Documents are not part of it, so that it reads their texts.
var sheet = provider.Sheet{
	Images: provider.Images{Types: provider.CommonImages(), MaxEdge: 2048, MaxBytes: 4 << 20, InResults: true},
	Audio:  provider.Files{Types: []string{"audio/wav", "audio/mpeg", "audio/ogg", "audio/flac"}, MaxBytes: 4 << 20},
	Tools:  true, StructuredOutput: true,
}

// blobsOf returns what is no text.
func blobsOf(parts []*turnv1.ContentPart) []*turnv1.Blob {
	var out []*turnv1.Blob
	for _, p := range parts {
		if b := p.GetBlob(); b != nil && !mediatext.Is(b.GetMediaType()) {
			out = append(out, b)
		}
	}
	return out
}

// seen says what images and other files the model got, in their order.
func (p place) seen() string {
	said := make([]string, 0, len(p.blobs))
	for _, b := range p.blobs {
		if width, height, ok := media.Size(b.GetData()); ok {
			said = append(said, fmt.Sprintf("%s of %d × %d pixels (%d bytes)", b.GetMediaType(), width, height, len(b.GetData())))
		} else {
			said = append(said, fmt.Sprintf("%s (%d bytes)", b.GetMediaType(), len(b.GetData())))
		}
	}
	if len(said) == 0 {
		return "I see no image."
	}
	return "I see " + strings.Join(said, ", ") + "."
}
