package provider_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/inference/provider"
)

func TestPiecesThatComeTogetherAreOne(t *testing.T) {
	var got []string
	b := provider.NewBatch(func(d provider.Delta) error {
		kind := "-"
		switch {
		case d.Call != nil:
			kind = "call"
		case d.Reasoning != "":
			kind = "thinks " + d.Reasoning
		case d.Text != "":
			kind = "says " + d.Text
		}
		got = append(got, kind)
		return nil
	})
	for _, d := range []provider.Delta{
		{}, {Reasoning: "a"}, {Reasoning: "b"}, {}, {Text: "c"}, {Text: "d"}, {Call: &provider.CallDelta{}}, {Text: "e"},
	} {
		if err := b.Emit(d); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(b.Flush(), b.Flush()); err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(got, "|"); text != "-|thinks ab|says cd|call|says e" {
		t.Error(text)
	}
	for range 3 {
		_ = b.Emit(provider.Delta{Text: strings.Repeat("x", 3000)})
	}
	if n := len(got[len(got)-1]); n != 6005 {
		t.Errorf("passed on %d bytes at once", n)
	}
}
