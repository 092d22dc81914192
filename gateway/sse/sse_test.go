package sse_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/gateway/rest"
	"github.com/windlass-dev/windlass/gateway/sse"
	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testmain"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// HandleAccepted ignores the handler: nothing is accepted here.
func (a api) HandleAccepted(func(*http.Request) error, rest.Follower) {
}

func TestMain(m *testing.M) { testmain.Verify(m) }

// api is the API without requests.
type api struct{}

func (a api) Annotate(ctx context.Context, _ *http.Request, _ string) (context.Context, error) {
	return ctx, nil
}

// silent accepts a watcher and sends nothing, not even headers.
type silent struct {
	sessionsv1.UnimplementedTurnServiceServer
}

func (silent) WatchTurn(_ *sessionsv1.WatchTurnRequest, s grpc.ServerStreamingServer[sessionsv1.WatchTurnResponse]) error {
	<-s.Context().Done()
	return s.Context().Err()
}

func TestSessionsServiceDoesNotAnswer(t *testing.T) {
	ring, err := authn.NewKeyring(authn.NewKey())
	if err != nil {
		t.Fatal(err)
	}
	away, err := rpc.Dial(rpc.NewMemory(), "nobody", rpc.ClientConfig{Keyring: ring})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = away.Close() })
	for name, conn := range map[string]grpc.ClientConnInterface{
		"away":   away,
		"silent": rpctest.Serve(t, "sessions", func(s grpc.ServiceRegistrar) { sessionsv1.RegisterTurnServiceServer(s, silent{}) }),
	} {
		t.Run(name, func(t *testing.T) {
			cfg := sse.Config{Heartbeat: time.Second, WriteTimeout: time.Second, OpenTimeout: time.Millisecond}
			streams, err := sse.New(cfg, sse.Deps{
				API: api{}, Sessions: conn, Log: slog.New(slog.DiscardHandler),
				Open: func(context.Context, int64) { t.Error("a stream was opened") },
			})
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/turns/trn_1/events", nil)
			streams.Turn(w, r, map[string]string{"turn_id": "trn_1"})
			if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), `"code":"unavailable"`) {
				t.Errorf("got %d %s", w.Code, w.Body)
			}
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	good := sse.Deps{
		API: api{}, Sessions: &grpc.ClientConn{}, Log: slog.New(slog.DiscardHandler),
		Open: func(context.Context, int64) {},
	}
	if _, err := sse.New(sse.Config{}, good); err == nil {
		t.Error("no error without times")
	}
	if _, err := sse.New(sse.Config{Heartbeat: time.Second, WriteTimeout: time.Second}, sse.Deps{}); err == nil {
		t.Error("no error without dependencies")
	}
}
