package mcpbridge_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/config"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/providerdata"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testmain"
	mcpbridgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/mcpbridge/v1"
	"github.com/windlass-dev/windlass/services/mcpbridge"
)

// TestMain runs this program as a stdio server, or as a client of the conformance suite, if a test asks for one.
func TestMain(m *testing.M) {
	if os.Getenv(driveEnv) != "" {
		os.Exit(drive())
	}
	if mode := os.Getenv("WINDLASS_TEST_STDIO"); mode != "" {
		serveStdio(mode)
		return
	}
	testmain.Verify(m)
}

// bridge is a bridge under test, called through its generated client.
type bridge struct {
	mcpbridgev1.BridgeServiceClient
	service *mcpbridge.Service
	log     *logged
}

// newBridge starts a bridge with quick reconnects. change may modify its settings.
func newBridge(t testing.TB, change ...func(*mcpbridge.Config)) *bridge {
	t.Helper()
	return newBridgeThrough(t, testEgress(t), change...)
}

// newBridgeThrough is newBridge with its own egress.
func newBridgeThrough(t testing.TB, out *egress.Egress, change ...func(*mcpbridge.Config)) *bridge {
	t.Helper()
	cfg := config.Default[mcpbridge.Config]()
	cfg.Programs, cfg.Limits.Memory = []string{"*"}, 0 // the race detector of the test servers maps terabytes
	// Starting a process can take long on a busy machine.
	cfg.ConnectTimeout, cfg.DiscoverTimeout = 2*time.Minute, 2*time.Minute
	cfg.ReconnectMin, cfg.ReconnectMax = cfg.ReconnectMin/50, cfg.ReconnectMax/100
	for _, f := range change {
		f(&cfg)
	}
	log := &logged{}
	svc, err := mcpbridge.New(cfg, mcpbridge.Deps{
		Egress: out, ProviderData: testSealer(t),
		Log: slog.New(slog.NewJSONHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		t.Fatal(err)
	}
	conn := rpctest.Serve(t, "mcpbridge", func(r grpc.ServiceRegistrar) { svc.Register(r) })
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- svc.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
		out.CloseIdle()
		if t.Failed() {
			t.Logf("log of the bridge:\n%s", log.text())
		}
	})
	return &bridge{mcpbridgev1.NewBridgeServiceClient(conn), svc, log}
}

func testEgress(t testing.TB) *egress.Egress {
	t.Helper()
	out, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func testSealer(t testing.TB) *providerdata.Sealer {
	t.Helper()
	s, err := providerdata.NewSealer(secret.New(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func testLog() *slog.Logger { return slog.New(slog.DiscardHandler) }

// discover lists a server's tools, which must succeed.
func (b *bridge) discover(t testing.TB, s *mcpbridgev1.Server) *mcpbridgev1.DiscoverResponse {
	t.Helper()
	res, err := b.Discover(t.Context(), &mcpbridgev1.DiscoverRequest{Server: s})
	if err != nil {
		t.Fatalf("discover: %v", err)
	}
	return res
}

// call runs a tool and returns its progress and result.
func (b *bridge) call(ctx context.Context, s *mcpbridgev1.Server, tool, arguments string) ([]*mcpbridgev1.Progress,
	*mcpbridgev1.CallToolResult, error,
) {
	stream, err := b.CallTool(ctx, &mcpbridgev1.CallToolRequest{Server: s, Tool: tool, ArgumentsJson: []byte(arguments)})
	if err != nil {
		return nil, nil, err
	}
	var progress []*mcpbridgev1.Progress
	var result *mcpbridgev1.CallToolResult
	for {
		msg, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return progress, result, nil
		}
		if err != nil {
			return progress, nil, err
		}
		if p := msg.GetProgress(); p != nil {
			progress = append(progress, p)
		}
		if r := msg.GetResult(); r != nil {
			result = r
		}
	}
}

// must is call for calls that must succeed.
func (b *bridge) must(t testing.TB, s *mcpbridgev1.Server, tool, arguments string) *mcpbridgev1.CallToolResult {
	t.Helper()
	_, res, err := b.call(t.Context(), s, tool, arguments)
	if err != nil {
		t.Fatalf("call %s: %v", tool, err)
	}
	return res
}

// ask runs a tool that may ask, with the answer to its last question.
func (b *bridge) ask(t testing.TB, s *mcpbridgev1.Server, tool, arguments string, a *mcpbridgev1.InputAnswer) (*mcpbridgev1.CallToolResult,
	*mcpbridgev1.InputRequired,
) {
	t.Helper()
	stream, err := b.CallTool(t.Context(), &mcpbridgev1.CallToolRequest{
		Server: s, Tool: tool, ArgumentsJson: []byte(arguments), CanAsk: true,
		Answer: a,
	})
	if err != nil {
		t.Fatal(err)
	}
	for {
		msg, err := stream.Recv()
		if err != nil {
			t.Fatalf("call %s: %v", tool, err)
		}
		if msg.GetResult() != nil || msg.GetInputRequired() != nil {
			return msg.GetResult(), msg.GetInputRequired()
		}
	}
}

// watch follows the bridge's events until the test ends.
func (b *bridge) watch(t testing.TB) func() *mcpbridgev1.WatchResponse {
	t.Helper()
	stream, err := b.Watch(t.Context(), &mcpbridgev1.WatchRequest{})
	if err != nil {
		t.Fatal(err)
	}
	return func() *mcpbridgev1.WatchResponse {
		t.Helper()
		e, err := stream.Recv()
		if err != nil {
			t.Fatalf("watch: %v", err)
		}
		return e
	}
}

// text returns the first text of a result.
func text(r *mcpbridgev1.CallToolResult) string {
	for _, p := range r.GetContent() {
		if s := p.GetText(); s != "" {
			return s
		}
		if s := p.GetResource().GetText(); s != "" {
			return s
		}
	}
	return ""
}

// serve serves HTTP until the test ends.
func serve(t testing.TB, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

// logged collects log lines.
type logged struct {
	mu  sync.Mutex
	all []byte
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, p...)
	return len(p), nil
}

func (l *logged) text() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.all)
}
