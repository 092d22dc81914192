package storetest

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/registry/store"
)

func (s suite) groups(t *testing.T) {
	group := func(tenant, name string) store.Group {
		return store.Group{Tenant: tenant, Name: name, CreateTime: begin, UpdateTime: begin, Spec: store.GroupSpec{
			Description: "é \"quoted\"", Selectors: []store.Selector{{Source: "git*"}}, Tools: []string{"a__b"}, Exclude: []string{"*__x"},
		}}
	}
	for _, g := range []store.Group{group("t1", "reading"), group("t1", "all"), group("t2", "reading")} {
		if err := s.CreateGroup(t.Context(), g); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.CreateGroup(t.Context(), group("t1", "all")); !errors.Is(err, store.ErrExists) {
		t.Errorf("a second one of the name: %v", err)
	}
	if got, err := s.Group(t.Context(), "t1", "reading"); err != nil || !reflect.DeepEqual(got, group("t1", "reading")) {
		t.Errorf("read: %+v, %v", got, err)
	}
	list, err := s.Groups(t.Context(), "t1", "", 9)
	if err != nil || len(list) != 2 || list[0].Name != "all" || list[1].Name != "reading" {
		t.Errorf("list: %+v, %v", list, err)
	}
	if rest, err := s.Groups(t.Context(), "t1", "all", 1); err != nil || len(rest) != 1 || rest[0].Name != "reading" {
		t.Errorf("second page: %+v, %v", rest, err)
	}
	no := errors.New("no")
	if _, err := s.UpdateGroup(t.Context(), "t1", "all", func(g *store.Group) error { g.Spec.Tools = nil; return no }); !errors.Is(err, no) {
		t.Errorf("a change that was refused: %v", err)
	}
	later := begin.Add(time.Hour)
	changed, err := s.UpdateGroup(t.Context(), "t1", "all", func(g *store.Group) error {
		g.Spec.Tools, g.UpdateTime = append(g.Spec.Tools, "c__d"), later
		return nil
	})
	if got, e := s.Group(t.Context(), "t1", "all"); err != nil || e != nil || !reflect.DeepEqual(got, changed) || len(got.Spec.Tools) != 2 ||
		!got.UpdateTime.Equal(later) {
		t.Errorf("changed: %+v, %v, %v", got, err, e)
	}
	if err := s.DeleteGroup(t.Context(), "t1", "reading"); err != nil {
		t.Fatal(err)
	}
	for what, err := range map[string]error{
		"deleted": s.DeleteGroup(t.Context(), "t1", "reading"),
		"read":    second(s.Group(t.Context(), "t1", "reading")),
		"changed": second(s.UpdateGroup(t.Context(), "t1", "reading", func(*store.Group) error { return nil })),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s after it is gone: %v", what, err)
		}
	}
	if _, err := s.Group(t.Context(), "t2", "reading"); err != nil {
		t.Errorf("that of the other tenant: %v", err)
	}
}

func second(_ store.Group, err error) error { return err }
