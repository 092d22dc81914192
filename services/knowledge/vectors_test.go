package knowledge_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testpoll"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	knowledgev1 "github.com/windlass-dev/windlass/proto/gen/windlass/knowledge/v1"
	"github.com/windlass-dev/windlass/services/knowledge"
	"github.com/windlass-dev/windlass/services/knowledge/embed/embedtest"
)

// TestABankBecomesHybrid: its documents are found by their words at once, and by their meaning once they have vectors.
func TestABankBecomesHybrid(t *testing.T) {
	t.Parallel()
	models := &embedtest.Models{}
	k := newKitWith(t, knowledge.Config{EmbeddingModel: "p/m", RerankModel: "p/r", SweepInterval: time.Hour}, models)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- k.svc.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		k.must(<-done)
	})
	c := k.user("local")
	if b := c.bank("handbook"); b.GetMode() != "lexical" {
		t.Errorf("a new bank is %s", b.GetMode())
	}
	for name, text := range map[string]string{"car.txt": "A car needs new tyres.", "tea.txt": "Tea is served at five."} {
		k.ingests(c.document("handbook", name, text).GetLatestVersion(), knowledgev1.IngestionOutcome_INGESTION_OUTCOME_READY)
	}
	testpoll.Until(t, "the bank is hybrid", func() bool {
		b, err := c.banks.GetBank(t.Context(), &knowledgev1.GetBankRequest{BankId: "handbook"})
		k.must(err)
		return b.GetMode() == "hybrid"
	})
	search := func() *knowledgev1.SearchBanksResponse {
		resp, err := k.searches("local").SearchBanks(t.Context(), &knowledgev1.SearchBanksRequest{
			BankIds: []string{"handbook"}, Query: "automobile",
		})
		k.must(err)
		return resp
	}
	testpoll.Until(t, "the meaning is found", func() bool { // the bank may be hybrid before the second document has vectors
		resp := search()
		return resp.GetMode() == "hybrid" && len(resp.GetResults()) == 2 && found(resp.GetResults())[0] == "car.txt"
	})
	if resp := search(); !resp.GetReranked() {
		t.Errorf("%v", resp)
	}
	models.Answer(func(context.Context, *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
		return nil, errors.New("broken")
	})
	if resp := search(); resp.GetMode() != "lexical" || len(resp.GetResults()) != 0 {
		t.Errorf("without the model: %v", resp)
	}
}

func TestModelsOfTheConfigurationAreChecked(t *testing.T) {
	t.Parallel()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: "sqlite:" + filepath.Join(t.TempDir(), "knowledge.db"), Schema: "knowledge"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	deps := knowledge.Deps{DB: db, Policy: &permissions{}, Engine: &engine{}, Log: slog.New(slog.DiscardHandler)}
	for name, cfg := range map[string]knowledge.Config{
		"no provider":         {EmbeddingModel: "m"},
		"no model":            {RerankModel: "p/"},
		"too many dimensions": {EmbeddingModel: "p/m", EmbeddingDimensions: 10_000},
		"negative dimensions": {EmbeddingModel: "p/m", EmbeddingDimensions: -1},
		"no models to call":   {EmbeddingModel: "p/m"},
	} {
		if _, err := knowledge.New(cfg, deps); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
