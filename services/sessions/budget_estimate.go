package sessions

import (
	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// What an estimate of a prompt assumes. English text has about 4 bytes a token, JSON and code about 3: an estimate must rather be too high.
const (
	bytesPerToken  = 3
	tokensPerImage = 1600
	// largeMessage is the size from which a message is looked into: an image takes fewer tokens than its bytes say.
	largeMessage = 16 << 10
	// maxPrompt is what a conversation is cut to before a model reads it, see GetContext.
	maxPrompt = contextBytes / bytesPerToken
)

// promptTokens estimates what a model step of a turn will read.
func promptTokens(tx *journal.Tx, t store.Turn, surface *turnv1.Surface) (int64, error) {
	size, large, err := tx.ConversationSize(tx.Context(), t.Tenant, t.SessionID, t.Place, largeMessage)
	if err != nil {
		return 0, err
	}
	images := int64(0)
	for _, data := range large {
		m, err := messageToProto(store.Message{ID: "of " + t.SessionID, Data: data})
		if err != nil {
			return 0, err
		}
		size += int64(len(data))
		for _, parts := range [][]*turnv1.ContentPart{m.GetContent(), m.GetToolResult().GetContent()} {
			for _, p := range parts {
				if p.GetBlob() != nil {
					size -= int64(proto.Size(p))
					images++
				}
			}
		}
	}
	return min(size/bytesPerToken, maxPrompt) + images*tokensPerImage + int64(surface.GetPromptTokens()), nil
}
