package storetest

import (
	"errors"
	"reflect"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// facts covers memory: what is stored of facts, and that changes of one user's memory run one after the other.
func (s suite) facts(t *testing.T) {
	ann, bob := store.Owner{Tenant: "t", Subject: "ann"}, store.Owner{Tenant: "t", Subject: "bob"}
	change := func(o store.Owner, c store.FactChange) (before store.Memory) {
		t.Helper()
		if err := s.ChangeMemory(t.Context(), o, func(m store.Memory) (store.FactChange, error) {
			before = m
			return c, nil
		}); err != nil {
			t.Fatal(err)
		}
		return before
	}
	first := store.Fact{
		ID: "fct_1", AgentID: "helper", Entity: "brother", Attribute: "home town", Value: "Zürich", Text: "é \"quoted\"", ValidFrom: begin,
		ValidTo: begin.Add(time.Hour), State: store.FactActive, Trust: store.OfModel, SessionID: "ses_1", TurnID: "trn_1", CallID: "call_1",
		Tainted: true, CreateTime: begin, UpdateTime: begin,
	}
	second := store.Fact{
		ID: "fct_2", Text: "note", ValidFrom: begin, State: store.FactProposed, Trust: store.OfTools, CreateTime: begin, UpdateTime: begin,
	}
	if m := s.memory(t, ann); m.Off || m.Facts != nil {
		t.Errorf("without facts: %v", m)
	}
	change(ann, store.FactChange{Add: []store.Fact{first, second}, Mark: []string{"m1", "m2"}})
	if got := s.memory(t, ann); !reflect.DeepEqual(got.Facts, []store.Fact{second, first}) {
		t.Errorf("stored %v", got)
	}
	first.State, first.SupersededBy, first.UpdateTime, first.ValidTo = store.FactSuperseded, "fct_2", begin.Add(time.Second), time.Time{}
	off := true
	c := store.FactChange{Update: []store.Fact{first}, Mark: []string{"m1"}, Unmark: []string{"m2"}, Off: &off}
	if before := change(ann, c); !before.Marks["m2"] {
		t.Errorf("before the change: %v", before)
	}
	c = store.FactChange{Erase: []string{"fct_2", "fct_none"}}
	if before := change(ann, c); !before.Off || !before.Marks["m1"] || before.Marks["m2"] {
		t.Errorf("after the change: %v", before)
	}
	if got := s.memory(t, ann); !got.Off || !reflect.DeepEqual(got.Facts, []store.Fact{first}) {
		t.Errorf("stored %v", got)
	}
	if m := s.memory(t, bob); m.Off || m.Facts != nil {
		t.Errorf("another user has %v", m)
	}
	refused := errors.New("refused")
	err := s.ChangeMemory(t.Context(), bob, func(store.Memory) (store.FactChange, error) { return store.FactChange{}, refused })
	if !errors.Is(err, refused) {
		t.Errorf("a refused change: %v", err)
	}
	s.factsAtOnce(t, bob)
	if err := s.Purge(t.Context()); err != nil {
		t.Error(err)
	}
}

// memory reads the memory of a user.
func (s suite) memory(t *testing.T, o store.Owner) store.Memory {
	t.Helper()
	m, err := s.Memory(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// factsAtOnce has each of several changes see those before it.
func (s suite) factsAtOnce(t *testing.T, o store.Owner) {
	t.Helper()
	const writers = 8
	var all sync.WaitGroup
	for range writers {
		all.Go(func() {
			if err := s.ChangeMemory(t.Context(), o, func(m store.Memory) (store.FactChange, error) {
				return store.FactChange{Add: []store.Fact{{ID: "fct_" + strconv.Itoa(len(m.Facts)), State: store.FactActive, ValidFrom: begin}}}, nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if m, err := s.Memory(t.Context(), o); err != nil || len(m.Facts) != writers {
		t.Errorf("%d facts of %d, %v", len(m.Facts), writers, err)
	}
}
