package contract

import (
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// PackEvents adds an encoded windlass.turn.v1.Event to encoded windlass.turn.v1.Events, which may be nil.
func PackEvents(events, event []byte) []byte {
	const field = 1 // of Events
	return protowire.AppendBytes(protowire.AppendTag(events, field, protowire.BytesType), event)
}

// UnpackEvents reads what PackEvents wrote.
func UnpackEvents(events []byte) ([]*turnv1.Event, error) {
	var out turnv1.Events
	if err := proto.Unmarshal(events, &out); err != nil {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return out.GetEvents(), nil
}
