package rest

import (
	"encoding/json"
	"fmt"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/gateway/eventjson"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// markdownType is the media type of a transcript.
const markdownType = "text/markdown; charset=utf-8"

// isTranscript reports whether a response is a transcript, which is served as is.
func isTranscript(v any) bool {
	x, ok := v.(*sessionsv1.ExportSessionResponse)
	return ok && x.GetMarkdown() != ""
}

// marshalExport writes an export. Its events have the same form as in event streams.
func marshalExport(x *sessionsv1.ExportSessionResponse) ([]byte, error) {
	if isTranscript(x) {
		return []byte(x.GetMarkdown()), nil
	}
	bare := &sessionsv1.ExportSessionResponse{Session: x.GetSession(), Turns: x.GetTurns(), Messages: x.GetMessages()}
	text, err := codec.Marshal(bare)
	if err != nil {
		return nil, fmt.Errorf("write export: %w", err)
	}
	fields := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, fmt.Errorf("write export: %w", err)
	}
	delete(fields, "markdown")
	events := make([]json.RawMessage, 0, len(x.GetEvents()))
	for _, e := range x.GetEvents() {
		event, err := eventjson.Encode(e)
		if err != nil {
			return nil, fmt.Errorf("write export: %w", err)
		}
		events = append(events, event)
	}
	if fields["events"], err = json.Marshal(events); err != nil {
		return nil, fmt.Errorf("write export: %w", err)
	}
	return json.Marshal(fields)
}
