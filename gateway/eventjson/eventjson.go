// Package eventjson is the JSON form of a turn's event: the envelope's fields in snake_case, and the payload under "data", whose kind
// "type" tells. SSE writes it; the CLI and tests read it.
package eventjson

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/gateway/codec"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// envelope has the fields of turn.v1.Event in order. Fields that do not apply to an event are omitted.
type envelope struct {
	Seq       uint32          `json:"seq"`
	Delta     uint32          `json:"delta,omitempty"`
	Type      string          `json:"type"`
	Time      *time.Time      `json:"time,omitempty"`
	SessionID string          `json:"session_id"`
	TurnID    string          `json:"turn_id"`
	Step      string          `json:"step,omitempty"`
	Attempt   uint32          `json:"attempt,omitempty"`
	AgentPath []string        `json:"agent_path,omitempty"`
	Actor     string          `json:"actor,omitempty"`
	TraceID   string          `json:"trace_id,omitempty"`
	Data      json.RawMessage `json:"data,omitempty"`
}

// Encode writes an event as one JSON object on one line.
func Encode(ev *turnv1.Event) ([]byte, error) {
	env := envelope{
		Seq: ev.GetSeq(), Delta: ev.GetDelta(), Type: ev.GetType(), SessionID: ev.GetSessionId(), TurnID: ev.GetTurnId(),
		Step: ev.GetStep(), Attempt: ev.GetAttempt(), AgentPath: ev.GetAgentPath(), Actor: ev.GetActor(), TraceID: ev.GetTraceId(),
	}
	if ev.GetTime() != nil {
		t := ev.GetTime().AsTime()
		env.Time = &t
	}
	out, err := json.Marshal(env)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", ev.GetType(), err)
	}
	// Append the payload as it is: a json.RawMessage would be parsed and copied again.
	out = append(out[:len(out)-1], `,"data":`...)
	m := ev.ProtoReflect()
	if fd := m.WhichOneof(payloads(m.Descriptor())); fd == nil {
		out = append(out, "{}"...)
	} else if out, err = codec.Append(out, m.Get(fd).Message().Interface()); err != nil {
		return nil, fmt.Errorf("event %s: %w", ev.GetType(), err)
	}
	return append(out, '}'), nil
}

// Decode reads the output of Encode. It ignores fields that a newer server added; an event of an unknown type has no payload.
func Decode(data []byte) (*turnv1.Event, error) {
	var env envelope
	if err := json.Unmarshal(data, &env); err != nil {
		return nil, fmt.Errorf("read event: %w", err)
	}
	ev := &turnv1.Event{
		Seq: env.Seq, Delta: env.Delta, Type: env.Type, SessionId: env.SessionID, TurnId: env.TurnID,
		Step: env.Step, Attempt: env.Attempt, AgentPath: env.AgentPath, Actor: env.Actor, TraceId: env.TraceID,
	}
	if env.Time != nil {
		ev.Time = timestamppb.New(*env.Time)
	}
	m := ev.ProtoReflect()
	fd := payloads(m.Descriptor()).Fields().ByName(Payload(env.Type))
	if fd == nil || len(env.Data) == 0 {
		return ev, nil
	}
	payload := m.NewField(fd).Message()
	if err := codec.UnmarshalKnown(env.Data, payload.Interface()); err != nil {
		return nil, fmt.Errorf("read event %s with seq %s: %w", env.Type, strconv.FormatUint(uint64(env.Seq), 10), err)
	}
	m.Set(fd, protoreflect.ValueOfMessage(payload))
	return ev, nil
}

// Payload returns the field of turn.v1.Event that holds the payload of events of this type.
func Payload(eventType string) protoreflect.Name {
	switch eventType {
	case "turn.completed", "turn.failed", "turn.cancelled":
		return "turn_ended"
	}
	return protoreflect.Name(strings.ReplaceAll(eventType, ".", "_"))
}

func payloads(md protoreflect.MessageDescriptor) protoreflect.OneofDescriptor {
	return md.Oneofs().ByName("data")
}
