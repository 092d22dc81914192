// Package ingest has the latest versions of documents ingested: it starts a workflow for each, and does what the workflow asks for.
//
// A document that is queued or being ingested is the record of what is to be done, written in the transaction that stored the version. So
// no ingestion is lost, whatever fails before its workflow is started; and since the version's swap is one transaction, none is done twice.
package ingest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// maxAttempts is how often an ingestion is begun that ends without an outcome: a document that takes the process down each time must
	// not do so forever.
	maxAttempts = 8
	// releaseTimeout bounds the note that an attempt was stopped.
	releaseTimeout = 5 * time.Second
)

// problemInterrupted is the problem of a version that was given up.
const problemInterrupted = "The ingestion was interrupted several times. Retry it; if that fails too, the log of the knowledge service " +
	"has the reason."

// Outcome is how the ingestion of a version ended.
type Outcome string

// Outcomes of an ingestion.
const (
	// Ready versions are found.
	Ready Outcome = "ready"
	// Failed versions cannot be read.
	Failed Outcome = "failed"
	// Cancelled versions are those whose ingestion was cancelled.
	Cancelled Outcome = "cancelled"
	// Superseded versions have a later one, or their document was deleted.
	Superseded Outcome = "superseded"
)

// Content is what a version is read from.
type Content struct {
	// Name is the document's, MediaType the version's.
	Name, MediaType string
	// Data are the bytes.
	Data []byte
}

// RefusedError means that a content cannot be read, however often it is tried.
type RefusedError struct {
	// Reason says why, for users.
	Reason string
}

// Error implements error.
func (e *RefusedError) Error() string { return e.Reason }

// Reader reads contents. Implementations are safe for concurrent use.
type Reader interface {
	// Read returns the text of a content, cut into chunks with their words. A content that cannot be read is a *RefusedError; after any other
	// error it is tried again.
	Read(ctx context.Context, c Content) (store.Ingested, error)
}

// Engine runs the workflows of versions. Implementations are safe for concurrent use.
type Engine interface {
	// Start starts a version's workflow. It succeeds when the workflow is running.
	Start(ctx context.Context, tenant, version string) error
	// Cancel asks a version's workflow to stop the ingestion. It succeeds when there is none. The store has the cancel already, so a lost
	// call costs only time.
	Cancel(ctx context.Context, version string) error
}

// Config bounds ingestions. All fields are required.
type Config struct {
	// Concurrent is how many versions this process ingests at the same time.
	Concurrent int
	// Interval is the time between two sweeps.
	Interval time.Duration
	// RestartAfter is how long after its start a workflow may be without an outcome until it is started again, in case it is gone. That does
	// nothing while it runs.
	RestartAfter time.Duration
}

// Deps are what the service works with. All but Ready are required.
type Deps struct {
	// Store has the documents.
	Store *store.Store
	// Reader reads contents.
	Reader Reader
	// Engine runs workflows.
	Engine Engine
	// Ready is called after a version became ready.
	Ready func()
	// Log receives what no caller gets.
	Log *slog.Logger
}

// Service ingests versions. It is safe for concurrent use.
type Service struct {
	cfg     Config
	deps    Deps
	slots   chan struct{}
	now     chan struct{} // start workflows
	cancels chan string   // versions whose workflows are to be cancelled
}

// New returns a service. It starts no workflows before Run.
func New(cfg Config, deps Deps) (*Service, error) {
	switch {
	case cfg.Concurrent <= 0, cfg.Interval <= 0, cfg.RestartAfter <= 0:
		return nil, errors.New("ingest: Concurrent, Interval and RestartAfter must be positive")
	case deps.Store == nil, deps.Reader == nil, deps.Engine == nil, deps.Log == nil:
		return nil, errors.New("ingest: Store, Reader, Engine and Log are required")
	}
	return &Service{
		cfg: cfg, deps: deps, slots: make(chan struct{}, cfg.Concurrent), now: make(chan struct{}, 1), cancels: make(chan string, maxCancels),
	}, nil
}

// Ingest ingests a version and returns how that ended. It waits while Config.Concurrent others are ingested. An error means that there is
// no outcome yet.
func (s *Service) Ingest(ctx context.Context, tenant, version string) (Outcome, error) {
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return "", fmt.Errorf("wait to ingest %s: %w", version, ctx.Err())
	}
	p := store.Pending{Tenant: tenant, Version: version}
	d, attempts, err := s.deps.Store.BeginIngestion(ctx, p)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Superseded, nil
	case err != nil:
		return "", fmt.Errorf("begin to ingest %s: %w", version, err)
	case d.State != store.Ingesting:
		return Outcome(d.State), nil
	case attempts > maxAttempts:
		return s.fail(ctx, p, problemInterrupted)
	}
	defer s.Trigger() // there is room for the next workflow
	return s.attempt(ctx, p, d)
}

// attempt ingests a version that is being ingested.
func (s *Service) attempt(ctx context.Context, p store.Pending, d store.Document) (Outcome, error) {
	in, err := s.read(ctx, d)
	if refused, ok := errors.AsType[*RefusedError](err); ok {
		return s.fail(ctx, p, refused.Reason)
	}
	var state store.State
	if err == nil {
		state, err = s.deps.Store.FinishIngestion(ctx, p, in)
	}
	switch {
	case err == nil:
		if state == store.Ready && s.deps.Ready != nil {
			s.deps.Ready()
		}
		return Outcome(state), nil
	case errors.Is(err, store.ErrNotFound):
		return Superseded, nil
	case ctx.Err() != nil, fault.Is(err, faultv1.Reason_REASON_UNAVAILABLE): // not because of the document
		s.release(ctx, p)
	}
	return "", fmt.Errorf("ingest %s: %w", p.Version, err)
}

// read reads the content of a document's latest version.
func (s *Service) read(ctx context.Context, d store.Document) (store.Ingested, error) {
	data, err := s.deps.Store.Content(ctx, d.Tenant, d.SHA256)
	if err != nil {
		return store.Ingested{}, err
	}
	return s.deps.Reader.Read(ctx, Content{Name: d.Name, MediaType: d.MediaType, Data: data})
}

// fail gives up a version.
func (s *Service) fail(ctx context.Context, p store.Pending, problem string) (Outcome, error) {
	if err := s.deps.Store.FailIngestion(ctx, p, problem); err != nil {
		return "", fmt.Errorf("ingest %s: %w", p.Version, err)
	}
	return Failed, nil
}

// release takes back an attempt that ended for a reason outside the document.
func (s *Service) release(ctx context.Context, p store.Pending) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	if err := s.deps.Store.ReleaseIngestion(ctx, p); err != nil {
		s.deps.Log.WarnContext(ctx, "attempt of an ingestion not taken back", "version", p.Version, "error", err)
	}
}

// Cancel cancels the ingestion of a document's latest version; what was ready before stays. store.ErrState if it is not being ingested,
// store.ErrNotFound.
func (s *Service) Cancel(ctx context.Context, tenant, bank, document string) (store.Document, error) {
	d, err := s.deps.Store.CancelIngestion(ctx, tenant, bank, document)
	if err != nil {
		return d, err
	}
	select {
	case s.cancels <- d.LatestVersion:
	default: // the ingestion ends without a change
	}
	s.Trigger()
	return d, nil
}

// Retry queues a document again whose ingestion failed or was cancelled, as the given version. store.ErrState if it is in another state,
// store.ErrNotFound.
func (s *Service) Retry(ctx context.Context, tenant, bank, document, version string) (store.Document, error) {
	d, err := s.deps.Store.RetryIngestion(ctx, tenant, bank, document, version, s.deps.Store.Now())
	if err == nil {
		s.Trigger()
	}
	return d, err
}
