package gateway_test

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/windlass-dev/windlass/gateway"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/authn/bearertest"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// held is an MCP server with one stream, which lasts as long as the caller's credentials.
type held struct{ ended chan struct{} }

func (h held) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ctx, release := authn.Hold(r.Context())
	defer release()
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
	<-ctx.Done()
	close(h.ended)
}

func (held) Drain() {}

// A stream ends when the token does with which it was opened, and goes on with the next token where it ended.
func TestStreamsDoNotOutliveTheirTokens(t *testing.T) {
	idp := bearertest.New(t)
	var later atomic.Int64 // how far the clock of the verifier is ahead
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	v, err := bearer.New([]bearer.Issuer{idp.Config()}, bearer.Deps{
		Client: &http.Client{Timeout: 5 * time.Second, Transport: transport}, Log: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Now().Add(time.Duration(later.Load())) },
	})
	if err != nil {
		t.Fatal(err)
	}
	mcp := held{make(chan struct{})}
	s := serve(t, func(c *gateway.Config, d *gateway.Deps) {
		c.URL, c.Recheck = "", time.Millisecond
		d.Authenticator, d.MCP = authn.NewAuthenticator([]authn.TokenVerifier{v}, []authn.PeerVerifier{authn.Loopback{}}), mcp
	})
	s.up.watch = func(r *sessionsv1.WatchTurnRequest, w watchStream) error {
		if err := w.SendHeader(metadata.MD{}); err != nil {
			return err
		}
		for seq := uint32(1); seq < 3; seq++ {
			cursor := string(rune('0' + seq))
			if r.GetAfter() >= cursor {
				continue
			}
			if err := w.Send(event(seq, "turn.queued", cursor, nil)); err != nil || seq == 1 {
				<-w.Context().Done()
				return w.Context().Err()
			}
		}
		return nil
	}
	token := func() string { return "Bearer " + idp.Token("alice") }
	old := token()
	local := s.open("/v1/turns/trn_1/events")
	stream := s.open("/v1/turns/trn_1/events", "Authorization", old)
	listening := s.open("/mcp", "Authorization", old, "Accept", "text/event-stream") // and so it is not compressed
	stream.must()                                                                    // retry
	if f := stream.must(); f.id != "1" {
		t.Fatalf("the first event is %+v", f)
	}
	later.Store(int64(11 * time.Minute))
	f := stream.must()
	if f.event != "error-status" || !strings.Contains(f.data, `"code":"unauthenticated"`) || f.id != "" {
		t.Errorf("at the end comes %+v", f)
	}
	if _, more := stream.next(); more {
		t.Error("the stream goes on")
	}
	<-mcp.ended
	if _, err := io.Copy(io.Discard, listening.resp.Body); err != nil {
		t.Error(err)
	}
	if a := s.do("GET", "/v1/turns/trn_1/events", "", "Authorization", old, "Last-Event-ID", "1"); a.status != http.StatusUnauthorized {
		t.Errorf("with the old token: %d", a.status)
	}
	later.Store(0) // the issuer's clock goes on, so that it issues a token that is valid now
	again := s.open("/v1/turns/trn_1/events", "Authorization", token(), "Last-Event-ID", "1")
	again.must()
	if f := again.must(); f.id != "2" {
		t.Errorf("with a new token comes %+v", f)
	}
	if local.must(); local.must().id != "1" { // a caller on this machine has no token that expires
		t.Error("another stream has ended")
	}
}

// A stream ends when the token with which it was opened is revoked, whether it is a JWT or not.
func TestStreamsEndWhenTheirTokensAreRevoked(t *testing.T) {
	idp := bearertest.New(t)
	cfg := idp.Config()
	cfg.Introspection = idp.Introspection()
	cfg.Introspection.MaxAge = time.Second
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	v, err := bearer.New([]bearer.Issuer{cfg}, bearer.Deps{
		Client: &http.Client{Timeout: 5 * time.Second, Transport: transport}, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, func(c *gateway.Config, d *gateway.Deps) {
		d.Authenticator = authn.NewAuthenticator([]authn.TokenVerifier{v, v.Opaque()}, nil)
	})
	s.up.watch = func(_ *sessionsv1.WatchTurnRequest, w watchStream) error {
		if err := w.Send(event(1, "turn.queued", "1", nil)); err != nil {
			return err
		}
		<-w.Context().Done()
		return w.Context().Err()
	}
	for name, token := range map[string]string{"a JWT": idp.Token("alice"), "an opaque token": idp.Opaque("alice")} {
		stream := s.open("/v1/turns/trn_1/events", "Authorization", "Bearer "+token)
		stream.must() // retry
		if f := stream.must(); f.id != "1" {
			t.Fatalf("%s: the first event is %+v", name, f)
		}
		idp.Revoke(token)
		if f := stream.must(); f.event != "error-status" || !strings.Contains(f.data, `"code":"unauthenticated"`) {
			t.Errorf("%s: at the end comes %+v", name, f)
		}
		if a := s.do("GET", "/v1/turns/trn_1/events", "", "Authorization", "Bearer "+token); a.status != http.StatusUnauthorized {
			t.Errorf("%s: after it was revoked: %d", name, a.status)
		}
	}
}
