package knowledge_test

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/knowledge"
)

// noPermissions is a policy that gives nothing: memory needs only the permissions that servers check.
type noPermissions struct{}

func (noPermissions) GetPermissions(
	context.Context, *policyv1.GetPermissionsRequest, ...grpc.CallOption,
) (*policyv1.GetPermissionsResponse, error) {
	return &policyv1.GetPermissionsResponse{}, nil
}

// memories has the clients of two users and of a worker.
type memories struct {
	*testing.T
	ann, bob knowledgev1.MemoryServiceClient
	recall   knowledgev1.RecallServiceClient
}

func newMemories(t *testing.T) memories {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{
		URL: "sqlite:" + filepath.Join(t.TempDir(), "knowledge.db"), Schema: "knowledge", SecureDelete: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	svc, err := knowledge.New(knowledge.Config{}, knowledge.Deps{
		Servers: &server{},
		DB:      db, Policy: noPermissions{}, Engine: &engine{}, Egress: openEgress(t), Docs: fstest.MapFS{},
		MeshKey: secret.New(strings.Repeat("k", 32)), Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	as := func(p *policyv1.Principal) grpc.ClientConnInterface {
		return rpctest.ServeAs(t, "knowledge", svc.Register, rpctest.WithPrincipal(p))
	}
	return memories{
		T: t, ann: knowledgev1.NewMemoryServiceClient(as(authn.User("ann"))), bob: knowledgev1.NewMemoryServiceClient(as(authn.User("bob"))),
		recall: knowledgev1.NewRecallServiceClient(as(authn.Service("worker"))),
	}
}

func (m memories) create(f *knowledgev1.Fact) *knowledgev1.Fact {
	m.Helper()
	out, err := m.ann.CreateFact(m.Context(), &knowledgev1.CreateFactRequest{Fact: f})
	if err != nil {
		m.Fatal(err)
	}
	return out
}

func (m memories) list(req *knowledgev1.ListFactsRequest) *knowledgev1.ListFactsResponse {
	m.Helper()
	out, err := m.ann.ListFacts(m.Context(), req)
	if err != nil {
		m.Fatal(err)
	}
	return out
}

func TestFactsAreTheirUsersOwn(t *testing.T) {
	m := newMemories(t)
	f := m.create(&knowledgev1.Fact{Attribute: "home town", Value: "Bonn"})
	if f.GetText() != "home town: Bonn" || f.GetEntity() != "user" || f.GetTrust() != knowledgev1.FactTrust_FACT_TRUST_USER ||
		f.GetState() != knowledgev1.FactState_FACT_STATE_ACTIVE || f.GetSource() != nil || !strings.HasPrefix(f.GetId(), "fct_") {
		t.Errorf("the fact is %v", f)
	}
	_, got := m.bob.GetFact(t.Context(), &knowledgev1.GetFactRequest{FactId: f.GetId()})
	_, changed := m.bob.UpdateFact(t.Context(), &knowledgev1.UpdateFactRequest{Fact: &knowledgev1.Fact{Id: f.GetId(), Text: "x"}})
	_, deleted := m.bob.DeleteFact(t.Context(), &knowledgev1.DeleteFactRequest{FactId: f.GetId()})
	for name, err := range map[string]error{"get": got, "update": changed, "delete": deleted} {
		if fault.CodeOf(err) != "not_found" {
			t.Errorf("%s: %v", name, err)
		}
	}
	all, err := m.bob.ExportMemory(t.Context(), &knowledgev1.ExportMemoryRequest{})
	if err != nil || len(all.GetFacts()) != 0 || all.GetMarkdown() != "" {
		t.Errorf("bob exports %v, %v", all, err)
	}
}

func TestFactsAreListed(t *testing.T) {
	m := newMemories(t)
	for _, value := range []string{"Bonn", "Rome", "Oslo"} {
		m.create(&knowledgev1.Fact{Attribute: "home town", Value: value})
	}
	m.create(&knowledgev1.Fact{Text: "Ann likes tea."})
	page := m.list(&knowledgev1.ListFactsRequest{PageSize: 1})
	next := m.list(&knowledgev1.ListFactsRequest{PageSize: 1, PageToken: page.GetNextPageToken()})
	if page.GetFacts()[0].GetText() != "Ann likes tea." || next.GetFacts()[0].GetValue() != "Oslo" || next.GetNextPageToken() != "" {
		t.Errorf("pages %v and %v", page, next)
	}
	if got := m.list(&knowledgev1.ListFactsRequest{Q: "TEA likes"}).GetFacts(); len(got) != 1 {
		t.Errorf("with words: %v", got)
	}
	past := m.list(&knowledgev1.ListFactsRequest{State: knowledgev1.FactState_FACT_STATE_SUPERSEDED}).GetFacts()
	if len(past) != 2 || past[0].GetValue() != "Rome" || past[0].GetSupersededBy() != next.GetFacts()[0].GetId() {
		t.Errorf("earlier ones: %v", past)
	}
	all, err := m.ann.ExportMemory(t.Context(), &knowledgev1.ExportMemoryRequest{})
	if err != nil || len(all.GetFacts()) != 4 || !strings.Contains(all.GetMarkdown(), "## user\n") ||
		!strings.Contains(all.GetMarkdown(), "- home town: Rome (fct_") {
		t.Errorf("export: %v, %v", all, err)
	}
}

func TestFactsAreChanged(t *testing.T) {
	m := newMemories(t)
	f := m.create(&knowledgev1.Fact{Entity: "brother", Attribute: "home town", Value: "Bonn"})
	update := func(f *knowledgev1.Fact, paths ...string) (*knowledgev1.Fact, error) {
		req := &knowledgev1.UpdateFactRequest{Fact: f}
		if len(paths) > 0 {
			req.UpdateMask = &fieldmaskpb.FieldMask{Paths: paths}
		}
		return m.ann.UpdateFact(t.Context(), req)
	}
	after, err := update(&knowledgev1.Fact{Id: f.GetId(), Value: "Oslo"})
	if err != nil || after.GetId() == f.GetId() || after.GetText() != "brother, home town: Oslo" {
		t.Fatalf("corrected: %v, %v", after, err)
	}
	if same, err := update(&knowledgev1.Fact{Id: after.GetId()}); err != nil || same.GetId() != after.GetId() {
		t.Errorf("nothing: %v, %v", same, err)
	}
	for name, row := range map[string]struct {
		fact  *knowledgev1.Fact
		paths []string
		want  string
	}{
		"a superseded one":     {&knowledgev1.Fact{Id: f.GetId(), Value: "Rome"}, nil, "failed_precondition"},
		"a field that is kept": {&knowledgev1.Fact{Id: after.GetId()}, []string{"entity"}, "invalid_argument"},
		"an empty text":        {&knowledgev1.Fact{Id: after.GetId()}, []string{"text"}, "invalid_argument"},
		"no fact":              {&knowledgev1.Fact{Id: "fct_none", Value: "Rome"}, nil, "not_found"},
	} {
		if _, err := update(row.fact, row.paths...); fault.CodeOf(err) != row.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := m.ann.CreateFact(t.Context(), &knowledgev1.CreateFactRequest{Fact: &knowledgev1.Fact{Attribute: "x"}}); err == nil {
		t.Error("an attribute without a value is a fact")
	}
	if got, err := m.ann.ForgetAll(t.Context(), &knowledgev1.ForgetAllRequest{}); err != nil || got.GetForgotten() != 2 {
		t.Errorf("forget all: %v, %v", got, err)
	}
}

// remember has a model state a fact about ann.
func (m memories) remember(value string, tainted bool) *knowledgev1.RememberResponse {
	m.Helper()
	out, err := m.recall.Remember(m.Context(), &knowledgev1.RememberRequest{
		Principal: authn.User("ann"), Fact: &knowledgev1.Fact{Attribute: "last cluster", Value: value},
		Source: &knowledgev1.FactSource{SessionId: "ses_1", TurnId: "trn_1", CallId: "call_1", Tainted: tainted},
	})
	if err != nil {
		m.Fatal(err)
	}
	return out
}

func TestTurnsUseMemory(t *testing.T) {
	m := newMemories(t)
	ann := authn.User("ann")
	first := m.remember("prod-7", false)
	if first.GetOutcome() != knowledgev1.RememberOutcome_REMEMBER_OUTCOME_REMEMBERED || first.GetFact().GetSource().GetCallId() != "call_1" {
		t.Errorf("remembered: %v", first)
	}
	if got := m.remember("prod-666", true); got.GetOutcome() != knowledgev1.RememberOutcome_REMEMBER_OUTCOME_PROPOSED {
		t.Errorf("after a tool: %v", got)
	}
	recalled := func(p *policyv1.Principal) (ids []string) {
		t.Helper()
		out, err := m.recall.Recall(t.Context(), &knowledgev1.RecallRequest{Principal: p, AgentId: "a", Input: "Which cluster?"})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range out.GetFacts() {
			ids = append(ids, f.GetFact().GetId())
		}
		return ids
	}
	if got := recalled(ann); len(got) != 1 || got[0] != first.GetFact().GetId() {
		t.Errorf("recalled %v", got)
	}
	if got := recalled(authn.User("bob")); len(got) != 0 {
		t.Errorf("for bob: %v", got)
	}
	read := func() int {
		t.Helper()
		out, err := m.recall.ReadFacts(t.Context(), &knowledgev1.ReadFactsRequest{Principal: ann, FactIds: []string{first.GetFact().GetId()}})
		if err != nil {
			t.Fatal(err)
		}
		return len(out.GetFacts())
	}
	if read() != 1 {
		t.Error("the recalled fact cannot be read")
	}
	off := &knowledgev1.UpdateMemorySettingsRequest{Settings: &knowledgev1.MemorySettings{Off: true}}
	if _, err := m.ann.UpdateMemorySettings(t.Context(), off); err != nil {
		t.Fatal(err)
	}
	if s, err := m.ann.GetMemorySettings(t.Context(), &knowledgev1.GetMemorySettingsRequest{}); err != nil || !s.GetOff() {
		t.Errorf("settings %v, %v", s, err)
	}
	got := m.remember("prod-8", false)
	if read()+len(recalled(ann)) != 0 || got.GetOutcome() != knowledgev1.RememberOutcome_REMEMBER_OUTCOME_OFF {
		t.Errorf("memory is off: %v", got)
	}
}

// TestMemoryIsADocument: over the API, each user's own.
func TestMemoryIsADocument(t *testing.T) {
	m := newMemories(t)
	m.create(&knowledgev1.Fact{Attribute: "home town", Value: "Bonn"})
	m.create(&knowledgev1.Fact{Text: "Ann likes tea.", AgentId: "clerk"})
	read := func(c knowledgev1.MemoryServiceClient, agent string) string {
		t.Helper()
		d, err := c.GetMemoryDocument(t.Context(), &knowledgev1.GetMemoryDocumentRequest{AgentId: agent})
		if err != nil || d.GetEtag() == "" {
			t.Fatal(d, err)
		}
		return d.GetMarkdown()
	}
	whole := read(m.ann, "")
	if other := read(m.ann, "desk"); !strings.Contains(whole, "tea") || strings.Contains(other, "tea") || !strings.Contains(other, "Bonn") {
		t.Errorf("the documents are %q, and %q for another agent", whole, other)
	}
	if of := read(m.bob, ""); strings.Contains(of, "Bonn") {
		t.Errorf("another user reads %q", of)
	}
	req := &knowledgev1.UpdateMemoryDocumentRequest{
		Markdown: strings.Replace(whole, "= Bonn", "= Oslo", 1) + "- height = 1.80\n", DryRun: true, AgentId: "",
	}
	for range 2 {
		done, err := m.ann.UpdateMemoryDocument(t.Context(), req)
		if err != nil || len(done.GetChanges()) != 2 || !strings.Contains(done.GetDocument().GetMarkdown(), "height = 1.80") ||
			done.GetChanges()[0].GetKind() != knowledgev1.MemoryChangeKind_MEMORY_CHANGE_KIND_CORRECTED {
			t.Errorf("dry run %v: %v, %v", req.GetDryRun(), done, err)
		}
		req.DryRun = false
	}
	if _, err := m.ann.UpdateMemoryDocument(t.Context(), req); fault.CodeOf(err) != "conflict" {
		t.Errorf("the same document again: %v", err)
	}
	list, err := m.ann.ListMemoryVersions(t.Context(), &knowledgev1.ListMemoryVersionsRequest{PageSize: 1})
	if err != nil || len(list.GetVersions()) != 1 || list.GetVersions()[0].GetFacts() != 3 || list.GetNextPageToken() == "" {
		t.Fatalf("the first page of versions: %v, %v", list, err)
	}
	rest, err := m.ann.ListMemoryVersions(t.Context(), &knowledgev1.ListMemoryVersionsRequest{PageToken: list.GetNextPageToken()})
	if err != nil || len(rest.GetVersions()) != 2 || rest.GetVersions()[1].GetFacts() != 1 {
		t.Fatalf("the other versions: %v, %v", rest, err)
	}
	first := rest.GetVersions()[1].GetTime()
	old, err := m.ann.GetMemoryDocument(t.Context(), &knowledgev1.GetMemoryDocumentRequest{Version: first})
	if err != nil || !strings.Contains(old.GetMarkdown(), "= Bonn") || strings.Contains(old.GetMarkdown(), "tea") {
		t.Errorf("the first version is %v, %v", old, err)
	}
	diff, err := m.ann.CompareMemoryVersions(t.Context(), &knowledgev1.CompareMemoryVersionsRequest{From: first})
	if err != nil || len(diff.GetChanges()) != 3 {
		t.Errorf("the differences are %v, %v", diff, err)
	}
}
