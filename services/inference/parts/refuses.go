package parts

import (
	"slices"

	"github.com/windlass-dev/windlass/libs/mediatext"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/provider"
)

// Refuses returns what a model with a sheet takes in no form, of the files of a user in a turn; "" if it takes all kinds. Sizes and numbers
// are not compared, and the text of a document counts.
func Refuses(sheet provider.Sheet, turn string, messages []*turnv1.Message) string {
	for _, m := range slices.Backward(messages) {
		if m.GetRole() != turnv1.Role_ROLE_USER || m.GetTurnId() != turn {
			continue
		}
		for _, p := range m.GetContent() {
			if kind := refuses(sheet, p.GetBlob()); kind != "" {
				return kind
			}
		}
	}
	return ""
}

func refuses(sheet provider.Sheet, b *turnv1.Blob) string {
	if b == nil || mediatext.Is(b.GetMediaType()) {
		return ""
	}
	mediaType := b.GetMediaType()
	if usual, ok := usualTypes[mediaType]; ok {
		mediaType = usual
	}
	switch {
	case mediaType == provider.PDF:
		return ""
	case provider.IsImage(mediaType):
		if len(sheet.Images.Types) == 0 {
			return "images"
		}
		return ""
	case slices.Contains(sheet.Audio.Types, mediaType):
		return ""
	}
	return mediaType
}
