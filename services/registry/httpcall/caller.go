package httpcall

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// operationsKept limits the operations in memory.
const operationsKept = 2048

// Caller calls the tools of HTTP APIs. It is safe for concurrent use.
type Caller struct {
	env        *source.Env
	operations *source.Decoder[Maker]
}

// NewCaller returns a Caller.
func NewCaller(env *source.Env) *Caller {
	return &Caller{env: env, operations: source.NewDecoder(env.Definitions, operationsKept, operation)}
}

// operation returns the operation or template of a definition.
func operation(raw []byte) (Maker, error) {
	var stored struct {
		Operation *Operation
		Template  *Template
	}
	if err := json.Unmarshal(raw, &stored); err != nil {
		return nil, err
	}
	switch {
	case stored.Template != nil:
		return stored.Template, nil
	case stored.Operation != nil:
		return stored.Operation, nil
	}
	return nil, errors.New("it says no request")
}

// Call implements source.Driver. The request is sent once more if the API refuses its access token, and it may be repeated or was certainly
// not applied.
func (c *Caller) Call(ctx context.Context, r *source.Request, _ func(source.Notice)) (source.Reply, error) {
	op, err := c.operations.Of(ctx, r.Source.Tenant, r.Definition)
	if err != nil {
		return source.Reply{}, source.Unsent(err)
	}
	ctx, cancel := context.WithTimeout(ctx, c.env.CallTimeout(r.Source))
	defer cancel()
	for retried := false; ; retried = true {
		access, err := c.env.Access(r)
		if err != nil {
			return source.Reply{}, err
		}
		refused, again := false, false
		var scopes *source.ScopesError
		call := Call{
			Source: r.Source.Name, Maker: op, Args: r.Arguments, Repeatable: r.Effect.Repeatable(),
			Hide: access.Hide, Authorize: access.Authorize, MaxBytes: int64(c.env.MaxResponseBytes),
			Refused: func(sent *http.Request, certain bool) {
				refused = access.Refused(sent)
				again = refused && (certain || r.Effect.Repeatable())
			},
			Insufficient: func(wanted []string) { scopes = &source.ScopesError{Wanted: wanted} },
		}
		if r.Effect != store.Read {
			call.Key = r.Key()
		}
		result, err := Send(ctx, c.env.Egress, call)
		reply := source.Reply{Result: result}
		switch {
		case err == nil && scopes != nil && r.As.Subject != "": // it says that it did not do anything, also if the call must not run twice
			return source.Reply{}, scopes
		case err == nil && again && r.As.Subject != "":
			return source.Reply{}, source.ErrRefused
		case err == nil && refused && r.As.Subject != "": // it may have done something
			reply.TokenRefused = true
		case err == nil && again && !retried:
			continue
		}
		return reply, err
	}
}

// EffectOf returns the effect class of a method (RFC 9110, section 9.2): safe methods read, PUT and DELETE are idempotent, and all others
// have an effect each time.
func EffectOf(method string) store.Effect {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return store.Read
	case http.MethodPut, http.MethodDelete:
		return store.Idempotent
	default:
		return store.Once
	}
}
