package contract

import (
	"slices"
	"strings"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// BytesPerToken turns the size of a kept conversation into tokens. Text in most scripts has more bytes for each: what is thought to fit
// must fit.
const BytesPerToken = 3

// Modalities returns those of the content of an input, by which routes choose models: "text" and what else there is, sorted, without
// duplicates.
func Modalities(content ...*turnv1.ContentPart) []string {
	out := []string{"text"}
	for _, p := range content {
		media := p.GetBlob().GetMediaType() + p.GetFile().GetMediaType()
		switch kind, _, _ := strings.Cut(media, "/"); kind {
		case "", "text":
		case "image", "audio", "video":
			out = append(out, kind)
		default:
			out = append(out, "file")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
