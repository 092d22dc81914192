package knowledge_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/child"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testmain"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/knowledge"
	"github.com/windlass-dev/windlass/services/knowledge/parse"
)

func TestMain(m *testing.M) {
	child.Main(parse.Work())
	testmain.Verify(m)
}

// permissions are what policy gives to each subject.
type permissions struct {
	mu    sync.Mutex
	globs map[string][]string
	asked int
}

// GetPermissions implements access.PermissionReader.
func (p *permissions) GetPermissions(_ context.Context, in *policyv1.GetPermissionsRequest,
	_ ...grpc.CallOption,
) (*policyv1.GetPermissionsResponse, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	return &policyv1.GetPermissionsResponse{
		Permissions: p.globs[in.GetPrincipal().GetSubject()], DeniedBy: map[string]string{"!knowledge.bank.sealed": "no-sealed"},
	}, nil
}

// calls returns how often permissions were asked for since it was last called.
func (p *permissions) calls() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := p.asked
	p.asked = 0
	return n
}

func (p *permissions) give(subject string, globs ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.globs[subject] = globs
}

// kit is a service under test.
type kit struct {
	t      *testing.T
	svc    *knowledge.Service
	policy *permissions
	engine *engine
	server *server
}

func newKit(t *testing.T, cfg knowledge.Config) *kit {
	t.Helper()
	return newKitWith(t, cfg, nil)
}

// newKitWith makes a kit with models.
func newKitWith(t *testing.T, cfg knowledge.Config, models inferencev1.InferenceServiceClient) *kit {
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
	k := &kit{t: t, policy: &permissions{globs: map[string][]string{"local": {"*"}}}, engine: &engine{}, server: &server{}}
	k.svc, err = knowledge.New(cfg, knowledge.Deps{
		DB: db, Policy: k.policy, Engine: k.engine, Models: models, Egress: openEgress(t),
		MeshKey: secret.New(strings.Repeat("k", 32)), Log: slog.New(slog.DiscardHandler),
		Servers: k.server,
		Docs:    fstest.MapFS{"how-to/a.md": &fstest.MapFile{Data: []byte("# A\n\nHow to do it.\n")}},
	})
	k.must(err)
	return k
}

// caller has the clients of one principal.
type caller struct {
	*kit
	banks     knowledgev1.BankServiceClient
	documents knowledgev1.DocumentServiceClient
	sources   knowledgev1.BankSourceServiceClient
}

func (k *kit) as(p *policyv1.Principal) caller {
	conn := rpctest.ServeAs(k.t, "knowledge", k.svc.Register, rpctest.WithPrincipal(p))
	return caller{
		k, knowledgev1.NewBankServiceClient(conn), knowledgev1.NewDocumentServiceClient(conn), knowledgev1.NewBankSourceServiceClient(conn),
	}
}

func (k *kit) user(subject string) caller { return k.as(authn.User(subject)) }

func (c caller) bank(id string) *knowledgev1.Bank {
	c.t.Helper()
	b, err := c.banks.CreateBank(c.t.Context(), &knowledgev1.CreateBankRequest{Bank: &knowledgev1.Bank{Id: id, Description: "about " + id}})
	c.must(err)
	return b
}

func (c caller) document(bank, name, text string, labels ...string) *knowledgev1.Document {
	c.t.Helper()
	d, err := c.documents.CreateDocument(c.t.Context(), &knowledgev1.CreateDocumentRequest{
		BankId: bank, Name: name, Text: text, Labels: labels,
	})
	c.must(err)
	return d
}

func (c caller) upload(spec *knowledgev1.UploadSpec, pieces ...string) (*knowledgev1.Document, error) {
	stream, err := c.documents.UploadDocument(c.t.Context())
	if err != nil {
		return nil, err
	}
	// An error of Send is that of CloseAndRecv.
	_ = stream.Send(&knowledgev1.UploadDocumentRequest{Message: &knowledgev1.UploadDocumentRequest_Spec{Spec: spec}})
	for _, piece := range pieces {
		_ = stream.Send(&knowledgev1.UploadDocumentRequest{Message: &knowledgev1.UploadDocumentRequest_Data{Data: []byte(piece)}})
	}
	return stream.CloseAndRecv()
}

func (c caller) listed() (ids []string) {
	c.t.Helper()
	req := &knowledgev1.ListBanksRequest{PageSize: 1}
	for {
		resp, err := c.banks.ListBanks(c.t.Context(), req)
		c.must(err)
		for _, b := range resp.GetBanks() {
			ids = append(ids, b.GetId())
		}
		if req.PageToken = resp.GetNextPageToken(); req.GetPageToken() == "" {
			return ids
		}
	}
}

func (c caller) names(bank string) (names []string) {
	c.t.Helper()
	req := &knowledgev1.ListDocumentsRequest{BankId: bank, PageSize: 1}
	for {
		resp, err := c.documents.ListDocuments(c.t.Context(), req)
		c.must(err)
		for _, d := range resp.GetDocuments() {
			names = append(names, d.GetName())
		}
		if req.PageToken = resp.GetNextPageToken(); req.GetPageToken() == "" {
			return names
		}
	}
}

func (k *kit) must(err error) {
	k.t.Helper()
	if err != nil {
		k.t.Fatal(err)
	}
}

func (k *kit) want(err error, want faultv1.Reason) {
	k.t.Helper()
	if got := fault.ReasonOf(err); got != want {
		k.t.Errorf("the error is %v with the reason %s, want %s", err, got, want)
	}
}

func TestBanks(t *testing.T) {
	k := newKit(t, knowledge.Config{MaxBanks: 2})
	c := k.as(authn.Local())
	b := c.bank("handbook")
	if b.GetMode() != "lexical" || b.GetSubject() != "local" || b.GetDocuments() != 0 || b.GetCreateTime() == nil {
		t.Errorf("created %v", b)
	}
	_, err := c.banks.CreateBank(t.Context(), &knowledgev1.CreateBankRequest{Bank: &knowledgev1.Bank{Id: "handbook"}})
	k.want(err, faultv1.Reason_REASON_ALREADY_EXISTS)
	c.bank("laws")
	_, err = c.banks.CreateBank(t.Context(), &knowledgev1.CreateBankRequest{Bank: &knowledgev1.Bank{Id: "third"}})
	k.want(err, faultv1.Reason_REASON_QUOTA_EXCEEDED)
	_, err = c.banks.CreateBank(t.Context(), &knowledgev1.CreateBankRequest{Bank: &knowledgev1.Bank{Id: "No"}})
	k.want(err, faultv1.Reason_REASON_INVALID_ARGUMENT)
	changed, err := c.banks.UpdateBank(t.Context(), &knowledgev1.UpdateBankRequest{Bank: &knowledgev1.Bank{Id: "laws", DisplayName: "Laws"}})
	k.must(err)
	if changed.GetDisplayName() != "Laws" || changed.GetDescription() != "about laws" {
		t.Errorf("changed to %v", changed)
	}
	if got := c.listed(); !slices.Equal(got, []string{"handbook", "laws"}) {
		t.Errorf("listed %v", got)
	}
	_, err = c.banks.DeleteBank(t.Context(), &knowledgev1.DeleteBankRequest{BankId: "laws"})
	k.must(err)
	for _, id := range []string{"laws", "a\x00b"} {
		_, err = c.banks.GetBank(t.Context(), &knowledgev1.GetBankRequest{BankId: id})
		k.want(err, faultv1.Reason_REASON_NOT_FOUND)
	}
}

// TestOthersDoNotFindABank: what a caller may not read is reported as what does not exist, and a permission holds from the next call on.
func TestOthersDoNotFindABank(t *testing.T) {
	k := newKit(t, knowledge.Config{})
	k.policy.give("alice", "!knowledge.bank.sealed")
	alice, bob := k.user("alice"), k.user("bob")
	foreign := authn.User("alice")
	foreign.Tenant = "other"
	alice.bank("plans")
	d := alice.document("plans", "a.md", "text")
	calls := func(c caller, bank, document string) map[string]error {
		_, get := c.banks.GetBank(t.Context(), &knowledgev1.GetBankRequest{BankId: bank})
		_, update := c.banks.UpdateBank(t.Context(), &knowledgev1.UpdateBankRequest{Bank: &knowledgev1.Bank{Id: bank, Description: "x"}})
		_, remove := c.banks.DeleteBank(t.Context(), &knowledgev1.DeleteBankRequest{BankId: bank})
		_, list := c.documents.ListDocuments(t.Context(), &knowledgev1.ListDocumentsRequest{BankId: bank})
		_, create := c.documents.CreateDocument(t.Context(), &knowledgev1.CreateDocumentRequest{BankId: bank, Name: "x", Text: "x"})
		_, upload := c.upload(&knowledgev1.UploadSpec{BankId: bank, Document: &knowledgev1.DocumentSpec{Name: "x"}}, "x")
		_, read := c.documents.GetDocument(t.Context(), &knowledgev1.GetDocumentRequest{BankId: bank, DocumentId: document})
		_, text := c.documents.ReadDocument(t.Context(), &knowledgev1.ReadDocumentRequest{BankId: bank, DocumentId: document})
		_, drop := c.documents.DeleteDocument(t.Context(), &knowledgev1.DeleteDocumentRequest{BankId: bank, DocumentId: document})
		return map[string]error{
			"get": get, "update": update, "delete": remove, "list": list, "create": create, "upload": upload, "get document": read,
			"read document": text, "delete document": drop,
		}
	}
	for who, c := range map[string]caller{"another user": bob, "the same name in another tenant": k.as(foreign)} {
		missing := calls(c, "nothing", "doc_none")
		for what, err := range calls(c, "plans", d.GetId()) {
			k.want(err, faultv1.Reason_REASON_NOT_FOUND)
			got := strings.NewReplacer("plans", "nothing", d.GetId(), "doc_none").Replace(fmt.Sprint(err))
			if got != fmt.Sprint(missing[what]) {
				t.Errorf("%s, %s: %q, and of one that is missing %q", who, what, got, missing[what])
			}
		}
		if got := c.listed(); len(got) != 0 {
			t.Errorf("%s sees %v", who, got)
		}
	}
	k.policy.give("bob", "knowledge.bank.plans")
	if got := bob.listed(); !slices.Equal(got, []string{"plans"}) {
		t.Errorf("with the permission: %v", got)
	}
	if got := bob.names("plans"); !slices.Equal(got, []string{"a.md"}) {
		t.Errorf("with the permission: %v", got)
	}
	k.policy.give("bob")
	_, err := bob.banks.GetBank(t.Context(), &knowledgev1.GetBankRequest{BankId: "plans"})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
	alice.bank("sealed")
	_, err = alice.banks.GetBank(t.Context(), &knowledgev1.GetBankRequest{BankId: "sealed"})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND) // a rule that denies wins over having created it
}

func TestLabelsHideDocuments(t *testing.T) {
	k := newKit(t, knowledge.Config{})
	local, bob := k.as(authn.Local()), k.user("bob")
	local.bank("plans")
	local.document("plans", "open.md", "text")
	d := local.document("plans", "hr.md", "text", "hr")
	both := local.document("plans", "both.md", "text", "hr", "board")
	k.policy.give("bob", "knowledge.bank.*", "knowledge.label.hr")
	if got := bob.names("plans"); !slices.Equal(got, []string{"hr.md", "open.md"}) {
		t.Errorf("with one label: %v", got)
	}
	_, err := bob.documents.GetDocument(t.Context(), &knowledgev1.GetDocumentRequest{BankId: "plans", DocumentId: both.GetId()})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
	_, err = bob.documents.CreateDocument(t.Context(), &knowledgev1.CreateDocumentRequest{BankId: "plans", Name: "both.md", Text: "mine"})
	k.want(err, faultv1.Reason_REASON_ALREADY_EXISTS)
	_, err = bob.documents.CreateDocument(t.Context(), &knowledgev1.CreateDocumentRequest{
		BankId: "plans", Name: "x.md", Text: "mine", Labels: []string{"board"},
	})
	k.want(err, faultv1.Reason_REASON_PERMISSION_DENIED)
	k.policy.give("bob", "knowledge.bank.*")
	if got := bob.names("plans"); !slices.Equal(got, []string{"open.md"}) {
		t.Errorf("after the label was revoked: %v", got)
	}
	_, err = bob.documents.DeleteDocument(t.Context(), &knowledgev1.DeleteDocumentRequest{BankId: "plans", DocumentId: d.GetId()})
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
}

func TestDocuments(t *testing.T) {
	k := newKit(t, knowledge.Config{MaxDocumentBytes: 10, MaxDocuments: 2})
	c := k.as(authn.Local())
	c.bank("b")
	d := c.document("b", "a.md", "# one")
	if !strings.HasPrefix(d.GetId(), "doc_") || !strings.HasPrefix(d.GetLatestVersion(), "ver_") || d.GetVersion() != "" ||
		d.GetState() != knowledgev1.DocumentState_DOCUMENT_STATE_QUEUED || d.GetSize() != 5 || d.GetMediaType() != "text/markdown" {
		t.Errorf("created %v", d)
	}
	if again := c.document("b", "a.md", "# one"); again.GetLatestVersion() != d.GetLatestVersion() || again.GetId() != d.GetId() {
		t.Errorf("the same content: %v", again)
	}
	spec := &knowledgev1.UploadSpec{BankId: "b", Document: &knowledgev1.DocumentSpec{
		Name: "a.md", MediaType: "text/markdown", Attributes: map[string]string{"year": "2026"},
	}}
	up, err := c.upload(spec, "# ", "two")
	k.must(err)
	if up.GetId() != d.GetId() || up.GetLatestVersion() == d.GetLatestVersion() || up.GetAttributes()["year"] != "2026" {
		t.Errorf("uploaded %v", up)
	}
	for name, try := range map[string]struct {
		do     func() error
		reason faultv1.Reason
	}{
		"too large": {func() error { _, err := c.upload(spec, "123456789", "ab"); return err }, faultv1.Reason_REASON_TOO_LARGE},
		"empty":     {func() error { _, err := c.upload(spec); return err }, faultv1.Reason_REASON_INVALID_ARGUMENT},
		"no text":   {func() error { _, err := c.upload(spec, "\x89PNG\r\n\x1a\n"); return err }, faultv1.Reason_REASON_INVALID_ARGUMENT},
		"a name with a control character": {func() error {
			_, err := c.documents.CreateDocument(t.Context(), &knowledgev1.CreateDocumentRequest{BankId: "b", Name: "a\x00", Text: "x"})
			return err
		}, faultv1.Reason_REASON_INVALID_ARGUMENT},
		"text of no version": {func() error {
			_, err := c.documents.ReadDocument(t.Context(), &knowledgev1.ReadDocumentRequest{BankId: "b", DocumentId: d.GetId()})
			return err
		}, faultv1.Reason_REASON_NOT_FOUND},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fault.ReasonOf(try.do()); got != try.reason {
				t.Errorf("the reason is %s, want %s", got, try.reason)
			}
		})
	}
	c.document("b", "second", "x")
	_, err = c.documents.CreateDocument(t.Context(), &knowledgev1.CreateDocumentRequest{BankId: "b", Name: "third", Text: "x"})
	k.want(err, faultv1.Reason_REASON_QUOTA_EXCEEDED)
	_, err = c.documents.DeleteDocument(t.Context(), &knowledgev1.DeleteDocumentRequest{BankId: "b", DocumentId: d.GetId()})
	k.must(err)
	if got := c.names("b"); !slices.Equal(got, []string{"second"}) {
		t.Errorf("listed %v", got)
	}
}

func TestSettings(t *testing.T) {
	for name, cfg := range map[string]knowledge.Config{
		"documents that no parser takes": {MaxDocumentBytes: 64<<20 + 1}, "a negative limit": {MaxBanks: -1},
	} {
		if _, err := knowledge.New(cfg, knowledge.Deps{DB: &sqldb.DB{}, Policy: &permissions{}, Log: slog.Default()}); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := knowledge.New(knowledge.Config{}, knowledge.Deps{}); err == nil {
		t.Error("without dependencies: no error")
	}
}
