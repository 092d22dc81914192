package main

import (
	"io"
	"slices"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/sessions/journal"
)

func TestReferencePagesAreFresh(t *testing.T) {
	if err := run("../..", true, io.Discard); err != nil {
		t.Error(err)
	}
}

// The event types that event.proto calls durable are those that the journal stores.
func TestEventTypesAreTheJournals(t *testing.T) {
	notes, err := readComments("../..", "windlass/turn/v1/event.proto")
	if err != nil {
		t.Fatal(err)
	}
	all, err := kinds(notes)
	if err != nil {
		t.Fatal(err)
	}
	fields := (&turnv1.Event{}).ProtoReflect().Descriptor().Oneofs().ByName("data").Fields()
	for i, k := range all {
		e := &turnv1.Event{}
		data := e.ProtoReflect().NewField(fields.Get(i))
		e.ProtoReflect().Set(fields.Get(i), data)
		if ended := e.GetTurnEnded(); ended != nil {
			ended.Status = turnv1.TurnStatus_TURN_STATUS_FAILED
		}
		typ := journal.Type(e)
		if k.transient != (typ == "") || !k.transient && !slices.Contains(k.types, typ) {
			t.Errorf("%s: the comment says %v, transient %v; the journal says %q", fields.Get(i).Name(), k.types, k.transient, typ)
		}
	}
}

func TestEveryFieldOfAnEventHasAComment(t *testing.T) {
	notes, err := readComments("../..", "windlass/turn/v1/event.proto", "windlass/turn/v1/content.proto")
	if err != nil {
		t.Fatal(err)
	}
	var check func(m protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool)
	check = func(m protoreflect.MessageDescriptor, seen map[protoreflect.FullName]bool) {
		if seen[m.FullName()] || !ours(m) {
			return
		}
		seen[m.FullName()] = true
		for i := range m.Fields().Len() {
			f := m.Fields().Get(i)
			if notes[string(f.FullName())] == "" {
				t.Errorf("no comment found for %s", f.FullName())
			}
			if f.Message() != nil {
				check(f.Message(), seen)
			}
		}
	}
	check((&turnv1.Event{}).ProtoReflect().Descriptor(), map[protoreflect.FullName]bool{})
}
