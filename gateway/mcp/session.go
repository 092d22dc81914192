package mcp

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// session is what a client of the old era declared in its handshake. Its id holds all of it, so every replica knows it, and knowing another
// client's id is worth nothing: it says only what that client can do.
type session struct {
	Version  string   `json:"v"`
	Accepts  []string `json:"a,omitempty"`
	Distinct string   `json:"n"` // makes the id unique
}

// maxSession limits the id of a session.
const maxSession = 512

func (s session) id() string {
	text, err := json.Marshal(s)
	if err != nil {
		return "" // strings always encode
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

func parseSession(id string) (session, bool) {
	var s session
	text, err := base64.RawURLEncoding.DecodeString(id)
	ok := err == nil && len(id) <= maxSession && json.Unmarshal(text, &s) == nil && isLegacy(s.Version) && s.Distinct != ""
	return s, ok
}

func isLegacy(version string) bool {
	return mcp.IsValidProtocolVersion(version) && !mcp.IsModernProtocol(version)
}

// capabilities are those of a client that matter here.
type capabilities struct {
	Elicitation json.RawMessage `json:"elicitation"`
	Sampling    json.RawMessage `json:"sampling"`
	Roots       json.RawMessage `json:"roots"`
}

// elicits reports whether the client shows forms: an empty capability means that.
func (c capabilities) elicits() bool {
	var modes map[string]json.RawMessage
	if len(c.Elicitation) == 0 || json.Unmarshal(c.Elicitation, &modes) != nil || modes == nil {
		return false
	}
	_, form := modes["form"]
	return form || len(modes) == 0
}

// accepts returns the methods of the requests that the client answers.
func (c capabilities) accepts() []string {
	var methods []string
	if c.elicits() {
		methods = append(methods, string(mcp.MethodElicitationCreate))
	}
	if len(c.Sampling) > 0 && string(c.Sampling) != "null" {
		methods = append(methods, string(mcp.MethodSamplingCreateMessage))
	}
	if len(c.Roots) > 0 && string(c.Roots) != "null" {
		methods = append(methods, string(mcp.MethodListRoots))
	}
	return methods
}

// initialize makes the handshake of the old era.
func (h *Handler) initialize(q *request) (any, *failure) {
	var p struct {
		Version      string       `json:"protocolVersion"`
		Capabilities capabilities `json:"capabilities"`
	}
	if f := decode(q.params, &p); f != nil {
		return nil, f
	}
	s := session{
		Version: mcp.NegotiateLegacyVersion(p.Version), Accepts: p.Capabilities.accepts(), Distinct: rand.Text(),
	}
	q.out.header().Set(mcp.HeaderSessionID, s.id())
	return map[string]any{
		"protocolVersion": s.Version, "capabilities": offered(), "serverInfo": serverInfo(), "instructions": q.instructions(),
	}, nil
}

// discover answers clients of the new era.
func (h *Handler) discover(q *request) (any, *failure) {
	return map[string]any{
		"supportedVersions": mcp.ValidProtocolVersions[:len(mcp.ValidProtocolVersions)-1], // all but the one without streamable HTTP
		"capabilities":      offered(), "instructions": q.instructions(), "ttlMs": discoverTTL, "cacheScope": mcp.CacheScopePublic,
	}, nil
}

// How long clients may cache, in milliseconds: what the server is, and lists, which change without notice for clients that do not listen.
const (
	discoverTTL = 3_600_000
	listTTL     = 5_000
)

func offered() map[string]any {
	none := struct{}{}
	return map[string]any{
		"tools": map[string]any{"listChanged": true}, "resources": map[string]any{"subscribe": true, "listChanged": true},
		"prompts": map[string]any{"listChanged": true}, "completions": none, "logging": none,
	}
}

func serverInfo() mcp.Implementation {
	return mcp.Implementation{Name: "windlass", Title: "Windlass", Version: "1"}
}
