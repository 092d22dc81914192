package mcp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"regexp"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// message is a JSON-RPC message: a request, a notification or a response.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   json.RawMessage `json:"error,omitempty"`
}

// failure is a JSON-RPC error, with the HTTP status of a response that is not a stream; 0 = 200.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`

	status int
}

// Error returns the message.
func (f *failure) Error() string { return f.Message }

func invalidParams(message string) *failure {
	return &failure{Code: mcp.INVALID_PARAMS, Message: message}
}

// bodyTimeout bounds the reading of a request.
const bodyTimeout = time.Minute

// maxID limits the id of a request, as JSON.
const maxID = 1024

// integer matches an integer in JSON that every number type holds.
var integer = regexp.MustCompile(`^-?[0-9]{1,18}$`)

// read reads a message. Without one it returns the error to answer with.
func (h *Handler) read(w http.ResponseWriter, r *http.Request) (message, *failure) {
	var m message
	if media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || media != "application/json" {
		return m, &failure{
			Code: mcp.INVALID_REQUEST, Message: "send JSON with Content-Type: application/json", status: http.StatusUnsupportedMediaType,
		}
	}
	rc := http.NewResponseController(w)
	if rc.SetReadDeadline(time.Now().Add(bodyTimeout)) == nil { // writers without deadlines (in tests) read without one
		defer func() { _ = rc.SetReadDeadline(time.Time{}) }()
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.cfg.MaxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return m, &failure{
			Code: mcp.INVALID_REQUEST, Message: "the request is larger than the limit", Data: map[string]any{"limit": limit.Limit},
			status: http.StatusRequestEntityTooLarge,
		}
	case errors.Is(err, os.ErrDeadlineExceeded):
		return m, &failure{Code: mcp.INVALID_REQUEST, Message: "the request took too long to arrive", status: http.StatusRequestTimeout}
	case err != nil:
		return m, &failure{Code: mcp.PARSE_ERROR, Message: "the request broke off", status: http.StatusBadRequest}
	}
	if text := bytes.TrimSpace(body); len(text) > 0 && text[0] == '[' {
		return m, &failure{Code: mcp.INVALID_REQUEST, Message: "send one message at a time, not a batch", status: http.StatusBadRequest}
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return message{}, &failure{Code: mcp.PARSE_ERROR, Message: "the request is no JSON-RPC message", status: http.StatusBadRequest}
	}
	if m.Version != mcp.JSONRPC_VERSION {
		m.ID = validID(m.ID)
		return m, &failure{Code: mcp.INVALID_REQUEST, Message: `want "jsonrpc": "2.0"`, status: http.StatusBadRequest}
	}
	if m.ID != nil && validID(m.ID) == nil {
		return message{}, &failure{
			Code: mcp.INVALID_REQUEST, Message: "the id of a request is a short string or an integer",
			status: http.StatusBadRequest,
		}
	}
	if p := bytes.TrimSpace(m.Params); len(p) > 0 && p[0] != '{' && string(p) != "null" {
		return m, &failure{Code: mcp.INVALID_PARAMS, Message: "want an object as params", status: http.StatusBadRequest}
	}
	return m, nil
}

// validID returns nil for anything that is not the id of a request.
func validID(id json.RawMessage) json.RawMessage {
	if len(id) > 0 && len(id) <= maxID && (id[0] == '"' || integer.Match(id)) { // valid JSON that begins with a quote is a string
		return id
	}
	return nil
}

// params are the parameters that all methods share.
type params struct {
	Meta struct {
		ProgressToken json.RawMessage `json:"progressToken"`
		Version       string          `json:"io.modelcontextprotocol/protocolVersion"`
		Capabilities  json.RawMessage `json:"io.modelcontextprotocol/clientCapabilities"`
		LogLevel      string          `json:"io.modelcontextprotocol/logLevel"`
		// Key makes a repeated call the same execution.
		Key string `json:"windlass/idempotency_key"`
	} `json:"_meta"`
	Cursor string `json:"cursor"`
	Name   string `json:"name"`
	URI    string `json:"uri"`
}

// decode reads parameters; absent ones are none.
func decode(raw json.RawMessage, into any) *failure {
	if len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return invalidParams("the parameters do not have the types of the protocol: " + err.Error())
	}
	return nil
}
