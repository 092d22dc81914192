// Package document reads what describes an API, such as an OpenAPI document, and remembers which version of it the tools of a source were
// made of.
package document

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/registry/httpcall"
	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// importVersion is part of the digest of an inventory: raise it when the same document gives other tools.
const importVersion = "2"

// Keeper reads documents. It is safe for concurrent use.
type Keeper struct {
	*source.Env
	importing chan struct{} // holds a token while a document is read: it takes much memory

	mu   sync.Mutex
	read map[string]version // by source id
}

// version is the last document of a source that was read from its URL.
type version struct {
	revision    uint32
	tag, digest string
	read        time.Time
}

// NewKeeper returns a Keeper.
func NewKeeper(env *source.Env) *Keeper {
	return &Keeper{Env: env, importing: make(chan struct{}, 1), read: map[string]version{}}
}

// Release implements source.Releaser.
func (k *Keeper) Release(_ context.Context, s store.Source) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.read, s.ID)
	return nil
}

// Reread implements source.Rereader.
func (k *Keeper) Reread(s store.Source) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.read[s.ID].tag == "" { // with one, its server says whether it changed
		delete(k.read, s.ID)
	}
}

// Inventory makes the tools of a document, if it is another one than that of the source's tools, one document at a time. Skipped says what
// it does not describe.
func (k *Keeper) Inventory(ctx context.Context, s store.Source, document []byte, tag string, skipped []string,
	read func() (store.Inventory, error),
) (store.Inventory, error) {
	digest, err := digestOf(s, document)
	if err != nil {
		return store.Inventory{}, fault.Internal(err)
	}
	inv := store.Inventory{Unchanged: true}
	if digest != s.Digest {
		select {
		case k.importing <- struct{}{}:
			defer func() { <-k.importing }()
			inv, err = read()
		case <-ctx.Done():
			err = ctx.Err()
		}
		if err != nil {
			return store.Inventory{}, err
		}
		inv.Digest, inv.Warnings = digest, append(skipped, inv.Warnings...)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.read[s.ID] = version{revision: s.Revision, tag: tag, digest: digest, read: time.Now()}
	return inv, nil
}

// Known returns the tag of the document that the source's tools were made of, and when it was read; false if this replica has not read it.
func (k *Keeper) Known(s store.Source) (tag string, read time.Time, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	v, ok := k.read[s.ID]
	return v.tag, v.read, ok && v.revision == s.Revision && v.digest == s.Digest
}

// Request returns a request for the document at the source's URL, with its credentials if they are for that origin.
func (k *Keeper) Request(s store.Source, as source.User) (httpcall.Document, error) {
	r := httpcall.Document{
		URL: s.Spec.URL, MaxBytes: int64(k.MaxDocumentBytes), Authorize: func(*http.Request) error { return nil },
	}
	if credential.Origin(s.Spec.URL) == source.Home(s.Spec) {
		set, err := k.Credentials.For(source.SyncOwner(s, as))
		if err != nil {
			return r, err
		}
		r.Authorize, r.Refused = set.Authorize, set.Refused
	}
	return r, nil
}

// Fetch sends a request for a document. It returns nil if the document is still the one with the request's tag.
func (k *Keeper) Fetch(ctx context.Context, s store.Source, request httpcall.Document) (document []byte, tag string, err error) {
	ctx, cancel := context.WithTimeout(ctx, k.DiscoverTimeout)
	defer cancel()
	document, tag, err = request.Read(ctx, k.Egress)
	switch {
	case errors.Is(err, egress.ErrDenied):
		return nil, "", fault.New(codes.FailedPrecondition, faultv1.Reason_REASON_EGRESS_DENIED, "source %q: %s", s.Name, err).Cause(err)
	case errors.Is(err, egress.ErrTooLarge):
		return nil, "", source.Invalid(fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE,
			"source %q: the document is larger than %d bytes (registry.openapi.max_bytes)", s.Name, k.MaxDocumentBytes))
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, "", fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "source %q did not answer in time", s.Name).Cause(err)
	case err != nil && fault.As(err) == nil:
		f := fault.Unavailable(faultv1.Reason_REASON_TOOL_UNAVAILABLE, "the document of source %q cannot be had: %s", s.Name, err)
		if errors.Is(err, egress.ErrRedirect) || errors.Is(err, httpcall.ErrNotDocument) {
			f = source.Invalid(f)
		}
		return nil, "", f
	}
	return document, tag, err
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
