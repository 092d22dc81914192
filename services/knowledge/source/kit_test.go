package source_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// visitor records what a source has, and gives its validators at the next reading.
type visitor struct {
	found      map[string]source.Item
	same       []string
	failed     map[string]string
	total      int
	validators map[string]string
	err        error
}

func (v *visitor) Total(n int)                 { v.total = n }
func (v *visitor) Validator(key string) string { return v.validators[key] }

func (v *visitor) Same(_ context.Context, key string) error {
	v.same = append(v.same, key)
	return v.err
}

func (v *visitor) Found(_ context.Context, item source.Item) error {
	v.found[item.Key] = item
	return v.err
}

func (v *visitor) Failed(_ context.Context, key, problem string) error {
	v.failed[key] = problem
	return v.err
}

// next returns a visitor that has the validators of what v has found.
func (v *visitor) next() *visitor {
	out := newVisitor()
	for key, item := range v.found {
		out.validators[key] = item.Validator
	}
	return out
}

func newVisitor() *visitor {
	return &visitor{found: map[string]source.Item{}, failed: map[string]string{}, validators: map[string]string{}}
}

// read reads a source, which must succeed.
func read(t *testing.T, kind source.Kind, spec store.SourceSpec, v *visitor) *visitor {
	t.Helper()
	if err := kind.Read(t.Context(), spec, v); err != nil {
		t.Fatal(err)
	}
	return v
}

// unreadable reads a source, which must fail with a reason.
func unreadable(t *testing.T, kind source.Kind, spec store.SourceSpec, reason string) {
	t.Helper()
	err := kind.Read(t.Context(), spec, newVisitor())
	if got, ok := errors.AsType[*source.UnreadableError](err); !ok || !strings.Contains(got.Reason, reason) {
		t.Errorf("read with %v, want the reason %q", err, reason)
	}
}
