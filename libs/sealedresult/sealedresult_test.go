package sealedresult_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/libs/sealedresult"
	"github.com/windlass-dev/windlass/libs/secret"
)

func TestResultsAreSealed(t *testing.T) {
	s, err := sealedresult.New(secret.New(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	stored := s.Seal([]byte("the number is 4711"), "exe_1")
	if !sealedresult.Is(stored) || strings.Contains(string(stored), "4711") {
		t.Errorf("stored %q", stored)
	}
	if got, err := s.Open(stored, "exe_1"); err != nil || string(got) != "the number is 4711" {
		t.Errorf("opened %q, %v", got, err)
	}
	if got, err := s.Open([]byte("\x0aplain"), "exe_1"); err != nil || string(got) != "\x0aplain" || sealedresult.Is(got) {
		t.Errorf("one that is not sealed: %q, %v", got, err)
	}
	var none *sealedresult.Sealer
	for name, open := range map[string]func() ([]byte, error){
		"of another execution": func() ([]byte, error) { return s.Open(stored, "exe_2") },
		"without a key":        func() ([]byte, error) { return none.Open(stored, "exe_1") },
		"stored without a key": func() ([]byte, error) { return s.Open(none.Seal([]byte("x"), "exe_1"), "exe_1") },
	} {
		if got, err := open(); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := sealedresult.New(secret.New("short")); err == nil {
		t.Error("a short key is taken")
	}
	md, _ := metadata.FromOutgoingContext(sealedresult.Ask(t.Context()))
	if sealedresult.Asked(t.Context()) || !sealedresult.Asked(metadata.NewIncomingContext(t.Context(), md)) {
		t.Error("what a call asks for does not arrive")
	}
}
