package toolserver_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/examples/internal/toolserver"
)

func TestGuard(t *testing.T) {
	reader := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.WriteHeader(http.StatusTeapot) // the handler, not the guard, met the limit
		}
	})
	server := httptest.NewServer(toolserver.Guard(reader))
	defer server.Close()
	port := server.URL[strings.LastIndex(server.URL, ":"):]
	for _, tt := range []struct {
		name, host, origin string
		body               io.Reader
		want               int
	}{
		{name: "no browser", want: 200},
		{name: "localhost by name", host: "localhost" + port, want: 200},
		{name: "a page of this machine", origin: "http://localhost:3000", want: 200},
		{name: "a page of a site", origin: "https://evil.example", want: 403},
		{name: "a page of a site that looks local", origin: "http://localhost.evil.example", want: 403},
		{name: "a page without an address", origin: "null", want: 403},
		{name: "a site that points its name here", host: "evil.example" + port, want: 403},
		{name: "and sends its own origin", host: "evil.example" + port, origin: "http://evil.example" + port, want: 403},
		{name: "a body at the limit", body: strings.NewReader(strings.Repeat("x", toolserver.MaxBody)), want: 200},
		{name: "a body over the limit", body: strings.NewReader(strings.Repeat("x", toolserver.MaxBody+1)), want: 413},
		{name: "a body of unknown length over the limit", body: io.LimitReader(zeros{}, toolserver.MaxBody+1), want: 418},
	} {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, tt.body)
			if err != nil {
				t.Fatal(err)
			}
			if tt.host != "" {
				req.Host = tt.host
			}
			if tt.origin != "" {
				req.Header.Set("Origin", tt.origin)
			}
			resp, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if resp.StatusCode != tt.want {
				t.Errorf("status %d, want %d", resp.StatusCode, tt.want)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
