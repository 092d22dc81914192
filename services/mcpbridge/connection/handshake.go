package connection

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/windlass-dev/windlass/services/mcpbridge/server"
	"github.com/windlass-dev/windlass/services/mcpbridge/wire"
)

// Era is the form of the protocol that a server speaks.
type Era int

// The eras.
const (
	UnknownEra Era = iota
	LegacyEra      // sessions, up to 2025-11-25
	ModernEra      // stateless, from 2026-07-28
)

// Info is what a server says about itself.
type Info struct {
	Name, Version, Instructions string
	// ListChanged means that it reports changes of its tools.
	ListChanged bool

	resourcesChange bool // it reports changes of its list of resources
	promptsChange   bool // of its list of prompts
	logging         bool // it takes logging/setLevel
}

// errEndedInProbe means that the server exited when it was probed for its era.
var errEndedInProbe = errors.New("the server ended when it was asked for its protocol")

// errNoInitialize means that the server rejects the old handshake.
var errNoInitialize = wire.Useless("initialize")

// handshake makes a connection ready.
type handshake struct{ *Connection }

// run determines the era and prepares the connection. known is the server's last known era.
func (h handshake) run(ctx context.Context, known Era, probe time.Duration) error {
	h.wire.Transport.SetNotificationHandler(h.notified)
	if t, ok := h.wire.Transport.(transport.BidirectionalInterface); ok {
		t.SetRequestHandler(h.questions.Serve)
	}
	if err := h.wire.Start(h.ctx); err != nil {
		return err
	}
	if known == LegacyEra || h.spec.Kind == server.SSE { // SSE is a transport of the old era
		return h.initialize(ctx)
	}
	if known == ModernEra {
		probe = h.spec.ConnectTimeout
	}
	failed := h.discover(ctx, probe)
	if failed == nil {
		h.listen()
		return nil
	}
	if h.hopeless(ctx, failed) {
		return failed
	}
	if !h.Alive() {
		return fmt.Errorf("%w: %w", errEndedInProbe, h.Lost())
	}
	err := h.initialize(ctx)
	if err == nil || !errors.Is(failed, context.DeadlineExceeded) {
		return err
	}
	// The server was slow and only speaks the new era.
	if h.discover(ctx, h.spec.ConnectTimeout) == nil {
		h.listen()
		return nil
	}
	return err
}

// hopeless reports whether the next request would fail in the same way.
func (h handshake) hopeless(ctx context.Context, err error) bool {
	if ctx.Err() != nil {
		return true
	}
	sent, ok := errors.AsType[*wire.Error](err)
	return ok && h.spec.Kind != server.Stdio && sent.Hopeless()
}

// discover makes the handshake of the new era.
func (h handshake) discover(ctx context.Context, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	version := mcp.LATEST_PROTOCOL_VERSION
	for range 2 {
		h.wire.SetVersion(version)
		a, err := h.request(ctx, mcp.MethodServerDiscover, nil)
		if err != nil {
			h.wire.SetVersion("")
			if ctx.Err() != nil {
				return fmt.Errorf("no answer to server/discover: %w", context.DeadlineExceeded)
			}
			return err
		}
		if a.Failure == nil {
			return h.discovered(a.Result)
		}
		// A server that refuses a revision and names the same one as supported is asked again: another instance may have answered.
		other := mcp.NegotiateMutuallySupportedVersion(supported(a.Failure))
		if !mcp.IsModernProtocol(other) {
			h.wire.SetVersion("")
			return fmt.Errorf("server/discover: %s", a.Failure.Message)
		}
		version = other
	}
	h.wire.SetVersion("")
	return errors.New("server/discover: no common protocol revision")
}

func (h handshake) discovered(result json.RawMessage) error {
	var d struct {
		Versions     []string     `json:"supportedVersions"`
		Capabilities capabilities `json:"capabilities"`
		Instructions string       `json:"instructions"`
		Meta         struct {
			Server mcp.Implementation `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	if err := json.Unmarshal(result, &d); err != nil || !slices.Contains(d.Versions, h.wire.Version()) {
		h.wire.SetVersion("")
		return errors.New("server/discover: the answer does not name the protocol revision that was asked for")
	}
	h.info = d.Capabilities.info(d.Meta.Server, d.Instructions)
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

func (c capabilities) info(about mcp.Implementation, instructions string) Info {
	return Info{
		Name: about.Name, Version: about.Version, Instructions: instructions, ListChanged: c.Tools.ListChanged,
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
func (h handshake) initialize(ctx context.Context) error {
	h.wire.SetVersion("")
	able := wire.Elicitation()
	if slices.Contains(h.spec.ClientRequests, "sampling") {
		able["sampling"] = struct{}{}
	}
	if h.spec.Kind == server.SSE {
		able = map[string]any{}
	}
	a, err := h.request(ctx, mcp.MethodInitialize, map[string]any{
		"protocolVersion": mcp.LATEST_LEGACY_PROTOCOL_VERSION, "clientInfo": wire.Client(), "capabilities": able,
	})
	if err != nil {
		return err
	}
	if a.Failure != nil {
		return fmt.Errorf("%w: the server answered: %s", errNoInitialize, a.Failure.Message)
	}
	var r struct {
		Version      string             `json:"protocolVersion"`
		Capabilities capabilities       `json:"capabilities"`
		Server       mcp.Implementation `json:"serverInfo"`
		Instructions string             `json:"instructions"`
	}
	if err := json.Unmarshal(a.Result, &r); err != nil {
		return wire.Useless("initialize: the server's answer is no MCP")
	}
	if !mcp.IsValidProtocolVersion(r.Version) || mcp.IsModernProtocol(r.Version) {
		return wire.Useless(fmt.Sprintf("initialize: the server speaks protocol revision %q, which this version does not", r.Version))
	}
	h.wire.SetVersion(r.Version)
	h.info = r.Capabilities.info(r.Server, r.Instructions)
	h.info.logging = len(r.Capabilities.Logging) > 0
	if err := h.wire.Notify(ctx, mcp.MethodNotificationInitialized, nil); err != nil {
		return fmt.Errorf("initialized: %w", err)
	}
	return nil
}
