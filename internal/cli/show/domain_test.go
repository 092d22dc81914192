package show

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestDomainEventsAreLines(t *testing.T) {
	raw := json.RawMessage(`{"specversion":"1.0","id":"evt_1","source":"/windlass/registry","type":"dev.windlass.tool.called.v1",` +
		`"subject":"notes__add","time":"2026-01-02T15:04:05Z","datacontenttype":"application/json","future":1,` +
		`"data":{"tool":"notes__add","status":"done","is_error":false,"code":"","latency_ms":1.5,"x":true,"names":["a"]},"cursor":"r1.s1"}`)
	var text, lines strings.Builder
	if err := DomainEvents(&text, false)(raw); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); !strings.HasSuffix(got, " dev.windlass.tool.called.v1 notes__add latency_ms=1.5 status=done x\n") {
		t.Errorf("text: %q", got)
	}
	if err := DomainEvents(&lines, true)(raw); err != nil || lines.String() != string(raw)+"\n" {
		t.Errorf("JSON: %q, %v", lines.String(), err)
	}
	if err := DomainEvents(&text, false)(json.RawMessage(`[]`)); err == nil {
		t.Error("no error for something else")
	}
}

func TestWhen(t *testing.T) {
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	for text, want := range map[string]string{
		"2h": "2026-01-02T13:04:05Z", "-2h": "2026-01-02T13:04:05Z", "2026-01-02T15:04:05+01:00": "2026-01-02T15:04:05+01:00",
		"yesterday": "", "": "",
	} {
		if got, ok := When(text, now); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %t", text, got, ok)
		}
	}
}
