package rest

import (
	"encoding/json"
	"fmt"

	"github.com/windlass-dev/windlass/gateway/codec"
	"github.com/windlass-dev/windlass/gateway/eventjson"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// markdownType is the media type of a transcript.
const markdownType = "text/markdown; charset=utf-8"

// pdfType is that of one as PDF.
const pdfType = "application/pdf"

// transcriptType returns the media type of a response that is a transcript, which is served as is; "" for others.
func transcriptType(v any) string {
	x, _ := v.(*sessionsv1.ExportSessionResponse)
	switch {
	case x.GetMarkdown() != "":
		return markdownType
	case len(x.GetPdf()) > 0:
		return pdfType
	}
	return ""
}

// marshalExport writes an export. Its events have the same form as in event streams.
func marshalExport(x *sessionsv1.ExportSessionResponse) ([]byte, error) {
	switch transcriptType(x) {
	case markdownType:
		return []byte(x.GetMarkdown()), nil
	case pdfType:
		return x.GetPdf(), nil
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
	delete(fields, "pdf")
	events, err := eventList(x.GetEvents())
	if err != nil {
		return nil, fmt.Errorf("write export: %w", err)
	}
	if fields["events"], err = json.Marshal(events); err != nil {
		return nil, fmt.Errorf("write export: %w", err)
	}
	return json.Marshal(fields)
}

// eventList writes events in the form of event streams.
func eventList(list []*turnv1.Event) ([]json.RawMessage, error) {
	events := make([]json.RawMessage, 0, len(list))
	for _, e := range list {
		event, err := eventjson.Encode(e)
		if err != nil {
			return nil, err
		}
		events = append(events, event)
	}
	return events, nil
}

// marshalEvents writes a page of the events of a turn, in the form of event streams.
func marshalEvents(x *sessionsv1.ListTurnEventsResponse) ([]byte, error) {
	events, err := eventList(x.GetEvents())
	if err != nil {
		return nil, fmt.Errorf("write events: %w", err)
	}
	return json.Marshal(struct {
		Events []json.RawMessage `json:"events"`
		Next   string            `json:"next_page_token"`
	}{events, x.GetNextPageToken()})
}
