// Package eventlog keeps the domain events of a service in one of its tables and publishes them as CloudEvents 1.0.
//
// An event is added in the transaction that makes the fact, without a number, so that writers do not wait for each other. A sequencer
// numbers what has been committed, under a lock, and readers see numbered events only: a reader that has read up to a number never misses
// an event whose transaction was committed late.
package eventlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/ids"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	optionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/options/v1"
)

// Event is one domain event.
type Event struct {
	// Tenant is whose event it is. ID identifies it.
	Tenant, ID string
	// Type is one of the event types of the message in Data, Subject what the event is about.
	Type, Subject string
	// Time is when it was recorded.
	Time time.Time
	// Data is the JSON of the message.
	Data []byte
	// Owner is the subject who alone sees the event besides administrators; empty = everyone does.
	Owner string
	// EraseWith names that with which the event is erased, for example a session; empty = nothing.
	EraseWith string
	// Seq is its number in the tenant's log, from 1; 0 = not numbered yet.
	Seq int64
}

// New returns an event of the tenant with a new id. It fails for a type that is none of the message's.
func New(tenant, eventType, subject string, at time.Time, data proto.Message) (Event, error) {
	if !slices.Contains(TypesOf(data.ProtoReflect().Descriptor()), eventType) {
		return Event{}, fmt.Errorf("event %s: %s is not its data", eventType, data.ProtoReflect().Descriptor().FullName())
	}
	raw, err := canon.Marshal(protojson.MarshalOptions{UseProtoNames: true, EmitUnpopulated: true}, data)
	if err != nil {
		return Event{}, fmt.Errorf("event %s: %w", eventType, err)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return Event{}, fmt.Errorf("event %s: %w", eventType, err)
	}
	return Event{Tenant: tenant, ID: ids.New(ids.Event), Type: eventType, Subject: subject, Time: at, Data: compact.Bytes()}, nil
}

// TypesOf returns the event types of a message.
func TypesOf(md protoreflect.MessageDescriptor) []string {
	types, _ := proto.GetExtension(md.Options(), optionsv1.E_EventTypes).([]string)
	return types
}

// Types returns the event types of a source; of all sources if it is empty.
func Types(source string) []string {
	var out []string
	messages := eventv1.File_windlass_event_v1_data_proto.Messages()
	for i := range messages.Len() {
		if from, _ := proto.GetExtension(messages.Get(i).Options(), optionsv1.E_EventSource).(string); source == "" || from == source {
			out = append(out, TypesOf(messages.Get(i))...)
		}
	}
	return out
}

// CloudEvent returns the event as the API has it, without a cursor.
func (e Event) CloudEvent(source string) (*eventv1.CloudEvent, error) {
	data, err := canon.ParseStruct(e.Data)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", e.ID, err)
	}
	return &eventv1.CloudEvent{
		Specversion: "1.0", Id: e.ID, Source: source, Type: e.Type, Subject: e.Subject, Time: timestamppb.New(e.Time),
		Datacontenttype: "application/json", Data: data,
	}, nil
}

// published is an event in the JSON format of CloudEvents' structured mode.
type published struct {
	SpecVersion     string          `json:"specversion"`
	ID              string          `json:"id"`
	Source          string          `json:"source"`
	Type            string          `json:"type"`
	Subject         string          `json:"subject"`
	Time            time.Time       `json:"time"`
	DataContentType string          `json:"datacontenttype"`
	Data            json.RawMessage `json:"data"`
}

// structured returns the event as it is published.
func (e Event) structured(source string) ([]byte, error) {
	return json.Marshal(published{
		SpecVersion: "1.0", ID: e.ID, Source: source, Type: e.Type, Subject: e.Subject, Time: e.Time.UTC(), DataContentType: "application/json",
		Data: e.Data,
	})
}
