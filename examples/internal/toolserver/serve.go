package toolserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

const (
	stdioWorkers  = 64 // mcp-go's 5 would let five waiting calls block all others
	sessionIdle   = time.Hour
	stopPatience  = 3 * time.Second
	headerTimeout = 5 * time.Second
)

// Main serves s until its client disconnects or the process is stopped, and exits with 1 on failure. An empty httpAddr means stdio; options
// are for HTTP only.
func Main(s *server.MCPServer, httpAddr string, options ...server.StreamableHTTPOption) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := Serve(ctx, s, httpAddr, os.Stdin, os.Stdout, options...)
	stop()
	if err != nil {
		Fail(err)
	}
}

// Fail reports an error on stderr and ends the process: stdout belongs to the protocol.
func Fail(err error) {
	fmt.Fprintln(os.Stderr, "error:", err)
	os.Exit(1)
}

// Serve is Main with its dependencies passed in. It returns nil when ctx ends.
func Serve(ctx context.Context, s *server.MCPServer, httpAddr string, in io.Reader, out io.Writer,
	options ...server.StreamableHTTPOption,
) error {
	if httpAddr != "" {
		return serveHTTP(ctx, s, httpAddr, out, options)
	}
	stdio := server.NewStdioServer(s)
	stdio.SetErrorLogger(log.New(os.Stderr, "", 0))
	server.WithWorkerPoolSize(stdioWorkers)(stdio)
	written := &lines{Writer: out}
	stdio.SetContextFunc(written.in)
	if err := stdio.Listen(ctx, in, written); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("serve stdio: %w", err)
	}
	return nil
}

// serveHTTP listens, prints the ready line with the actual address and serves until ctx ends.
func serveHTTP(ctx context.Context, s *server.MCPServer, addr string, out io.Writer, options []server.StreamableHTTPOption) error {
	lis, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	// Stateful, because list_changed and progress of the sessions of different clients must not mix.
	options = append([]server.StreamableHTTPOption{server.WithStateful(true), server.WithSessionIdleTTL(sessionIdle)}, options...)
	endpoint := server.NewStreamableHTTPServer(s, options...)
	mux := http.NewServeMux()
	mux.Handle("/mcp", counted(endpoint))

	// Requests end with ctx: an open event stream would otherwise delay the shutdown.
	httpServer := &http.Server{
		Handler:           Guard(mux),
		ReadHeaderTimeout: headerTimeout,
		BaseContext:       func(net.Listener) context.Context { return ctx },
	}
	served := make(chan error, 1)
	go func() { served <- httpServer.Serve(lis) }()

	ready := map[string]any{"ready": true, "url": "http://" + lis.Addr().String() + "/mcp"}
	if err := json.NewEncoder(out).Encode(ready); err != nil {
		return errors.Join(fmt.Errorf("print the ready line: %w", err), httpServer.Close())
	}
	select {
	case err := <-served:
		return fmt.Errorf("serve http: %w", err)
	case <-ctx.Done():
	}
	stopCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	err = errors.Join(endpoint.Shutdown(stopCtx), httpServer.Shutdown(stopCtx))
	if errors.Is(err, context.DeadlineExceeded) { // a connection that never sent a request is waited for longer
		err = httpServer.Close()
	}
	if err != nil {
		return fmt.Errorf("stop http: %w", err)
	}
	return nil
}
