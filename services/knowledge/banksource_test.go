package knowledge_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/egress/egresstest"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/testpoll"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	registryv1 "github.com/windlass-dev/windlass/proto/gen/windlass/registry/v1"
	"github.com/windlass-dev/windlass/services/knowledge"
)

// openEgress reaches only good.example.
func openEgress(t *testing.T) *egress.Egress { return egresstest.Public(t, nil) }

func (c caller) source(bank string, s *knowledgev1.BankSource) *knowledgev1.BankSource {
	c.t.Helper()
	out, err := c.sources.CreateBankSource(c.t.Context(), &knowledgev1.CreateBankSourceRequest{BankId: bank, Source: s})
	c.must(err)
	return out
}

// follow runs the workflow of the latest sync of a source, as a worker does, and returns the source.
func (c caller) follow(s *knowledgev1.BankSource, want knowledgev1.SyncOutcome) *knowledgev1.BankSource {
	c.t.Helper()
	var sync string
	testpoll.Until(c.t, "the workflow is started", func() bool {
		sync = c.engine.sync()
		return sync != ""
	})
	worker := rpctest.ServeAs(c.t, "knowledge", c.svc.Register, rpctest.WithPrincipal(authn.Service("worker")))
	resp, err := knowledgev1.NewIngestionServiceClient(worker).RunSync(c.t.Context(), &knowledgev1.RunSyncRequest{
		Tenant: authn.Local().GetTenant(), Sync: sync,
	})
	if err != nil || resp.GetOutcome() != want {
		c.t.Errorf("the sync ended as %v, %v, want %s", resp, err, want)
	}
	out, err := c.sources.GetBankSource(c.t.Context(), &knowledgev1.GetBankSourceRequest{BankId: s.GetBankId(), SourceId: s.GetId()})
	c.must(err)
	return out
}

func TestEachKindOfSourceOfABank(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "leave.md"), []byte("---\nlabels: [board]\n---\n# Leave\n\nThirty days.\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	site := egresstest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/sitemap.xml" {
			fmt.Fprintf(w, "<urlset><url><loc>http://%s/a.html</loc></url></urlset>", r.Host)
			return
		}
		w.Header().Set("Content-Type", "text/x-markdown")
		fmt.Fprint(w, "---\nlabels: [board]\n---\n# A\n\nThirty days.\n")
	}))
	host := strings.TrimPrefix(site, "http://")
	k := newKit(t, knowledge.Config{Folders: []string{dir}})
	k.run()
	c := k.as(authn.Local())
	for _, row := range []struct {
		source *knowledgev1.BankSource
		want   string
	}{
		{&knowledgev1.BankSource{Kind: "folder", Folder: dir}, "leave.md"},
		{&knowledgev1.BankSource{Kind: "url", Url: site + "/a.html"}, host + "/a.html"},
		{&knowledgev1.BankSource{Kind: "sitemap", Url: site + "/sitemap.xml"}, host + "/a.html"},
		{&knowledgev1.BankSource{Kind: "docs"}, "docs/how-to/a.md"},
	} {
		bank := row.source.GetKind()
		c.bank(bank)
		s := c.follow(c.source(bank, row.source), knowledgev1.SyncOutcome_SYNC_OUTCOME_SYNCED)
		if s.GetState() != knowledgev1.SyncState_SYNC_STATE_SYNCED || s.GetProgress().GetAdded() != 1 || s.GetSyncTime() == nil ||
			s.GetSubject() != "local" {
			t.Errorf("%s: %v", bank, s)
		}
		if names := c.names(bank); !slices.Equal(names, []string{row.want}) {
			t.Errorf("%s has %q, want %q", bank, names, row.want)
		}
	}
	k.policy.give("bob", "knowledge.bank.*")
	for _, bank := range []string{"folder", "url", "sitemap"} {
		if names := k.user("bob").names(bank); len(names) != 0 {
			t.Errorf("a caller without the label of the front matter sees %q of %s", names, bank)
		}
	}
}

func TestSourcesOfABank(t *testing.T) {
	t.Parallel()
	k := newKit(t, knowledge.Config{MaxSources: 2})
	k.run()
	c := k.as(authn.Local())
	c.bank("handbook")
	s := c.source("handbook", &knowledgev1.BankSource{
		Kind: "docs", Labels: []string{"staff"}, Attributes: map[string]string{"a": "b"}, IntervalSeconds: 60,
	})
	s = c.follow(s, knowledgev1.SyncOutcome_SYNC_OUTCOME_SYNCED)
	if s.GetNextSyncTime().AsTime().Sub(s.GetSyncTime().AsTime()).Seconds() != 60 {
		t.Errorf("the next sync of %v", s)
	}
	bank, id := "handbook", s.GetId()
	paused, err := c.sources.PauseBankSource(t.Context(), &knowledgev1.PauseBankSourceRequest{BankId: bank, SourceId: id})
	if err != nil || !paused.GetPaused() {
		t.Errorf("paused %v, %v", paused, err)
	}
	queued, err := c.sources.SyncBankSource(t.Context(), &knowledgev1.SyncBankSourceRequest{BankId: bank, SourceId: id})
	if err != nil || queued.GetState() != knowledgev1.SyncState_SYNC_STATE_QUEUED {
		t.Errorf("queued %v, %v", queued, err)
	}
	resumed, err := c.sources.ResumeBankSource(t.Context(), &knowledgev1.ResumeBankSourceRequest{BankId: bank, SourceId: id})
	if err != nil || resumed.GetPaused() {
		t.Errorf("resumed %v, %v", resumed, err)
	}
	if s := c.follow(s, knowledgev1.SyncOutcome_SYNC_OUTCOME_SYNCED); s.GetProgress().GetUnchanged() != 1 {
		t.Errorf("the second sync: %v", s)
	}
	c.source("handbook", &knowledgev1.BankSource{Kind: "docs"})
	_, err = c.sources.CreateBankSource(t.Context(), &knowledgev1.CreateBankSourceRequest{
		BankId: "handbook", Source: &knowledgev1.BankSource{Kind: "docs"},
	})
	k.want(err, faultv1.Reason_REASON_QUOTA_EXCEEDED)
	var ids []string
	page := &knowledgev1.ListBankSourcesRequest{BankId: "handbook", PageSize: 1}
	for range 2 {
		resp, err := c.sources.ListBankSources(t.Context(), page)
		k.must(err)
		ids, page.PageToken = append(ids, resp.GetSources()[0].GetId()), resp.GetNextPageToken()
	}
	if ids[0] != s.GetId() || page.GetPageToken() != "" {
		t.Errorf("listed %v, then %q", ids, page.GetPageToken())
	}
	if _, err := c.sources.DeleteBankSource(t.Context(), &knowledgev1.DeleteBankSourceRequest{BankId: bank, SourceId: id}); err != nil {
		t.Fatal(err)
	}
	if names := c.names("handbook"); len(names) != 0 {
		t.Errorf("left are %q", names)
	}
	_, err = c.sources.GetBankSource(t.Context(), &knowledgev1.GetBankSourceRequest{BankId: bank, SourceId: id})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
}

func TestSourcesThatCannotBe(t *testing.T) {
	t.Parallel()
	k := newKit(t, knowledge.Config{})
	c := k.as(authn.Local())
	c.bank("handbook")
	k.policy.give("alice", "knowledge.bank.handbook")
	const invalid = faultv1.Reason_REASON_INVALID_ARGUMENT
	others := &knowledgev1.BankSource{Kind: "docs", Labels: []string{"board"}}
	for name, row := range map[string]struct {
		as     caller
		bank   string
		source *knowledgev1.BankSource
		want   faultv1.Reason
	}{
		"no kind":             {c, "handbook", &knowledgev1.BankSource{}, invalid},
		"an unknown kind":     {c, "handbook", &knowledgev1.BankSource{Kind: "ftp"}, invalid},
		"no address":          {c, "handbook", &knowledgev1.BankSource{Kind: "url"}, invalid},
		"a field of another":  {c, "handbook", &knowledgev1.BankSource{Kind: "docs", Url: "https://example.com"}, invalid},
		"a forbidden folder":  {c, "handbook", &knowledgev1.BankSource{Kind: "folder", Folder: "/etc"}, invalid},
		"too short a pause":   {c, "handbook", &knowledgev1.BankSource{Kind: "docs", IntervalSeconds: 4}, invalid},
		"an unknown bank":     {c, "none", &knowledgev1.BankSource{Kind: "docs"}, faultv1.Reason_REASON_NOT_FOUND},
		"a bank of others":    {k.user("bob"), "handbook", &knowledgev1.BankSource{Kind: "docs"}, faultv1.Reason_REASON_NOT_FOUND},
		"a label of others":   {k.user("alice"), "handbook", others, faultv1.Reason_REASON_PERMISSION_DENIED},
		"a label that is not": {c, "handbook", &knowledgev1.BankSource{Kind: "docs", Labels: []string{"Board"}}, invalid},
	} {
		req := &knowledgev1.CreateBankSourceRequest{BankId: row.bank, Source: row.source}
		_, err := row.as.sources.CreateBankSource(t.Context(), req)
		t.Log(name)
		k.want(err, row.want)
	}
	s := c.source("handbook", &knowledgev1.BankSource{Kind: "docs"})
	_, err := k.user("bob").sources.SyncBankSource(t.Context(), &knowledgev1.SyncBankSourceRequest{BankId: "handbook", SourceId: s.GetId()})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
	_, err = c.sources.SyncBankSource(t.Context(), &knowledgev1.SyncBankSourceRequest{BankId: "handbook", SourceId: "bsr_\x00"})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
	_, err = c.sources.DeleteBankSource(t.Context(), &knowledgev1.DeleteBankSourceRequest{BankId: "handbook", SourceId: "bsr_none"})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
}

// TestLabelsHideSources: a source with a label that the caller may not read does not exist for it.
func TestLabelsHideSources(t *testing.T) {
	t.Parallel()
	k := newKit(t, knowledge.Config{})
	c, bob := k.as(authn.Local()), k.user("bob")
	c.bank("handbook")
	hidden := c.source("handbook", &knowledgev1.BankSource{Kind: "docs", Labels: []string{"staff", "board"}})
	c.source("handbook", &knowledgev1.BankSource{Kind: "docs", Labels: []string{"board"}})
	seen := c.source("handbook", &knowledgev1.BankSource{Kind: "docs", Labels: []string{"staff"}})
	k.policy.give("bob", "knowledge.bank.handbook", "knowledge.label.staff")
	list, err := bob.sources.ListBankSources(t.Context(), &knowledgev1.ListBankSourcesRequest{BankId: "handbook", PageSize: 1})
	if err != nil || len(list.GetSources()) != 1 || list.GetSources()[0].GetId() != seen.GetId() || list.GetNextPageToken() != "" {
		t.Errorf("listed %v, %v", list, err)
	}
	bank, id, ctx := "handbook", hidden.GetId(), t.Context()
	_, err = bob.sources.GetBankSource(ctx, &knowledgev1.GetBankSourceRequest{BankId: bank, SourceId: id})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
	_, err = bob.sources.SyncBankSource(ctx, &knowledgev1.SyncBankSourceRequest{BankId: bank, SourceId: id})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
	_, err = bob.sources.PauseBankSource(ctx, &knowledgev1.PauseBankSourceRequest{BankId: bank, SourceId: id})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
	_, err = bob.sources.ResumeBankSource(ctx, &knowledgev1.ResumeBankSourceRequest{BankId: bank, SourceId: id})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
	_, err = bob.sources.DeleteBankSource(ctx, &knowledgev1.DeleteBankSourceRequest{BankId: bank, SourceId: id})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
	if now, err := c.sources.GetBankSource(ctx, &knowledgev1.GetBankSourceRequest{BankId: bank, SourceId: id}); err != nil || now.GetPaused() {
		t.Errorf("after the calls of another: %v, %v", now, err)
	}
	if _, err := bob.sources.SyncBankSource(ctx, &knowledgev1.SyncBankSourceRequest{BankId: bank, SourceId: seen.GetId()}); err != nil {
		t.Error(err)
	}
}

func TestAPausedBankIngestsNothing(t *testing.T) {
	t.Parallel()
	k := newKit(t, knowledge.Config{})
	k.run()
	c := k.as(authn.Local())
	c.bank("handbook")
	b, err := c.banks.PauseBank(t.Context(), &knowledgev1.PauseBankRequest{BankId: "handbook"})
	if err != nil || !b.GetPaused() {
		t.Errorf("paused %v, %v", b, err)
	}
	held := c.document("handbook", "a.md", "one")
	c.bank("other")
	free := c.document("other", "a.md", "one")
	testpoll.Until(t, "a document of another bank is started", func() bool { return k.engine.has(free.GetLatestVersion()) })
	if k.engine.has(held.GetLatestVersion()) {
		t.Error("a document of a paused bank was started")
	}
	b, err = c.banks.GetBank(t.Context(), &knowledgev1.GetBankRequest{BankId: "handbook"})
	if err != nil || b.GetCounts().GetQueued() != 1 || !b.GetPaused() {
		t.Errorf("counts of %v, %v", b, err)
	}
	_, err = c.banks.ResumeBank(t.Context(), &knowledgev1.ResumeBankRequest{BankId: "handbook"})
	k.must(err)
	testpoll.Until(t, "it is started when the bank is resumed", func() bool { return k.engine.has(held.GetLatestVersion()) })
	_, err = c.banks.PauseBank(t.Context(), &knowledgev1.PauseBankRequest{BankId: "none"})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
}

// server is an MCP source of the registry with one resource, which bob may not use.
type server struct {
	mu   sync.Mutex
	text string
	as   []string // who asked
}

// ForwardRequest implements mcp.Servers.
func (s *server) ForwardRequest(ctx context.Context, in *registryv1.ForwardRequestRequest, _ ...grpc.CallOption,
) (*registryv1.ForwardRequestResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := authn.From(ctx)
	s.as = append(s.as, p.GetSubject()+" "+strings.Join(p.GetRoles(), ","))
	if p.GetSubject() == "bob" {
		return nil, fault.NotFound("there is no MCP source %q whose resources or prompts you may use", in.GetSource())
	}
	answer := `{"resources":[{"uri":"notes://a.md"}]}`
	if in.GetMethod() == "resources/read" {
		answer = fmt.Sprintf(`{"contents":[{"uri":"notes://a.md","mimeType":"text/markdown","text":%q}]}`, s.text)
	}
	return &registryv1.ForwardRequestResponse{Answer: &registryv1.ForwardRequestResponse_ResultJson{ResultJson: []byte(answer)}}, nil
}

// TestResourcesAreReadAsTheUserOfTheSource: with the roles that the user had when the source was created, and what policy says at each
// sync.
func TestResourcesAreReadAsTheUserOfTheSource(t *testing.T) {
	t.Parallel()
	k := newKit(t, knowledge.Config{})
	k.server.text = "# One"
	k.run()
	k.policy.give("alice", "*")
	k.policy.give("bob", "*")
	spec := &knowledgev1.BankSource{Kind: "mcp", McpSource: "notes", Uri: "notes://"}
	alice := k.as(authn.User("alice", "writer"))
	alice.bank("notes")
	s := alice.follow(alice.source("notes", spec), knowledgev1.SyncOutcome_SYNC_OUTCOME_SYNCED)
	if names := alice.names("notes"); !slices.Equal(names, []string{"notes/notes://a.md"}) || s.GetMcpSource() != "notes" ||
		s.GetUri() != "notes://" {
		t.Errorf("%v has %q", s, names)
	}
	if want := []string{"alice writer", "alice writer"}; !slices.Equal(k.server.as, want) {
		t.Errorf("the registry was asked by %q, want %q", k.server.as, want)
	}
	again := func() *knowledgev1.BankSource {
		_, err := alice.sources.SyncBankSource(t.Context(), &knowledgev1.SyncBankSourceRequest{BankId: "notes", SourceId: s.GetId()})
		k.must(err)
		return alice.follow(s, knowledgev1.SyncOutcome_SYNC_OUTCOME_SYNCED)
	}
	if p := again().GetProgress(); p.GetUnchanged() != 1 || p.GetUpdated() != 0 {
		t.Errorf("the same text again: %v", p)
	}
	k.server.text = "# Two"
	if p := again().GetProgress(); p.GetUnchanged() != 0 || p.GetUpdated() != 1 {
		t.Errorf("another text: %v", p)
	}
	bob := k.user("bob")
	bob.bank("mine")
	refused := bob.follow(bob.source("mine", spec), knowledgev1.SyncOutcome_SYNC_OUTCOME_FAILED)
	if !strings.Contains(refused.GetProblem(), "there is no MCP source") {
		t.Errorf("a user who may not use the resources: %v", refused)
	}
}
