package knowledge_test

import (
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/knowledge"
)

// TestTurnsFindPassages covers passages that enter prompts without a tool: their budget, and that rights hold at the next call.
func TestTurnsFindPassages(t *testing.T) {
	t.Parallel()
	k := newKit(t, knowledge.Config{})
	owner := k.user("local")
	owner.bank("handbook")
	long := strings.Repeat("The owner of a mill has a wheel, a wheel and a wheel. ", 60)
	hr := owner.document("handbook", "hr.md", "# Owners\n\nThe owner of a step is written in its lease.\n", "hr")
	for _, d := range []*knowledgev1.Document{hr, owner.document("handbook", "long.txt", long)} {
		k.ingests(d.GetLatestVersion(), knowledgev1.IngestionOutcome_INGESTION_OUTCOME_READY)
	}
	worker := rpctest.WithPrincipal(authn.Service("worker"))
	recall := knowledgev1.NewRecallServiceClient(rpctest.ServeAs(t, "knowledge", k.svc.Register, worker))
	ann := authn.User("ann")
	find := func(input string, budget *turnv1.Augment) *knowledgev1.FindPassagesResponse {
		t.Helper()
		out, err := recall.FindPassages(t.Context(), &knowledgev1.FindPassagesRequest{
			Principal: ann, BankIds: []string{"handbook", "gone"}, Input: input, Budget: budget,
		})
		k.must(err)
		return out
	}
	named := func(found []*knowledgev1.FoundPassage) (names []string) {
		for _, p := range found {
			names = append(names, p.GetDocumentName())
			if r := p.GetRef(); p.GetText() == "" || int64(len(p.GetText())) != r.GetEnd()-r.GetStart() {
				t.Errorf("%v has the text %q", r, p.GetText())
			}
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	for _, row := range []struct {
		name   string
		globs  []string
		input  string
		budget *turnv1.Augment
		want   []string
	}{
		{"a bank of others", nil, "owner", nil, nil},
		{"without the label", []string{"knowledge.bank.handbook"}, "Who is the owner?", nil, []string{"long.txt"}},
		{"all", []string{"knowledge.bank.handbook", "knowledge.label.hr"}, "Who is the owner of a lease?", nil, []string{"hr.md", "long.txt"}},
		{"no input", []string{"knowledge.*"}, " \n", nil, nil},
		{"one passage", []string{"knowledge.*"}, "owner lease", &turnv1.Augment{MaxPassages: 1}, []string{"hr.md"}},
		{"few tokens", []string{"knowledge.*"}, "owner lease", &turnv1.Augment{MaxTokens: 200}, []string{"hr.md"}},
		{"too few tokens", []string{"knowledge.*"}, "owner lease", &turnv1.Augment{MaxTokens: 20}, nil},
	} {
		k.policy.give("ann", row.globs...)
		if got := named(find(row.input, row.budget).GetPassages()); !slices.Equal(got, row.want) {
			t.Errorf("%s: %v, want %v", row.name, got, row.want)
		}
	}
	found := find("owner lease", &turnv1.Augment{MaxPassages: 1}).GetPassages()
	read := func() []*knowledgev1.FoundPassage {
		t.Helper()
		req := &knowledgev1.ReadPassagesRequest{Principal: ann, Refs: []*turnv1.PassageRef{found[0].GetRef()}}
		out, err := recall.ReadPassages(t.Context(), req)
		k.must(err)
		return out.GetPassages()
	}
	if got := read(); len(got) != 1 || !proto.Equal(got[0], found[0]) {
		t.Errorf("read %v, found %v", got, found[0])
	}
	k.policy.give("ann", "knowledge.bank.handbook")
	if got := read(); len(got) != 0 {
		t.Errorf("without the label: %v", got)
	}
	k.policy.give("ann", "knowledge.*")
	next := owner.document("handbook", "hr.md", "Nothing of it.", "hr")
	k.ingests(next.GetLatestVersion(), knowledgev1.IngestionOutcome_INGESTION_OUTCOME_READY)
	if got := read(); len(got) != 0 {
		t.Errorf("after the document was replaced: %v", got)
	}
}

// TestPassagesAreReadAtOnce: a request asks once what its user may read, however many banks and passages it names.
func TestPassagesAreReadAtOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t, knowledge.Config{})
	owner := k.user("local")
	for _, bank := range []string{"one", "two", "closed"} {
		owner.bank(bank)
		for _, name := range []string{"a.md", "b.md"} {
			d := owner.document(bank, name, "The owner of "+bank+" is in "+name)
			k.ingests(d.GetLatestVersion(), knowledgev1.IngestionOutcome_INGESTION_OUTCOME_READY)
		}
	}
	worker := rpctest.WithPrincipal(authn.Service("worker"))
	recall := knowledgev1.NewRecallServiceClient(rpctest.ServeAs(t, "knowledge", k.svc.Register, worker))
	ask := func(user string) (refs []*turnv1.PassageRef) {
		t.Helper()
		k.policy.calls()
		found, err := recall.FindPassages(t.Context(), &knowledgev1.FindPassagesRequest{
			Principal: authn.User(user), BankIds: []string{"two", "gone", "closed", "one"}, Input: "owner",
		})
		k.must(err)
		if n := k.policy.calls(); n != 1 {
			t.Errorf("a search asks %d times for permissions", n)
		}
		for _, p := range found.GetPassages() {
			refs = append(refs, p.GetRef())
		}
		return refs
	}
	k.policy.give("ann", "knowledge.bank.one", "knowledge.bank.two")
	k.policy.give("eve", "knowledge.*")
	all := ask("eve")
	if got := ask("ann"); len(got) != 4 || len(all) != 6 {
		t.Fatalf("found %v of %v", got, all)
	}
	moved := proto.CloneOf(all[0])
	moved.BankId = "gone"
	k.policy.calls()
	read, err := recall.ReadPassages(t.Context(), &knowledgev1.ReadPassagesRequest{
		Principal: authn.User("ann"), Refs: append(all, moved, &turnv1.PassageRef{BankId: "a\x00b", DocumentId: "a\x00b", End: 1}),
	})
	k.must(err)
	if n := k.policy.calls(); n != 1 {
		t.Errorf("reading passages asks %d times for permissions", n)
	}
	may := slices.DeleteFunc(slices.Clone(all), func(r *turnv1.PassageRef) bool { return r.GetBankId() == "closed" })
	same := func(p *knowledgev1.FoundPassage, r *turnv1.PassageRef) bool { return proto.Equal(p.GetRef(), r) }
	if !slices.EqualFunc(read.GetPassages(), may, same) {
		t.Errorf("read %v, want %v", read.GetPassages(), may)
	}
	for _, p := range read.GetPassages() {
		if p.GetText() != "The owner of "+p.GetRef().GetBankId()+" is in "+p.GetDocumentName() {
			t.Errorf("read %v", p)
		}
	}
}
