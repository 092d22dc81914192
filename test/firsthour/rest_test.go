package firsthour

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/test/harness"
)

// do sends a request as curl would.
func (u *user) do(t *testing.T, method, path, body string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, u.up.Client.Base+path, strings.NewReader(body))
	harness.Must(t, err)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	r, err := http.DefaultClient.Do(req)
	harness.Must(t, err)
	defer func() { _ = r.Body.Close() }()
	raw, err := io.ReadAll(r.Body)
	harness.Must(t, err)
	return r, string(raw)
}

func (u *user) rest(t *testing.T) {
	made, body := u.do(t, "POST", "/v1/sessions", `{"agent_id":"careful","labels":{"team":"first"}}`, "Idempotency-Key", "hour")
	path := made.Header.Get("Location")
	if made.StatusCode != http.StatusCreated || !strings.HasPrefix(path, "/v1/sessions/ses_") {
		t.Fatalf("a session is made with %d at %q: %s", made.StatusCode, path, body)
	}
	if _, again := u.do(t, "POST", "/v1/sessions", `{"agent_id":"careful","labels":{"team":"first"}}`, "Idempotency-Key", "hour"); again != body {
		t.Errorf("the same key gives another session: %s", again)
	}
	for _, r := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		want                     string
	}{
		{"HEAD", "HEAD", path, "", nil, 200, ""},
		{"a title", "PATCH", path, `{"title":"my first"}`, nil, 200, "my first"},
		{"another id in the body", "PATCH", path, `{"id":"ses_other","title":"x"}`, nil, 400, "ses_other"},
		{"a filter by label", "GET", "/v1/sessions?label=team%3Dfirst&page_size=100000", "", nil, 200, "my first"},
		{"a filter by status", "GET", "/v1/turns?status=failed", "", nil, 200, u.failed},
		{"an old revision", "PATCH", "/v1/agents/careful", `{"description":"x"}`, []string{"If-Match", `"999"`}, 412, "revision"},
		{"a turn", "POST", path + "/turns", `{"input":"say:` + spoken + `"}`, nil, 202, "queued"},
		{"no such agent", "POST", "/v1/sessions", `{"agent_id":"nobody"}`, nil, 404, "nobody"},
	} {
		t.Run(r.name, func(t *testing.T) {
			if got, text := u.do(t, r.method, r.path, r.body, r.headers...); got.StatusCode != r.status || !strings.Contains(text, r.want) {
				t.Errorf("%d %s", got.StatusCode, text)
			}
		})
	}
	u.compressed(t)
	u.events(t, path)
}

func (u *user) compressed(t *testing.T) {
	t.Helper()
	r, raw := u.do(t, "GET", "/openapi.json", "", "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("encoded as %q: %v", r.Header.Get("Content-Encoding"), err)
	}
	text, err := io.ReadAll(z)
	if harness.Must(t, err); !strings.Contains(string(text), `"openapi":"3.1`) && !strings.Contains(string(text), `"openapi": "3.1`) {
		t.Errorf("the description begins with %.80s", text)
	}
}

// events reads a session's events as a browser's onmessage does.
func (u *user) events(t *testing.T, path string) {
	t.Helper()
	address := u.up.Client.Base + path + "/events?event=message&types=turn.queued,turn.completed"
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	harness.Must(t, err)
	r, err := http.DefaultClient.Do(req)
	harness.Must(t, err)
	defer func() { _ = r.Body.Close() }()
	var types []string
	for lines := bufio.NewScanner(r.Body); len(types) < 2 && lines.Scan(); {
		if name, ok := strings.CutPrefix(lines.Text(), "event: "); ok && name != "message" {
			t.Errorf("an event is called %q", name)
		}
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			for _, name := range []string{"turn.queued", "turn.completed"} {
				if strings.Contains(data, fmt.Sprintf("%q", name)) {
					types = append(types, name)
				}
			}
		}
	}
	if fmt.Sprint(types) != "[turn.queued turn.completed]" {
		t.Errorf("the events are %q", types)
	}
}
