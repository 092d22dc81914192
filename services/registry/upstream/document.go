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
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/envref"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/graphql"
	"github.com/windlass-dev/windlass/services/registry/grpccall"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
	"github.com/windlass-dev/windlass/services/registry/openapi"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// operationsKept limits the operations in memory.
const operationsKept = 2048

// codecsKept limits the methods in memory, whose descriptors may be large.
const codecsKept = 512

// maxWarnings limits what a source says about operations that are no tools.
const maxWarnings = 100

// importVersion is part of the digest of an inventory: raise it when the same document gives other tools.
const importVersion = "2"

// apis is what is kept in memory about sources that are APIs.
type apis struct {
	cfg         Config
	egress      Dialer
	definitions Definitions
	credentials *credential.Keeper
	operations  *lru.Cache[string, httpcall.Maker]  // by hash of the definition
	codecs      *lru.Cache[string, *grpccall.Codec] // the same, of methods of gRPC servers
	importing   chan struct{}                       // holds a token while a document is read: it takes much memory

	mu   sync.Mutex
	tags map[string]version // by source id
}

// version is the last document of a source that was read from its URL.
type version struct {
	revision    uint32
	tag, digest string
	read        time.Time
}

func newAPIs(cfg Config, deps Deps) *apis {
	operations, err := lru.New[string, httpcall.Maker](operationsKept)
	if err != nil {
		panic(err) // the size is a positive constant
	}
	codecs, err := lru.New[string, *grpccall.Codec](codecsKept)
	if err != nil {
		panic(err) // the same
	}
	return &apis{
		cfg: cfg, egress: deps.Egress, definitions: deps.Definitions, operations: operations, codecs: codecs,
		importing: make(chan struct{}, 1),
		credentials: credential.New(credential.Config{
			Env:     envref.Config{Allow: cfg.EnvAllow, Owner: "registry", Setting: "registry.env_allow", Vault: deps.Vault},
			Timeout: cfg.DiscoverTimeout,
		}, deps.Egress),
		tags: map[string]version{},
	}
}

func (a *apis) forget(s store.Source) {
	a.credentials.Forget(owner(s).ID)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.tags, s.ID)
}

func (a *apis) reread(s store.Source) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.tags[s.ID].tag == "" { // with one, its server says whether it changed
		delete(a.tags, s.ID)
	}
}

// discoverAPI reads the document of an API, if it is another one than that of the source's tools.
func (u *Upstream) discoverAPI(ctx context.Context, s store.Source, login as) (store.Inventory, error) {
	document, tag, err := u.apis.document(ctx, s, login)
	if err != nil {
		return store.Inventory{}, unreachable(s, err)
	}
	if document == nil {
		u.breakers.reached(s.ID)
		return store.Inventory{Unchanged: true}, nil
	}
	return u.inventory(ctx, s, document, tag, nil)
}

// inventory makes the tools of a document, if it is another one than that of the source's tools. Skipped says what it does not describe.
func (u *Upstream) inventory(ctx context.Context, s store.Source, document []byte, tag string, skipped []string) (store.Inventory, error) {
	digest, err := digestOf(s, document)
	if err != nil {
		return store.Inventory{}, fault.Internal(err)
	}
	inv := store.Inventory{Unchanged: true}
	if digest != s.Digest {
		if inv, err = u.apis.read(ctx, s, document); err != nil {
			return store.Inventory{}, unreachable(s, err)
		}
		inv.Digest, inv.Warnings = digest, warnings(append(skipped, inv.Warnings...))
	}
	u.apis.remember(s, version{revision: s.Revision, tag: tag, digest: digest, read: time.Now()})
	u.breakers.reached(s.ID)
	return inv, nil
}

// document returns the source's document; nil if it is still the one that the source's tools were made of.
func (a *apis) document(ctx context.Context, s store.Source, login as) (document []byte, tag string, err error) {
	if s.Kind == store.OpenAPI && s.Spec.URL == "" {
		return []byte(s.Document), "", nil
	}
	request := httpcall.Document{
		URL: s.Spec.URL, MaxBytes: int64(a.cfg.Documents.MaxBytes), Authorize: func(*http.Request) error { return nil },
	}
	if credential.Origin(s.Spec.URL) == home(s.Spec) {
		set, err := a.credentials.For(syncOwner(s, login))
		if err != nil {
			return nil, "", err
		}
		request.Authorize, request.Refused = set.Authorize, set.Refused
	}
	known, ok := a.known(s)
	if s.Kind == store.GraphQL {
		return a.introspection(ctx, s, request, ok && time.Since(known.read) < introspectEvery)
	}
	if ok {
		request.Tag = known.tag
	}
	return a.fetch(ctx, s, request)
}

// introspectEvery is how often the schema of a GraphQL API is read: it has no ETag, and is long. In between the API is only asked whether
// it is there.
const introspectEvery = 5 * time.Minute

func (a *apis) introspection(ctx context.Context, s store.Source, request httpcall.Document, recent bool) ([]byte, string, error) {
	query := graphql.Introspection
	if recent {
		query = "{__typename}"
	}
	var err error
	if request.Post, err = json.Marshal(map[string]string{"query": query}); err != nil {
		return nil, "", fault.Internal(err)
	}
	document, _, err := a.fetch(ctx, s, request)
	if err != nil || !recent {
		return document, "", err
	}
	if err := httpcall.CheckGraphQL(document); err != nil {
		return nil, "", fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q does not answer as a GraphQL API: %s", s.Name, err)
	}
	return nil, "", nil
}

func (a *apis) fetch(ctx context.Context, s store.Source, request httpcall.Document) (document []byte, tag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.cfg.DiscoverTimeout)
	defer cancel()
	document, tag, err = request.Read(ctx, a.egress)
	switch {
	case errors.Is(err, egress.ErrDenied):
		return nil, "", fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_EGRESS_DENIED, "source %q: %s", s.Name, err).Cause(err)
	case errors.Is(err, egress.ErrTooLarge):
		return nil, "", fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE,
			"source %q: the document is larger than %d bytes (registry.openapi.max_bytes)", s.Name, a.cfg.Documents.MaxBytes)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, "", fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q did not answer in time", s.Name).Cause(err)
	case err != nil && fault.As(err) == nil:
		return nil, "", fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the document of source %q cannot be had: %s", s.Name, err)
	}
	return document, tag, err
}

// known returns the version that the tools of a source were made of, if this replica has read it.
func (a *apis) known(s store.Source) (version, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v, ok := a.tags[s.ID]
	return v, ok && v.revision == s.Revision && v.digest == s.Digest
}

func (a *apis) remember(s store.Source, v version) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tags[s.ID] = v
}

// digestOf covers everything that the tools are made of.
func digestOf(s store.Source, document []byte) (string, error) {
	spec := store.Spec{
		URL: s.Spec.URL, BaseURL: s.Spec.BaseURL, Operations: s.Spec.Operations, Auth: s.Spec.Auth, Headers: s.Spec.Headers,
		SyncAuth: s.Spec.SyncAuth, Exclude: s.Spec.Exclude,
	}
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
	switch s.Kind {
	case store.GraphQL:
		return a.readGraphQL(ctx, s, document)
	case store.GRPC:
		return a.readGRPC(ctx, s, document)
	}
	options := openapi.Options{URL: s.Spec.URL, BaseURL: s.Spec.BaseURL, Given: given(s.Spec), Limits: a.cfg.Documents}
	if f := s.Spec.Operations; f != nil {
		options.Filter = openapi.Filter{Tags: f.Tags, Paths: f.Paths, Names: f.Names}
	}
	if s.Spec.Auth != nil || len(s.Spec.Headers) > 0 || s.Spec.ProviderData != nil {
		options.Trusted = func(address string) bool { return credential.Origin(address) == home(s.Spec) }
	}
	api, err := openapi.Read(ctx, document, options)
	if err != nil {
		return store.Inventory{}, fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q: %s", s.Name, err)
	}
	inv := store.Inventory{
		ServerVersion: joined(api.Title, api.Version), ProtocolVersion: "OpenAPI " + api.OpenAPI, Warnings: warnings(api.Skipped),
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

// warnings shortens a list of operations that are no tools.
func warnings(skipped []string) []string {
	more := len(skipped) - maxWarnings
	if more <= 0 {
		return skipped
	}
	return append(skipped[:maxWarnings-1:maxWarnings-1], fmt.Sprintf("and %d more", more+1))
}

// readGraphQL makes tools of an introspection.
func (a *apis) readGraphQL(ctx context.Context, s store.Source, answer []byte) (store.Inventory, error) {
	o := graphql.Options{URL: s.Spec.URL, MaxOperations: a.cfg.Documents.MaxOperations}
	if s.Spec.Operations != nil {
		o.Names = s.Spec.Operations.Names
	}
	tools, skipped, err := graphql.Read(ctx, answer, o)
	if err != nil {
		return store.Inventory{}, fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q: %s", s.Name, err)
	}
	inv := store.Inventory{ProtocolVersion: "GraphQL", Warnings: warnings(skipped)}
	for _, t := range tools {
		raw, err := json.Marshal(t)
		if err != nil {
			return store.Inventory{}, fault.Internal(err)
		}
		f := store.Found{
			OriginalName: t.Name, Description: noNUL(t.Description), Raw: raw, InputSchema: t.InputSchema, Tags: t.Tags, Deprecated: t.Deprecated,
			Effect: store.Once,
		}
		if t.Reads {
			f.Effect = store.Read
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
	if s.ProviderData != nil {
		for name := range s.ProviderData.Headers {
			out["header:"+strings.ToLower(name)] = true
		}
	}
	if a := s.Auth; a != nil && a.Kind == credential.APIKey {
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
