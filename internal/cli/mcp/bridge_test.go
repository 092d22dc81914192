package mcp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// server answers with what a test wants.
type server func(body string) (*http.Response, error)

func (s server) Send(_ context.Context, method, _ string, _ http.Header, body []byte) (*http.Response, error) {
	if method == http.MethodGet {
		return nil, errors.New("no stream")
	}
	return s(string(body))
}

func response(status int, mediaType, body string) (*http.Response, error) {
	return &http.Response{
		StatusCode: status, Header: http.Header{"Content-Type": {mediaType}}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// TestAnswersOfTheServer has a server answer in all ways. A client that asks always gets an answer, on one line.
func TestAnswersOfTheServer(t *testing.T) {
	const asked = `{"jsonrpc":"2.0","id":1,"method":"initialize"}`
	for name, row := range map[string]struct {
		in, want string
		answer   server
	}{
		"JSON": {asked, `{"jsonrpc":"2.0","id":1,"result":{}}`, func(string) (*http.Response, error) {
			return response(200, "application/json", "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}\n")
		}},
		"a stream": {asked, `{"jsonrpc":"2.0","id":1,"result":{}}`, func(string) (*http.Response, error) {
			return response(200, "text/event-stream", "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
		}},
		"unreachable": {asked, `"message":"no server"`, func(string) (*http.Response, error) { return nil, errors.New("no server") }},
		"a proxy": {asked, `status 502: bad gateway`, func(string) (*http.Response, error) {
			return response(502, "text/html", "bad gateway")
		}},
		"another error": {asked, `status 401`, func(string) (*http.Response, error) {
			return response(401, "application/problem+json", `{"code":"unauthenticated"}`)
		}},
		"no JSON from the client": {"nothing", `"code":-32700`, nil},
		"the new protocol":        {`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`, `"code":-32601`, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := serve(t.Context(), config{Server: row.answer, Path: "/mcp", In: strings.NewReader(row.in + "\n\n"), Out: &out})
			if err != nil || !strings.Contains(out.String(), row.want) || strings.Count(out.String(), "\n") != 1 {
				t.Errorf("got %q, %v", &out, err)
			}
		})
	}
}

func TestANotificationHasNoAnswer(t *testing.T) {
	var out bytes.Buffer
	in := strings.NewReader(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	broken := server(func(string) (*http.Response, error) { return nil, errors.New("no server") })
	if err := serve(t.Context(), config{Server: broken, Path: "/mcp", In: in, Out: &out}); err != nil || out.Len() > 0 {
		t.Errorf("got %q, %v", &out, err)
	}
}
