package knowledge_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testpoll"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge"
)

// engine is a workflow engine that records the versions whose workflows are started.
type engine struct {
	mu      sync.Mutex
	started []string
}

// Start implements ingest.Engine.
func (e *engine) Start(_ context.Context, tenant, version string) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.started = append(e.started, tenant+"/"+version)
	return nil
}

// StartSync implements syncs.Engine.
func (e *engine) StartSync(ctx context.Context, tenant, sync string) error {
	return e.Start(ctx, tenant, sync)
}

// sync returns the sync that was started first and not returned yet; "" = none.
func (e *engine) sync() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, started := range e.started {
		if _, id, _ := strings.Cut(started, "/"); strings.HasPrefix(id, "syn_") {
			e.started = slices.Delete(e.started, i, i+1)
			return id
		}
	}
	return ""
}

// Cancel implements ingest.Engine.
func (e *engine) Cancel(context.Context, string) error { return nil }

// has reports whether the workflow of a version of the local tenant was started.
func (e *engine) has(version string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Contains(e.started, authn.Local().GetTenant()+"/"+version)
}

// ingest has a version ingested, as a worker does.
func (k *kit) ingest(version string) knowledgev1.IngestionOutcome {
	k.t.Helper()
	conn := rpctest.ServeAs(k.t, "knowledge", k.svc.Register, rpctest.WithPrincipal(authn.Service("worker")))
	resp, err := knowledgev1.NewIngestionServiceClient(conn).IngestVersion(k.t.Context(),
		&knowledgev1.IngestVersionRequest{Tenant: authn.Local().GetTenant(), Version: version})
	k.must(err)
	return resp.GetOutcome()
}

func (k *kit) ingests(version string, want knowledgev1.IngestionOutcome) {
	k.t.Helper()
	if got := k.ingest(version); got != want {
		k.t.Errorf("the ingestion of %s ended as %s, want %s", version, got, want)
	}
}

// run runs the service until the test ends.
func (k *kit) run() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- k.svc.Run(ctx) }()
	k.t.Cleanup(func() {
		cancel()
		k.must(<-done)
	})
}

func TestADocumentIsIngestedCancelledAndRetried(t *testing.T) {
	k := newKit(t, knowledge.Config{})
	k.run()
	c := k.as(authn.Local())
	c.bank("handbook")
	d := c.document("handbook", "a.md", "one\n\ntwo")
	testpoll.Until(t, "the workflow is started", func() bool { return k.engine.has(d.GetLatestVersion()) })
	k.ingests(d.GetLatestVersion(), knowledgev1.IngestionOutcome_INGESTION_OUTCOME_READY)
	named := &knowledgev1.GetDocumentRequest{BankId: "handbook", DocumentId: d.GetId()}
	now, err := c.documents.GetDocument(t.Context(), named)
	k.must(err)
	if now.GetState() != knowledgev1.DocumentState_DOCUMENT_STATE_READY || now.GetVersion() != d.GetLatestVersion() || now.GetChunks() == 0 {
		t.Errorf("ingested %v", now)
	}
	read, err := c.documents.ReadDocument(t.Context(), &knowledgev1.ReadDocumentRequest{BankId: "handbook", DocumentId: d.GetId()})
	if err != nil || read.GetText() == "" || read.GetVersion() != d.GetLatestVersion() {
		t.Errorf("text %v, %v", read, err)
	}

	retry := &knowledgev1.RetryDocumentRequest{BankId: "handbook", DocumentId: d.GetId()}
	_, err = c.documents.RetryDocument(t.Context(), retry)
	k.want(err, faultv1.Reason_REASON_FAILED_PRECONDITION)
	stop := &knowledgev1.CancelDocumentRequest{BankId: "handbook", DocumentId: d.GetId()}
	_, err = c.documents.CancelDocument(t.Context(), stop)
	k.want(err, faultv1.Reason_REASON_FAILED_PRECONDITION)

	second := c.document("handbook", "a.md", "three")
	cancelled, err := c.documents.CancelDocument(t.Context(), stop)
	if err != nil || cancelled.GetState() != knowledgev1.DocumentState_DOCUMENT_STATE_CANCELLED || cancelled.GetVersion() != now.GetVersion() {
		t.Errorf("cancelled %v, %v", cancelled, err)
	}
	k.ingests(second.GetLatestVersion(), knowledgev1.IngestionOutcome_INGESTION_OUTCOME_CANCELLED)
	retried, err := c.documents.RetryDocument(t.Context(), retry)
	k.must(err)
	k.ingests(second.GetLatestVersion(), knowledgev1.IngestionOutcome_INGESTION_OUTCOME_SUPERSEDED)
	k.ingests(retried.GetLatestVersion(), knowledgev1.IngestionOutcome_INGESTION_OUTCOME_READY)

	bob := k.user("bob")
	_, err = bob.documents.RetryDocument(t.Context(), retry)
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
	_, err = bob.documents.CancelDocument(t.Context(), stop)
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
}

// TestADocumentThatCannotBeReadFails: the reason names the document, and it has no text.
func TestADocumentThatCannotBeReadFails(t *testing.T) {
	k := newKit(t, knowledge.Config{})
	c := k.as(authn.Local())
	c.bank("handbook")
	spec := &knowledgev1.UploadSpec{BankId: "handbook", Document: &knowledgev1.DocumentSpec{Name: "broken.pdf"}}
	d, err := c.upload(spec, "%PDF-1.7\nno object of it is there")
	k.must(err)
	k.ingests(d.GetLatestVersion(), knowledgev1.IngestionOutcome_INGESTION_OUTCOME_FAILED)
	now, err := c.documents.GetDocument(t.Context(), &knowledgev1.GetDocumentRequest{BankId: "handbook", DocumentId: d.GetId()})
	k.must(err)
	if now.GetState() != knowledgev1.DocumentState_DOCUMENT_STATE_FAILED || !strings.HasPrefix(now.GetProblem(), "broken.pdf ") {
		t.Errorf("document %v", now)
	}
}
