package event

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

func TestDomainEventsAreLines(t *testing.T) {
	raw := json.RawMessage(`{"specversion":"1.0","id":"evt_1","source":"/windlass/registry","type":"dev.windlass.tool.called.v1",` +
		`"subject":"notes__add","time":"2026-01-02T15:04:05Z","datacontenttype":"application/json","future":1,` +
		`"data":{"tool":"notes__add","status":"done","is_error":false,"code":"","latency_ms":1.5,"x":true,"names":["a"]},"cursor":"r1.s1"}`)
	var text, asJSON strings.Builder
	if err := lines(&text, false)(raw); err != nil {
		t.Fatal(err)
	}
	if got := text.String(); !strings.HasSuffix(got, " dev.windlass.tool.called.v1 notes__add latency_ms=1.5 status=done x\n") {
		t.Errorf("text: %q", got)
	}
	if err := lines(&asJSON, true)(raw); err != nil || asJSON.String() != string(raw)+"\n" {
		t.Errorf("JSON: %q, %v", asJSON.String(), err)
	}
	if err := lines(&text, false)(json.RawMessage(`[]`)); err == nil {
		t.Error("no error for something else")
	}
}
