// Package testwant compares values in tests, and says which one is wrong.
package testwant

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/diff"
)

// Equal reports what as wrong unless got is what is wanted. Messages are compared with proto.Equal, other values deeply.
func Equal[T any](t testing.TB, what string, got, want T) {
	t.Helper()
	if text := wrong(got, want); text != "" {
		t.Errorf("%s%s", what, text)
	}
}

// Len stops the test unless what has so many elements, since what follows reads them.
func Len[S ~[]E, E any](t testing.TB, what string, got S, n int) {
	t.Helper()
	if len(got) != n {
		t.Fatalf("%s has %d elements, want %d: %s", what, len(got), n, render(got))
	}
}

// wrong says how a value differs from the wanted one, "" if it does not.
func wrong(got, want any) string {
	if m, ok := got.(proto.Message); ok {
		if w, ok := want.(proto.Message); ok && proto.Equal(m, w) {
			return ""
		}
	} else if reflect.DeepEqual(got, want) {
		return ""
	}
	g, w := render(got), render(want)
	if strings.Contains(g+w, "\n") {
		return ":\n" + lines(strings.Split(g, "\n"), strings.Split(w, "\n"))
	}
	return fmt.Sprintf(" = %s, want %s", g, w)
}

func render(v any) string {
	switch v := v.(type) {
	case proto.Message:
		return strings.TrimSpace(prototext.MarshalOptions{Multiline: true}.Format(v))
	case string, []byte, []string:
		return fmt.Sprintf("%q", v)
	}
	return fmt.Sprintf("%+v", v)
}

// lines lists the lines of a value, those that it should not have with "-" and those that it lacks with "+".
func lines(got, want []string) string {
	var out strings.Builder
	for _, row := range diff.Align(len(got), len(want), func(a, b int) bool { return got[a] == want[b] }) {
		switch {
		case row.B == diff.Only:
			fmt.Fprintf(&out, "- %s\n", got[row.A])
		case row.A == diff.Only:
			fmt.Fprintf(&out, "+ %s\n", want[row.B])
		default:
			fmt.Fprintf(&out, "  %s\n", got[row.A])
		}
	}
	return out.String()
}

// Must returns the value of a call that must not fail. It panics otherwise, since a call of two results leaves no room for the test.
func Must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
