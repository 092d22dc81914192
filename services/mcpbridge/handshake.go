package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/outbound"
)

// era is the form of the protocol that a server speaks.
type era int

const (
	unknownEra era = iota
	legacyEra      // sessions, up to 2025-11-25
	modernEra      // stateless, from 2026-07-28
)

// serverInfo is what a server says about itself.
type serverInfo struct {
	name, version, instructions string
	listChanged                 bool // it reports changes of its tools
	resourcesChange             bool // of its list of resources
	promptsChange               bool // of its list of prompts
	logging                     bool // it takes logging/setLevel
}

// errEndedInProbe means that the server exited when it was probed for its era.
var errEndedInProbe = errors.New("the server ended when it was asked for its protocol")

// errNoInitialize means that the server rejects the old handshake.
var errNoInitialize = errors.New("initialize")

func clientInfo() mcp.Implementation { return mcp.Implementation{Name: "windlass", Version: "1"} }

// handshake determines the era and prepares the connection.
func (c *connection) handshake(ctx context.Context, known era, probe time.Duration) error {
	c.wire.SetNotificationHandler(c.notified)
	if t, ok := c.wire.(transport.BidirectionalInterface); ok {
		t.SetRequestHandler(c.answerServer)
	}
	startCtx := c.ctx
	if c.spec.kind == overSSE {
		startCtx = withExchange(startCtx, &exchange{})
	}
	if err := c.wire.Start(startCtx); err != nil {
		if x := exchangeOf(startCtx); x != nil && x.facts().status >= 400 {
			f := x.facts()
			text := outbound.Refusal(f.status, f.scopes)
			return &sendError{fate: unknownFate, status: f.status, scopes: f.scopes, retryAfter: f.retryAfter, text: text}
		}
		return err
	}
	if known == legacyEra || c.spec.kind == overSSE { // SSE is a transport of the old era
		return c.initialize(ctx)
	}
	if known == modernEra {
		probe = c.spec.connectTimeout
	}
	failed := c.discover(ctx, probe)
	if failed == nil {
		c.listen()
		return nil
	}
	if c.hopeless(ctx, failed) {
		return failed
	}
	if !c.alive() {
		return fmt.Errorf("%w: %w", errEndedInProbe, c.lost())
	}
	err := c.initialize(ctx)
	if err == nil || !errors.Is(failed, context.DeadlineExceeded) {
		return err
	}
	// The server was slow and only speaks the new era.
	if c.discover(ctx, c.spec.connectTimeout) == nil {
		c.listen()
		return nil
	}
	return err
}

// hopeless reports whether the next request would fail in the same way.
func (c *connection) hopeless(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	sent, ok := errors.AsType[*sendError](err)
	return ok && c.spec.kind != overStdio && (sent.status == 0 && sent.fate == notSent || sent.status == 401 || sent.status == 429 ||
		sent.redirected)
}

// discover makes the handshake of the new era.
func (c *connection) discover(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	version := mcp.LATEST_PROTOCOL_VERSION
	for range 2 {
		c.setVersion(version)
		a, err := c.request(ctx, c.nextID.Add(1), mcp.MethodServerDiscover, nil)
		if err != nil {
			c.setVersion("")
			if ctx.Err() != nil {
				return fmt.Errorf("no answer to server/discover: %w", context.DeadlineExceeded)
			}
			return err
		}
		if a.failure == nil {
			return c.discovered(a.result)
		}
		// A server that refuses a revision and names the same one as supported is asked again: another instance may have answered.
		other := mcp.NegotiateMutuallySupportedVersion(supported(a.failure))
		if !mcp.IsModernProtocol(other) {
			c.setVersion("")
			return fmt.Errorf("server/discover: %s", a.failure.Message)
		}
		version = other
	}
	c.setVersion("")
	return errors.New("server/discover: no common protocol revision")
}

func (c *connection) discovered(result json.RawMessage) error {
	var d struct {
		Versions     []string     `json:"supportedVersions"`
		Capabilities capabilities `json:"capabilities"`
		Instructions string       `json:"instructions"`
		Meta         struct {
			Server mcp.Implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(result, &d); err != nil || !slices.Contains(d.Versions, c.version) {
		c.setVersion("")
		return errors.New("server/discover: the answer does not name the protocol revision that was asked for")
	}
	c.server = d.Capabilities.info(d.Meta.Server, d.Instructions)
	return nil
}

// capabilities are the ones that we use.
type capabilities struct {
	Tools     offer           `json:"tools"`
	Resources offer           `json:"resources"`
	Prompts   offer           `json:"prompts"`
	Logging   json.RawMessage `json:"logging"`
}

// offer is something that a server lists.
type offer struct {
	ListChanged bool `json:"listChanged"`
}

func (c capabilities) info(server mcp.Implementation, instructions string) serverInfo {
	return serverInfo{
		name: server.Name, version: server.Version, instructions: instructions, listChanged: c.Tools.ListChanged,
		resourcesChange: c.Resources.ListChanged, promptsChange: c.Prompts.ListChanged,
	}
}

// supported returns the revisions listed in an error -32022.
func supported(e *mcp.JSONRPCErrorDetails) []string {
	if e.Code != mcp.UNSUPPORTED_PROTOCOL_VERSION {
		return nil
	}
	var data mcp.UnsupportedProtocolVersionData
	text, err := json.Marshal(e.Data)
	if err != nil || json.Unmarshal(text, &data) != nil {
		return nil
	}
	return data.Supported
}

// initialize opens a session in the old era. It does not declare roots, which would replace the folders that a file server was configured
// with. Over SSE it does not declare elicitation or sampling either, since the library cannot answer there.
func (c *connection) initialize(ctx context.Context) error {
	c.setVersion("")
	able := elicitation()
	if slices.Contains(c.spec.clientRequests, "sampling") {
		able["sampling"] = struct{}{}
	}
	if c.spec.kind == overSSE {
		able = map[string]any{}
	}
	a, err := c.request(ctx, c.nextID.Add(1), mcp.MethodInitialize, map[string]any{
		"protocolVersion": mcp.LATEST_LEGACY_PROTOCOL_VERSION, "clientInfo": clientInfo(), "capabilities": able,
	})
	if err != nil {
		return err
	}
	if a.failure != nil {
		return fmt.Errorf("%w: the server answered: %s", errNoInitialize, a.failure.Message)
	}
	var r struct {
		Version      string             `json:"protocolVersion"`
		Capabilities capabilities       `json:"capabilities"`
		Server       mcp.Implementation `json:"serverInfo"`
		Instructions string             `json:"instructions"`
	}
	if err := json.Unmarshal(a.result, &r); err != nil {
		return errors.New("initialize: the server's answer is no MCP")
	}
	if !mcp.IsValidProtocolVersion(r.Version) || mcp.IsModernProtocol(r.Version) {
		return fmt.Errorf("initialize: the server speaks protocol revision %q, which this version does not", r.Version)
	}
	c.setVersion(r.Version)
	c.server = r.Capabilities.info(r.Server, r.Instructions)
	c.server.logging = len(r.Capabilities.Logging) > 0
	if err := c.notify(ctx, mcp.MethodNotificationInitialized, nil); err != nil {
		return fmt.Errorf("initialized: %w", err)
	}
	return nil
}
