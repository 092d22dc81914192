package upstream

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/credential"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
	"github.com/windlass-dev/windlass/services/registry/openapi"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// operationsKept limits the operations in memory.
const operationsKept = 2048

// maxWarnings limits what a source says about operations that are no tools.
const maxWarnings = 100

// importVersion is part of the digest of an inventory: raise it when the same document gives other tools.
const importVersion = "1"

// apis is what is kept in memory about sources that are APIs.
type apis struct {
	cfg         Config
	egress      Dialer
	definitions Definitions
	credentials *credential.Keeper
	operations  *lru.Cache[string, httpcall.Maker] // by hash of the definition
	importing   chan struct{}                      // holds a token while a document is read: it takes much memory

	mu   sync.Mutex
	tags map[string]version // by source id
}

// version is the last document of a source that was read from its URL.
type version struct {
	revision    uint32
	tag, digest string
}

func newAPIs(cfg Config, deps Deps) *apis {
	operations, err := lru.New[string, httpcall.Maker](operationsKept)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	return &apis{
		cfg: cfg, egress: deps.Egress, definitions: deps.Definitions, operations: operations, importing: make(chan struct{}, 1),
		credentials: credential.New(credential.Config{EnvAllow: cfg.EnvAllow, Timeout: cfg.DiscoverTimeout}, deps.Egress),
		tags:        map[string]version{},
	}
}

func (a *apis) forget(s store.Source) {
	a.credentials.Forget(s)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tags, s.ID)
}

// discoverAPI reads the document of an API, if it is another one than that of the source's tools.
func (u *Upstream) discoverAPI(ctx context.Context, s store.Source) (store.Inventory, error) {
	document, tag, err := u.apis.document(ctx, s)
	if err != nil {
		return store.Inventory{}, unreachable(s, err)
	}
	if document == nil {
		u.breakers.reached(s.ID)
		return store.Inventory{Unchanged: true}, nil
	}
	digest, err := digestOf(s, document)
	if err != nil {
		return store.Inventory{}, fault.Internal(err)
	}
	inv := store.Inventory{Unchanged: true}
	if digest != s.Digest {
		if inv, err = u.apis.read(ctx, s, document); err != nil {
			return store.Inventory{}, unreachable(s, err)
		}
		inv.Digest = digest
	}
	u.apis.remember(s, version{revision: s.Revision, tag: tag, digest: digest})
	u.breakers.reached(s.ID)
	return inv, nil
}

// document returns the source's document; nil if it is still the one that the source's tools were made of.
func (a *apis) document(ctx context.Context, s store.Source) (document []byte, tag string, err error) {
	if s.Spec.URL == "" {
		return []byte(s.Document), "", nil
	}
	authorize := func(*http.Request) error { return nil }
	if credential.Origin(s.Spec.URL) == credential.Home(s.Spec) {
		set, err := a.credentials.For(s)
		if err != nil {
			return nil, "", err
		}
		authorize = set.Authorize
	}
	a.mu.Lock()
	known := a.tags[s.ID]
	a.mu.Unlock()
	if known.revision == s.Revision && known.digest == s.Digest {
		tag = known.tag
	}
	ctx, cancel := context.WithTimeout(ctx, a.cfg.DiscoverTimeout)
	defer cancel()
	document, tag, err = httpcall.ReadDocument(ctx, a.egress, s.Spec.URL, tag, int64(a.cfg.Documents.MaxBytes), authorize)
	switch {
	case errors.Is(err, egress.ErrDenied):
		return nil, "", fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_EGRESS_DENIED, "source %q: %s", s.Name, err)
	case errors.Is(err, egress.ErrTooLarge):
		return nil, "", fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE,
			"source %q: the document is larger than %d bytes (registry.openapi.max_bytes)", s.Name, a.cfg.Documents.MaxBytes)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, "", fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q did not answer in time", s.Name).Cause(err)
	case err != nil && fault.As(err) == nil:
		return nil, "", fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the document of source %q cannot be had: %s", s.Name,
			err)
	}
	return document, tag, err
}

func (a *apis) remember(s store.Source, v version) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tags[s.ID] = v
}

// digestOf covers everything that the tools are made of.
func digestOf(s store.Source, document []byte) (string, error) {
	spec := store.Spec{URL: s.Spec.URL, BaseURL: s.Spec.BaseURL, Operations: s.Spec.Operations, Auth: s.Spec.Auth, Headers: s.Spec.Headers}
	text, err := json.Marshal(spec)
	if err != nil {
		return "", fmt.Errorf("encode source: %w", err)
	}
	h := sha256.New()
	for _, part := range [][]byte{[]byte(importVersion), text, document} {
		fmt.Fprintf(h, "%d:", len(part))
		h.Write(part)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// read makes tools of a document, one document at a time.
func (a *apis) read(ctx context.Context, s store.Source, document []byte) (store.Inventory, error) {
	select {
	case a.importing <- struct{}{}:
		defer func() { <-a.importing }()
	case <-ctx.Done():
		return store.Inventory{}, ctx.Err()
	}
	options := openapi.Options{URL: s.Spec.URL, BaseURL: s.Spec.BaseURL, Given: given(s.Spec), Limits: a.cfg.Documents}
	if f := s.Spec.Operations; f != nil {
		options.Filter = openapi.Filter{Tags: f.Tags, Paths: f.Paths, Names: f.Names}
	}
	if s.Spec.Auth != nil || len(s.Spec.Headers) > 0 {
		options.Trusted = func(address string) bool { return credential.Origin(address) == credential.Home(s.Spec) }
	}
	api, err := openapi.Read(ctx, document, options)
	if err != nil {
		return store.Inventory{}, fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q: %s", s.Name, err)
	}
	inv := store.Inventory{
		ServerVersion: joined(api.Title, api.Version), ProtocolVersion: "OpenAPI " + api.OpenAPI,
		Warnings: api.Skipped[:min(len(api.Skipped), maxWarnings)],
	}
	if more := len(api.Skipped) - maxWarnings; more > 0 {
		inv.Warnings[maxWarnings-1] = fmt.Sprintf("and %d more", more+1)
	}
	for _, t := range api.Tools {
		f, err := foundOperation(t)
		if err != nil {
			return store.Inventory{}, fault.Internal(err)
		}
		inv.Tools = append(inv.Tools, f)
	}
	return inv, nil
}

// given names the parameters that the source sets itself.
func given(s store.Spec) map[string]bool {
	out := map[string]bool{}
	for name := range s.Headers {
		out["header:"+strings.ToLower(name)] = true
	}
	if a := s.Auth; a != nil && a.Kind == store.APIKey {
		if a.In == "query" {
			out["query:"+a.Name] = true
		} else {
			out["header:"+strings.ToLower(a.Name)] = true
		}
	}
	return out
}

// foundOperation converts an operation.
func foundOperation(t openapi.Tool) (store.Found, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return store.Found{}, fmt.Errorf("encode operation %q: %w", t.Name, err)
	}
	f := store.Found{
		OriginalName: t.Name, Title: noNUL(t.Title), Description: noNUL(t.Description), Raw: raw, InputSchema: t.InputSchema,
		OutputSchema: t.OutputSchema, Tags: t.Tags, Deprecated: t.Deprecated, Effect: effectOf(t.Operation.Method),
	}
	return f, nil
}

// effectOf returns the effect class of a method (RFC 9110, section 9.2): safe methods read, PUT and DELETE are idempotent, and all others
// have an effect each time.
func effectOf(method string) store.Effect {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace:
		return store.Read
	case http.MethodPut, http.MethodDelete:
		return store.Idempotent
	default:
		return store.Once
	}
}
