package knowledge_test

import (
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/rpc/rpctest"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge"
)

// searches returns the client of a user.
func (k *kit) searches(subject string) knowledgev1.SearchServiceClient {
	return knowledgev1.NewSearchServiceClient(rpctest.ServeAs(k.t, "knowledge", k.svc.Register, rpctest.WithPrincipal(authn.User(subject))))
}

// found returns the names of the documents of results.
func found(results []*knowledgev1.SearchResult) (names []string) {
	for _, r := range results {
		names = append(names, r.GetDocumentName())
	}
	return names
}

// TestSearchesSeeWhatTheCallerMayRead: permissions to banks and labels hold at the next call.
func TestSearchesSeeWhatTheCallerMayRead(t *testing.T) {
	t.Parallel()
	k := newKit(t, knowledge.Config{})
	owner := k.user("local")
	owner.bank("handbook")
	owner.bank("other")
	for _, d := range []*knowledgev1.Document{
		owner.document("handbook", "open.txt", "The owner of a step has a name."),
		owner.document("handbook", "board.txt", "The owner of a company is a secret.", "board"),
		owner.document("other", "other.txt", "The owner of another bank."),
	} {
		k.ingests(d.GetLatestVersion(), knowledgev1.IngestionOutcome_INGESTION_OUTCOME_READY)
	}
	reader := k.searches("reader")
	search := func() ([]string, error) {
		resp, err := reader.SearchBank(t.Context(), &knowledgev1.SearchBankRequest{BankId: "handbook", Query: "Who is the owner?"})
		if err == nil && resp.GetMode() != "lexical" {
			t.Errorf("mode %q", resp.GetMode())
		}
		return found(resp.GetResults()), err
	}
	_, err := search()
	k.want(err, faultv1.Reason_REASON_NOT_FOUND)
	for _, row := range []struct {
		globs, want []string
	}{
		{globs: []string{"knowledge.bank.handbook"}, want: []string{"open.txt"}},
		{globs: []string{"knowledge.bank.*", "knowledge.label.board"}, want: []string{"board.txt", "open.txt"}},
		{globs: []string{"knowledge.bank.handbook", "knowledge.label.x"}, want: []string{"open.txt"}},
	} {
		k.policy.give("reader", row.globs...)
		names, err := search()
		k.must(err)
		slices.Sort(names)
		if !slices.Equal(names, row.want) {
			t.Errorf("with %v: %v, want %v", row.globs, names, row.want)
		}
	}
	resp, err := reader.SearchBanks(t.Context(), &knowledgev1.SearchBanksRequest{
		BankIds: []string{"gone", "other", "handbook"}, Query: "owner",
	})
	k.must(err)
	if !slices.Equal(found(resp.GetResults()), []string{"open.txt"}) || !slices.Equal(resp.GetSkippedBankIds(), []string{"gone", "other"}) {
		t.Errorf("%v", resp)
	}
	r := resp.GetResults()[0]
	if r.GetBankId() != "handbook" || r.GetText() != "The owner of a step has a name." || r.GetEnd()-r.GetStart() != int64(len(r.GetText())) ||
		r.GetScore() <= 0 || r.GetVersion() == "" || r.GetDocumentId() == "" {
		t.Errorf("%v", r)
	}
}
