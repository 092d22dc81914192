package builtin

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/services/registry/source"
)

func TestTools(t *testing.T) {
	tools := New(func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) }, nil, Knowledge{})
	run := func(tool string, args map[string]any) (string, bool, error) {
		out, found, err := tools.run(t.Context(), &source.Request{Tool: tool, Arguments: args})
		if len(out.GetContent()) == 0 {
			return "", found, err
		}
		return out.GetContent()[0].GetText(), found, err
	}
	for _, row := range []struct {
		name, zone, want, err string
	}{
		{"in UTC", "", "2026-11-20T12:00:00Z (Friday, UTC)", ""},
		{"in a zone", "Asia/Tokyo", "2026-11-20T21:00:00+09:00 (Friday, Asia/Tokyo)", ""},
		{"across midnight", "Pacific/Auckland", "2026-11-21T01:00:00+13:00 (Saturday, Pacific/Auckland)", ""},
		{"nowhere", "Mars/Base", "", `unknown time zone "Mars/Base": use an IANA name such as Europe/Oslo`},
		{"where the server is", "Local", "", `unknown time zone "Local": use an IANA name such as Europe/Oslo`},
		{"out of the tree", "../../etc/passwd", "", `unknown time zone "../../etc/passwd": use an IANA name such as Europe/Oslo`},
	} {
		args := map[string]any{}
		if row.zone != "" {
			args["time_zone"] = row.zone
		}
		got, found, err := run("current_time", args)
		if !found || got != row.want || (err == nil) != (row.err == "") || (err != nil && err.Error() != row.err) {
			t.Errorf("%s: %q, %t, %v", row.name, got, found, err)
		}
	}
	a, _, _ := run("uuid", nil)
	b, _, _ := run("uuid", nil)
	if len(a) != 36 || a == b {
		t.Errorf("uuid: %q, %q", a, b)
	}
	if _, found, err := run("none", nil); found || err != nil {
		t.Errorf("an unknown tool: %t, %v", found, err)
	}
	all, err := tools.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range all {
		if !json.Valid(tool.Raw) || !json.Valid(tool.InputSchema) {
			t.Errorf("%s: not JSON", tool.Name)
		}
	}
}
