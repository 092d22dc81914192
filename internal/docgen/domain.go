package main

import (
	"slices"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	optionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/options/v1"
)

const domainIntro = "`GET /v1/events`, `GET /v1/events:watch` and the gRPC service `EventService` serve these events as CloudEvents 1.0. " +
	"[How to use them](../how-to/events.md).\n" +
	"They are not the [events of turns](events.md). In JSON, every field of the data is present; an unset one is empty, 0, false or `null`."

// writeDomainEvents writes the page of domain events.
func writeDomainEvents(w *writer, root string) error {
	notes, err := readComments(root, "windlass/event/v1/event.proto", "windlass/event/v1/data.proto")
	if err != nil {
		return err
	}
	w.title("Domain events", domainIntro)
	w.line("\n## Attributes\n\nThe fields of every event.\n")
	table(w, (&eventv1.CloudEvent{}).ProtoReflect().Descriptor(), notes)
	messages := eventv1.File_windlass_event_v1_data_proto.Messages()
	var sources []string
	var others []protoreflect.MessageDescriptor
	for i := range messages.Len() {
		source, _ := proto.GetExtension(messages.Get(i).Options(), optionsv1.E_EventSource).(string)
		if source == "" {
			others = append(others, messages.Get(i))
		} else if !slices.Contains(sources, source) {
			sources = append(sources, source)
		}
	}
	for _, source := range sources {
		w.line("\n## Source %s", source)
		for i := range messages.Len() {
			md := messages.Get(i)
			types, _ := proto.GetExtension(md.Options(), optionsv1.E_EventTypes).([]string)
			if from, _ := proto.GetExtension(md.Options(), optionsv1.E_EventSource).(string); from != source {
				continue
			}
			w.line("\n### %s\n\n%s\n", md.Name(), sentence(notes[string(md.FullName())]))
			for _, t := range types {
				w.line("- %s", code(t))
			}
			w.line("")
			table(w, md, notes)
		}
	}
	w.line("\n## Shared objects")
	for _, md := range others {
		w.line("\n### %s\n\n%s\n", md.Name(), sentence(notes[string(md.FullName())]))
		table(w, md, notes)
	}
	return nil
}
