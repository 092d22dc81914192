package embed_test

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/knowledge/embed"
	"github.com/windlass-dev/windlass/services/knowledge/embed/embedtest"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// answers returns vectors as the only answer.
func answers(vectors ...[]float32) func(context.Context, *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
	return func(context.Context, *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
		out := &inferencev1.EmbedResponse{}
		for _, v := range vectors {
			out.Embeddings = append(out.Embeddings, &inferencev1.Embedding{Values: v})
		}
		return out, nil
	}
}

// late answers when the call was given up.
func late(ctx context.Context, _ *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func refuses(context.Context, *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
	return nil, fault.New(codes.InvalidArgument, faultv1.Reason_REASON_MODEL_REJECTED, "no")
}

func away(context.Context, *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
	return nil, fault.New(codes.Unavailable, faultv1.Reason_REASON_UNAVAILABLE, "away")
}

var nan, inf = float32(math.NaN()), float32(math.Inf(-1))

// hostile are answers to a request for one vector of two numbers.
var hostile = []struct {
	name   string
	answer func(context.Context, *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error)
}{
	{"no vectors", answers()},
	{"a vector too many", answers([]float32{1, 2}, []float32{1, 2})},
	{"a vector too short", answers([]float32{1})},
	{"a vector too long", answers([]float32{1, 2, 3})},
	{"an empty vector", answers(nil)},
	{"not a number", answers([]float32{1, nan})},
	{"an infinite number", answers([]float32{inf, 1})},
	{"late", late},
	{"refused", refuses},
	{"away", away},
	{"an error of no kind", func(context.Context, *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
		return nil, errors.New("broken")
	}},
}

func TestQueriesWithHostileAnswers(t *testing.T) {
	t.Parallel()
	for _, row := range append(hostile, hostile[0], struct {
		name   string
		answer func(context.Context, *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error)
	}{"a zero vector", answers([]float32{0, 0})}) {
		client := &embedtest.Models{}
		client.Answer(row.answer)
		m := embed.NewModels(client, embed.Options{Model: "p/m", Timeout: time.Millisecond, Now: time.Now})
		if v, err := m.Query(t.Context(), store.Space{ID: 1, Model: "p/m", Dimensions: 2}, "text"); err == nil || v != nil {
			t.Errorf("%s: %v, %v", row.name, v, err)
		}
	}
}

func TestAModelThatIsAwayIsNotAskedByEachSearch(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	client, space := &embedtest.Models{}, store.Space{Model: "p/m", Dimensions: embedtest.Dimensions}
	m := embed.NewModels(client, embed.Options{Model: "p/m", Timeout: time.Minute, Now: func() time.Time { return now }})
	ask := func(times int) (answers int) {
		for range times {
			if _, err := m.Query(t.Context(), space, "text"); err == nil {
				answers++
			}
		}
		return answers
	}
	client.Answer(refuses)
	if ask(2) > 0 || client.Calls() != 2 {
		t.Errorf("%d calls of a model that refuses a query", client.Calls())
	}
	client.Answer(away)
	if ask(2) > 0 || client.Calls() != 3 {
		t.Errorf("%d calls of a model that is away", client.Calls())
	}
	client.Answer(nil)
	now = now.Add(time.Minute)
	if ask(1) != 1 || client.Calls() != 4 {
		t.Errorf("%d calls after a while", client.Calls())
	}
}

func TestRerankingWithHostileAnswers(t *testing.T) {
	t.Parallel()
	ranked := func(ranks ...*inferencev1.RankedDocument) []*inferencev1.RankedDocument { return ranks }
	rank := func(index int32, score float64) *inferencev1.RankedDocument {
		return &inferencev1.RankedDocument{Index: index, Score: score}
	}
	for _, row := range []struct {
		name string
		in   []*inferencev1.RankedDocument
		want []int
	}{
		{name: "an order", in: ranked(rank(2, 0.9), rank(0, 0.5), rank(1, 0.1)), want: []int{2, 0, 1}},
		{name: "not sorted", in: ranked(rank(1, 0.1), rank(2, 0.9), rank(0, 0.5)), want: []int{2, 0, 1}},
		{name: "some of them", in: ranked(rank(2, 0.9)), want: []int{2, 0, 1}},
		{name: "none of them", want: []int{0, 1, 2}},
		{name: "one twice", in: ranked(rank(2, 0.9), rank(2, 0.5))},
		{name: "one that was not given", in: ranked(rank(3, 0.9))},
		{name: "a negative one", in: ranked(rank(-1, 0.9))},
		{name: "not a number", in: ranked(rank(0, math.NaN()))},
	} {
		client := &embedtest.Models{}
		client.Reranks(func(context.Context, *inferencev1.RerankRequest) (*inferencev1.RerankResponse, error) {
			return &inferencev1.RerankResponse{Results: row.in}, nil
		})
		m := embed.NewModels(client, embed.Options{Reranker: "p/r", Timeout: time.Minute, Now: time.Now})
		got, err := m.Rerank(t.Context(), "query", []string{"a", "b", "c"})
		if !slices.Equal(got, row.want) || (err == nil) != (row.want != nil) {
			t.Errorf("%s: %v, %v", row.name, got, err)
		}
	}
	m := embed.NewModels(nil, embed.Options{Now: time.Now})
	if got, err := m.Rerank(t.Context(), "query", []string{"a", "b"}); got != nil || err != nil {
		t.Errorf("without a model: %v, %v", got, err)
	}
}

func TestAFillerNeedsItsParts(t *testing.T) {
	t.Parallel()
	m := embed.NewModels(nil, embed.Options{})
	if _, err := embed.NewFiller(embed.Config{Owner: "o", Interval: 1}, nil, m, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("made without a store and a model")
	}
}
