package search_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/knowledge/search"
)

// ask searches the bank a of the tenant one.
func (k *kit) ask(s *search.Searcher, text string) search.Found {
	k.Helper()
	found, err := s.Search(k.Context(), search.Query{Tenant: "one", Banks: []search.Bank{{ID: "a"}}, Text: text})
	k.must(err)
	return found
}

func names(found search.Found) (out []string) {
	for _, r := range found.Results {
		out = append(out, r.DocumentName)
	}
	return out
}

// shop is a bank with three documents.
func (k *kit) shop() {
	k.Helper()
	k.bank("one", "a", "")
	k.add(text{tenant: "one", bank: "a", name: "car", text: "car repairs take two days"})
	k.add(text{tenant: "one", bank: "a", name: "tea", text: "tea is served at five"})
	k.add(text{tenant: "one", bank: "a", name: "cat", text: "cats sleep all day"})
}

func TestHybridSearch(t *testing.T) {
	onEngines(t, func(t *testing.T, k *kit) {
		t.Helper()
		k.shop()
		if found := k.ask(k.hybrid, "automobile"); found.Hybrid || len(found.Results) > 0 {
			t.Errorf("before there are vectors: %+v", found)
		}
		k.fill("p/m")
		found := k.ask(k.hybrid, "automobile")
		if !found.Hybrid || len(found.Results) == 0 || names(found)[0] != "car" || found.Results[0].Score <= 0 {
			t.Errorf("a word that means the same: %+v", found)
		}
		if found := k.ask(k.hybrid, "tea vehicle"); !slices.Contains(names(found)[:2], "tea") || !slices.Contains(names(found)[:2], "car") {
			t.Errorf("by words and vectors: %v", names(found))
		}
		// A document that is added is found by its words until it has vectors, while the others are found by both.
		k.add(text{tenant: "one", bank: "a", name: "bus", text: "vehicle of the city"})
		found = k.ask(k.hybrid, "vehicle city")
		if !found.Hybrid || !slices.Contains(names(found), "bus") || !slices.Contains(names(found), "car") {
			t.Errorf("with a document without vectors: %v", names(found))
		}
		k.fill("p/m")
		if found := k.ask(k.hybrid, "automobile"); !slices.Contains(names(found)[:2], "bus") {
			t.Errorf("with its vectors: %v", names(found))
		}
		// The vectors of a new model are used once all are there.
		k.fill("p/next")
		var asked []string
		k.models.Answer(func(_ context.Context, req *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
			asked = append(asked, fmt.Sprint(req.GetModel(), " ", req.GetPurpose(), " ", req.GetTexts()))
			return k.models.Usual(req), nil
		})
		if found := k.ask(k.hybrid, "automobile"); !found.Hybrid || names(found)[0] != "car" && names(found)[0] != "bus" {
			t.Errorf("with another model: %v", names(found))
		}
		if want := []string{"p/next EMBED_PURPOSE_QUERY [automobile]"}; !slices.Equal(asked, want) {
			t.Errorf("asked %q, want %q", asked, want)
		}
	})
}

// TestSearchesDoWithoutAModel: it may be away, slow or wrong; the search is by words then, and says so.
func TestSearchesDoWithoutAModel(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(context.Context, *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error){
		"away": func(context.Context, *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
			return nil, fault.New(codes.Unavailable, faultv1.Reason_REASON_UNAVAILABLE, "away")
		},
		"late": func(ctx context.Context, _ *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		"of another length": func(context.Context, *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
			return &inferencev1.EmbedResponse{Embeddings: []*inferencev1.Embedding{{Values: []float32{1}}}}, nil
		},
		"broken": func(context.Context, *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
			return nil, errors.New("broken")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := newKit(t, engines["SQLite"](t))
			k.shop()
			k.fill("p/m")
			k.models.Answer(answer)
			if found := k.ask(k.hybrid, "tea"); found.Hybrid || !slices.Equal(names(found), []string{"tea"}) {
				t.Errorf("%+v", found)
			}
		})
	}
	t.Run("a caller that gives up", func(t *testing.T) {
		t.Parallel()
		k := newKit(t, engines["SQLite"](t))
		k.shop()
		k.fill("p/m")
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := k.hybrid.Search(ctx, search.Query{Tenant: "one", Banks: []search.Bank{{ID: "a"}}, Text: "tea"}); err == nil {
			t.Error("a search without its caller")
		}
	})
}

func TestReranking(t *testing.T) {
	t.Parallel()
	k := newKit(t, engines["SQLite"](t))
	k.bank("one", "a", "")
	for i := range 60 {
		k.add(text{tenant: "one", bank: "a", name: fmt.Sprint(i), text: fmt.Sprintf("lease number%d of the step%d", i, i)})
	}
	s := k.searcher(true)
	first := k.ask(s, "lease")
	var given []string
	k.models.Reranks(func(_ context.Context, req *inferencev1.RerankRequest) (*inferencev1.RerankResponse, error) {
		given = req.GetDocuments()
		return &inferencev1.RerankResponse{Results: []*inferencev1.RankedDocument{{Index: 40, Score: 2}, {Index: 3, Score: 1}}}, nil
	})
	found := k.ask(s, "lease")
	if !found.Reranked || len(given) != 50 || len(found.Results) != 10 || found.Results[0].Text != given[40] ||
		found.Results[1].Text != given[3] || found.Results[2].Text != given[0] {
		t.Errorf("%v of %d texts, reranked %v", names(found), len(given), found.Reranked)
	}
	k.models.Reranks(func(context.Context, *inferencev1.RerankRequest) (*inferencev1.RerankResponse, error) {
		return nil, errors.New("broken")
	})
	if found := k.ask(s, "lease"); found.Reranked || strings.Join(names(found), " ") != strings.Join(names(first), " ") {
		t.Errorf("without the model: %v, want %v", names(found), names(first))
	}
}
