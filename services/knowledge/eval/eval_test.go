package eval_test

import (
	"math"
	"testing"

	"github.com/windlass-dev/windlass/services/knowledge/eval"
)

func TestMeasures(t *testing.T) {
	t.Parallel()
	second := 1 / math.Log2(3)
	for _, row := range []struct {
		name                             string
		answer                           eval.Answer
		recall2, hit2, ndcg2, reciprocal float64
	}{
		{name: "first", answer: eval.Answer{Relevant: []int{0, -1}, Expected: 1}, recall2: 1, hit2: 1, ndcg2: 1, reciprocal: 1},
		{name: "second", answer: eval.Answer{Relevant: []int{-1, 0}, Expected: 1}, recall2: 1, hit2: 1, ndcg2: second, reciprocal: 0.5},
		{name: "third", answer: eval.Answer{Relevant: []int{-1, -1, 0}, Expected: 1}, reciprocal: 1.0 / 3},
		{name: "never", answer: eval.Answer{Relevant: []int{-1, -1}, Expected: 1}},
		{name: "no results", answer: eval.Answer{Expected: 1}},
		{
			name: "one of two", answer: eval.Answer{Relevant: []int{1, -1}, Expected: 2},
			recall2: 0.5, hit2: 1, ndcg2: 1 / (1 + second), reciprocal: 1,
		},
		{
			name: "the same twice counts once", answer: eval.Answer{Relevant: []int{0, 0}, Expected: 2},
			recall2: 0.5, hit2: 1, ndcg2: 1 / (1 + second), reciprocal: 1,
		},
		{name: "both", answer: eval.Answer{Relevant: []int{1, 0}, Expected: 2}, recall2: 1, hit2: 1, ndcg2: 1, reciprocal: 1},
		{
			name: "more are expected than fit", answer: eval.Answer{Relevant: []int{1, 0}, Expected: 4},
			recall2: 0.5, hit2: 1, ndcg2: 1, reciprocal: 1,
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			for measure, figures := range map[string][2]float64{
				"recall":          {eval.Recall(row.answer, 2), row.recall2},
				"hit":             {eval.Hit(row.answer, 2), row.hit2},
				"nDCG":            {eval.NDCG(row.answer, 2), row.ndcg2},
				"reciprocal rank": {eval.ReciprocalRank(row.answer), row.reciprocal},
			} {
				if math.Abs(figures[0]-figures[1]) > 1e-12 {
					t.Errorf("%s: %v, want %v", measure, figures[0], figures[1])
				}
			}
		})
	}
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	if f := eval.Mean(nil); f != (eval.Figure{}) {
		t.Error(f)
	}
	if f := eval.Mean([]float64{1, 1, 1}); f != (eval.Figure{Mean: 1, Low: 1, High: 1}) {
		t.Error(f)
	}
	values := make([]float64, 100)
	for i := range 80 {
		values[i] = 1
	}
	f := eval.Mean(values)
	if f != eval.Mean(values) {
		t.Error("two intervals of the same values differ")
	}
	// The standard error of a share of 0.8 of 100 is 0.04, so that the interval is about 0.8 ± 0.078.
	if f.Mean != 0.8 || math.Abs(f.Low-0.72) > 0.03 || math.Abs(f.High-0.88) > 0.03 {
		t.Error(f)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	s := eval.Summarize([]eval.Answer{
		{Relevant: []int{0}, Expected: 1},
		{Relevant: []int{-1, -1, -1, -1, -1, 0}, Expected: 1},
	})
	if s.Questions != 2 || s.Recall5.Mean != 0.5 || s.Recall10.Mean != 1 || math.Abs(s.MRR.Mean-(1+1.0/6)/2) > 1e-12 {
		t.Errorf("%+v", s)
	}
}
