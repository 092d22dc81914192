package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/windlass-dev/windlass/libs/backoff"
	"github.com/windlass-dev/windlass/libs/sse"
)

// maxMessage limits a message in bytes, in both directions.
const maxMessage = 64 << 20

// sender sends requests to the server.
type sender interface {
	// Send makes a request with the given header and body; nil sends none.
	Send(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error)
}

// config is what a bridge needs. All fields but AgentSession are required.
type config struct {
	// Server reaches the server, Path is that of the endpoint.
	Server sender
	Path   string
	// In and Out are the client: a message on each line.
	In  io.Reader
	Out io.Writer
	// AgentSession is the id of the session that the client belongs to; empty = none.
	AgentSession string
}

// bridge is one conversation.
type bridge struct {
	config
	writing sync.Mutex

	mu      sync.Mutex
	header  http.Header
	running sync.WaitGroup
}

// envelope is what the bridge reads of a message.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
}

// serve passes messages on until the client ends its output or ctx ends. Requests in progress are then cancelled.
func serve(ctx context.Context, cfg config) error {
	ctx, cancel := context.WithCancel(ctx)
	b := &bridge{config: cfg, header: http.Header{"Accept": {"application/json, text/event-stream"}}}
	if cfg.AgentSession != "" {
		b.header.Set("X-Agent-Session-Id", cfg.AgentSession)
	}
	defer b.running.Wait()
	defer cancel()
	lines := bufio.NewScanner(cfg.In)
	lines.Buffer(nil, maxMessage)
	for lines.Scan() {
		message := bytes.Clone(bytes.TrimSpace(lines.Bytes()))
		if len(message) > 0 && ctx.Err() == nil {
			b.receive(ctx, message)
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read from the client: %w", err)
	}
	return nil
}

// receive handles a message of the client. The handshake is waited for; everything else goes on at the same time.
func (b *bridge) receive(ctx context.Context, message []byte) {
	var e envelope
	switch err := json.Unmarshal(message, &e); {
	case err != nil:
		b.fail(nil, -32700, "the message is no JSON-RPC message")
	case e.Method == "server/discover": // the bridge has a session, which is the older form of the protocol
		b.fail(e.ID, -32601, `there is no method "server/discover" over stdio; use initialize`)
	case e.Method == "initialize":
		b.pass(ctx, e, message)
	default:
		b.running.Go(func() { b.pass(ctx, e, message) })
		if e.Method == "notifications/initialized" {
			b.running.Go(func() { b.listen(ctx) })
		}
	}
}

// headers returns those of the next request.
func (b *bridge) headers() http.Header {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.header.Clone()
}

// pass sends a message to the server, and the answers to the client.
func (b *bridge) pass(ctx context.Context, e envelope, message []byte) {
	res, err := b.Server.Send(ctx, http.MethodPost, b.Path, b.headers(), message)
	if err != nil {
		b.fail(e.ID, -32603, err.Error())
		return
	}
	defer func() { _ = res.Body.Close() }() // read to its end, or of no more use
	if id := res.Header.Get("Mcp-Session-Id"); id != "" {
		b.mu.Lock()
		b.header.Set("Mcp-Session-Id", id)
		b.mu.Unlock()
	}
	if err := b.answer(res); err != nil && ctx.Err() == nil {
		b.fail(e.ID, -32603, err.Error())
	}
}

// answer passes the messages of a response on.
func (b *bridge) answer(res *http.Response) error {
	if strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		events := sse.NewReader(res.Body, sse.Config{MaxEvent: maxMessage})
		for {
			event, err := events.Next()
			if errors.Is(err, io.EOF) {
				return nil
			}
			if err != nil {
				return fmt.Errorf("the stream of the server broke: %w", err)
			}
			b.write(event.Data)
		}
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, maxMessage))
	switch {
	case err != nil:
		return fmt.Errorf("the answer of the server broke off: %w", err)
	case len(bytes.TrimSpace(body)) == 0:
		return nil
	case !json.Valid(body) || !bytes.Contains(body, []byte(`"jsonrpc"`)):
		return fmt.Errorf("the server answered with status %d: %.500s", res.StatusCode, body)
	}
	b.write(body)
	return nil
}

// listen passes on what the server notifies of, until ctx ends.
func (b *bridge) listen(ctx context.Context) {
	for pauses := (backoff.Policy{First: time.Second, Max: 30 * time.Second}).Start(); ; {
		res, err := b.Server.Send(ctx, http.MethodGet, b.Path, b.headers(), nil)
		if err == nil {
			if res.StatusCode == http.StatusOK {
				pauses.Reset()
				_ = b.answer(res) // it is opened again however it ends
			}
			_ = res.Body.Close() // a stream, or of no use
		}
		if pauses.Wait(ctx) != nil {
			return
		}
	}
}

// fail answers a request with an error. A notification gets none.
func (b *bridge) fail(id json.RawMessage, code int, message string) {
	if id == nil && code != -32700 {
		return
	}
	if id == nil {
		id = json.RawMessage("null")
	}
	text, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": id, "error": map[string]any{"code": code, "message": message},
	})
	if err == nil {
		b.write(text)
	}
}

// write writes a message to the client, on one line.
func (b *bridge) write(message []byte) {
	var line bytes.Buffer
	if json.Compact(&line, message) != nil {
		return
	}
	line.WriteByte('\n')
	b.writing.Lock()
	defer b.writing.Unlock()
	_, _ = b.Out.Write(line.Bytes()) // a client that is gone ends its output too
}
