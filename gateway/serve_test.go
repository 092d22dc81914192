package gateway_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/peercred"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
)

// server is a gateway on a real port, over fake roles with the real interceptors.
type server struct {
	t      testing.TB
	url    string
	up     *upstream
	client *http.Client
	g      *gateway.Gateway
}

func depsOn(conn grpc.ClientConnInterface) gateway.Deps {
	return gateway.Deps{
		Sessions: conn, Registry: conn, Policy: conn, Inference: conn, Knowledge: conn, Log: slog.New(slog.DiscardHandler),
		Authenticator: authn.NewAuthenticator(nil, []authn.PeerVerifier{authn.Loopback{}}), Authorizer: rpctest.AllowAll{},
	}
}

// sameUser is the context of a request whose connection belongs to our user.
func sameUser(t testing.TB) context.Context { return peercred.With(t.Context(), peercred.Same) }

// serve starts a gateway; change may be nil.
func serve(t testing.TB, change func(*gateway.Config, *gateway.Deps)) *server {
	t.Helper()
	up := newUpstream(t)
	conn := rpctest.ServeAs(t, "all", up.register, rpctest.WithPrincipal(nil))
	cfg, deps := config.Default[gateway.Config](), depsOn(conn)
	cfg.Hosts = []string{"*"} // TestHosts has none
	if change != nil {
		change(&cfg, &deps)
	}
	g, err := gateway.New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- g.Serve(l) }()
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := g.Stop(ctx); err != nil {
			t.Errorf("stop: %v", err)
		}
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return &server{t: t, url: "http://" + l.Addr().String(), up: up, g: g, client: &http.Client{
		Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answer is a response that was read completely.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) json(t testing.TB) map[string]any {
	t.Helper()
	var m map[string]any
	if err := json.Unmarshal(a.body, &m); err != nil {
		t.Fatalf("status %d, body %q: %v", a.status, a.body, err)
	}
	return m
}

func (a answer) problem(t testing.TB) fault.Problem {
	t.Helper()
	if ct := a.header.Get("Content-Type"); ct != fault.ProblemType {
		t.Fatalf("status %d has content type %q, want a problem; body %q", a.status, ct, a.body)
	}
	var p fault.Problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Fatalf("body %q: %v", a.body, err)
	}
	return p
}

// do sends a request; headers come in pairs. A body without a content type is sent as JSON.
func (s *server) do(method, path, body string, headers ...string) answer {
	s.t.Helper()
	var in io.Reader
	if body != "" {
		in = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, in)
	if err != nil {
		s.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
			continue
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	return s.send(req)
}

func (s *server) send(req *http.Request) answer {
	s.t.Helper()
	resp, err := s.client.Do(req)
	if err != nil {
		s.t.Fatalf("%s %s: %v", req.Method, req.URL, err)
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatalf("%s %s: read body: %v", req.Method, req.URL, err)
	}
	return answer{resp.StatusCode, resp.Header, out}
}
