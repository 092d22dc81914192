package gateway_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// FuzzRequest sends garbage: every request gets a response, and never an internal error.
func FuzzRequest(f *testing.F) {
	for _, s := range [][5]string{
		{"POST", "/v1/agents", "", `{"id":"a","strategy":"react"}`, ""},
		{"PATCH", "/v1/agents/a", "update_mask=model", `{"limits":{"max_steps":1},"labels":{"a":"b"}}`, ""},
		{"PATCH", "/v1/sources/a", "", `{"effects":{"x":"once"},"id":null}`, "k"},
		{"GET", "/v1/turns/t", "wait=3s", "", ""},
		{"POST", "/v1/sessions/s/turns", "", `{"content":[{"blob":{"data":"AA=="}},{"link":{}}]}`, "key"},
		{"POST", "/v1/tools/a:invoke", "", `{"arguments":{"a":[1,{"b":null}]}}`, "\x00"},
		{"GET", "/v1/turns/t/events", "after=1.2", "", ""},
		{"GET", "/v1/agents/%2F", "page_size[x]=1", "", ""},
		{"DELETE", "/v1//agents/..", "a=%zz;b", "[", ""},
		{"POST", "/v1/turns/:cancel", "", `{"reason":"\ud800"}`, ""},
	} {
		f.Add(s[0], s[1], s[2], s[3], s[4])
	}
	up := newUpstream(f)
	up.watch = func(_ *sessionsv1.WatchTurnRequest, ss watchStream) error { return ss.SendHeader(metadata.MD{}) }
	g, err := gateway.New(config.Default[gateway.Config](), depsOn(rpctest.ServeAs(f, "all", up.register, rpctest.WithPrincipal(nil))))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, method, path, query, body, key string) {
		// Parse as the server parses a request line: Go's client would refuse to send most of these.
		u, err := url.ParseRequestURI("/" + strings.TrimPrefix(path, "/") + "?" + query)
		if err != nil || !token(method) {
			t.Skip()
		}
		r := httptest.NewRequestWithContext(sameUser(t), method, "http://localhost/", strings.NewReader(body))
		r.URL, r.RemoteAddr, r.Host = u, "127.0.0.1:1", "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", key)
		w := &deadlineRecorder{httptest.NewRecorder()}
		g.Handler().ServeHTTP(w, r)
		if w.Code >= 500 && w.Code != http.StatusNotImplemented {
			t.Fatalf("%s %s %q: %d %s", method, u, body, w.Code, w.Body)
		}
	})
}

func token(s string) bool {
	return s != "" && strings.Trim(strings.ToUpper(s), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// deadlineRecorder accepts deadlines, as the writer of a real connection does.
type deadlineRecorder struct{ *httptest.ResponseRecorder }

func (deadlineRecorder) SetWriteDeadline(time.Time) error { return nil }

func (deadlineRecorder) SetReadDeadline(time.Time) error { return nil }
