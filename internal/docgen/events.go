package main

import (
	"fmt"
	"regexp"
	"strings"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/enum"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

const eventsIntro = "`GET /v1/turns/{id}/events`, `GET /v1/sessions/{id}/events` and the gRPC method `TurnService.WatchTurn` stream " +
	"these events. So do\n" +
	"`POST /v1/sessions/{id}/turns`, `POST /v1/turns/{id}:rerun` and `POST /v1/chat` if the client accepts `text/event-stream`.\n\n" +
	"Over HTTP an event is a frame of Server-Sent Events: `id` is the cursor, `event` the type, and `data` one JSON object on one line. " +
	"Enum values are\n" +
	"lower-case words; an unset value is `null` or empty. A stream starts with `retry:`, sends a comment every 15 s while there are no " +
	"events, and\n" +
	"ends with the frame `event: end` when the turn has ended. To resume after a lost connection, send the last id in the header " +
	"`Last-Event-ID`\n" +
	"or as `?after=`. [Architecture](../explanation/architecture.md#cursors) describes cursors.\n\n" +
	"`?types=turn.*,tool_call.completed` leaves out the events of all other types. `?event=message` leaves out the `event:` line of\n" +
	"events, so that the `onmessage` of a browser's `EventSource` gets all of them; `end` and `error-status` keep theirs.\n" +
	"`?include=children` adds the events of sub-agents."

// kind is one kind of event data and its event types.
type kind struct {
	types     []string
	transient bool
	note      string
	message   protoreflect.MessageDescriptor
}

var eventType = regexp.MustCompile(`^[a-z_]+(?:\.[a-z_]+)+(?:, [a-z_]+(?:\.[a-z_]+)+)*`)

// kinds reads the kinds of events from the descriptor and the comments of event.proto.
func kinds(notes comments) ([]kind, error) {
	event := (&turnv1.Event{}).ProtoReflect().Descriptor()
	fields := event.Oneofs().ByName("data").Fields()
	var out []kind
	for i := range fields.Len() {
		f := fields.Get(i)
		comment := notes[string(f.FullName())]
		types := eventType.FindString(comment)
		if types == "" {
			return nil, fmt.Errorf("the comment of %s does not begin with an event type: %q", f.FullName(), comment)
		}
		k := kind{types: strings.Split(types, ", "), message: f.Message(), note: notes[string(f.Message().FullName())]}
		k.transient = strings.Contains(comment, "(transient")
		if _, rest, ok := strings.Cut(k.note, ": "); ok {
			k.note = rest
		}
		out = append(out, k)
	}
	return out, nil
}

// writeEvents writes the page of events.
func writeEvents(w *writer, root string) error {
	notes, err := readComments(root, "windlass/turn/v1/event.proto", "windlass/turn/v1/content.proto")
	if err != nil {
		return err
	}
	all, err := kinds(notes)
	if err != nil {
		return err
	}
	w.title("Events", eventsIntro)
	w.line("\n## Envelope\n\nThe fields of every event.\n")
	event := (&turnv1.Event{}).ProtoReflect().Descriptor()
	table(w, event, notes)
	shared := collector{seen: map[protoreflect.FullName]bool{}}
	section(w, &shared, notes, all, false, "Durable events",
		"Durable events are stored in the journal. Within a session, `seq` increases by one without gaps. They can be read as long as the "+
			"session exists.")
	section(w, &shared, notes, all, true, "Transient events",
		"Transient events report progress and are not stored in the journal. They carry the `seq` of the `message.started` or `message.reset` "+
			"that they "+
			"follow. Their content is repeated in the `message.completed` or `tool_call.completed` that comes later.")
	w.line("\n## Shared objects\n")
	for len(shared.messages) > 0 { // messages referenced by a message are appended
		m := shared.messages[0]
		shared.messages = shared.messages[1:]
		w.line("\n### %s\n\n%s\n", m.Name(), sentence(notes[string(m.FullName())]))
		table(w, m, notes)
		shared.from(m)
	}
	return nil
}

func section(w *writer, shared *collector, notes comments, all []kind, transient bool, title, intro string) {
	w.line("\n## %s\n\n%s", title, intro)
	for _, k := range all {
		if k.transient != transient {
			continue
		}
		w.line("\n### %s\n\n%s\n", strings.Join(k.types, ", "), sentence(k.note))
		table(w, k.message, notes)
		shared.from(k.message)
	}
}

// table lists a message's fields; those of the envelope's oneof are one field "data".
func table(w *writer, m protoreflect.MessageDescriptor, notes comments) {
	w.line("| Field | Type | Meaning |\n|---|---|---|")
	fields := m.Fields()
	data := false
	for i := range fields.Len() {
		f := fields.Get(i)
		if o := f.ContainingOneof(); o != nil && !o.IsSynthetic() && o.Name() == "data" {
			if !data {
				w.line("| `data` | object | %s |", cell(notes[string(m.FullName())+".data"]))
			}
			data = true
			continue
		}
		w.line("| %s | %s | %s |", code(string(f.Name())), typeOf(f), cell(notes[string(f.FullName())]))
	}
}

// typeOf returns a field's type in JSON.
func typeOf(f protoreflect.FieldDescriptor) string {
	name := "object"
	switch f.Kind() {
	case protoreflect.StringKind:
		name = "string"
	case protoreflect.BytesKind:
		name = "string (base64)"
	case protoreflect.BoolKind:
		name = "boolean"
	case protoreflect.EnumKind:
		name = words(f.Enum())
	case protoreflect.MessageKind:
		switch m := f.Message(); {
		case m.FullName() == "google.protobuf.Timestamp":
			name = "time (RFC 3339)"
		case m.FullName() == "google.protobuf.Value":
			name = "any"
		case ours(m):
			name = "[" + string(m.Name()) + "](#" + strings.ToLower(string(m.Name())) + ")"
		}
	default:
		name = "number"
	}
	if f.IsList() {
		return "list of " + name
	}
	return name
}

// words lists an enum's values as JSON has them.
func words(e protoreflect.EnumDescriptor) string {
	out := enum.Names(e)
	for i := range out {
		out[i] = code(out[i])
	}
	return strings.Join(out, ", ")
}

func ours(m protoreflect.MessageDescriptor) bool {
	return strings.HasPrefix(string(m.FullName()), "windlass.")
}

// collector finds our messages that other messages contain, each once.
type collector struct {
	seen map[protoreflect.FullName]bool
	// messages is the queue of messages to describe.
	messages []protoreflect.MessageDescriptor
}

func (c *collector) from(m protoreflect.MessageDescriptor) {
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		if f.Kind() != protoreflect.MessageKind || !ours(f.Message()) || c.seen[f.Message().FullName()] {
			continue
		}
		c.seen[f.Message().FullName()] = true
		c.messages = append(c.messages, f.Message())
	}
}
