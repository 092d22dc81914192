// Package eval measures how well searches find what questions ask for. Everything in it is a function of its arguments.
package eval

import (
	"math"
	"math/rand/v2"
	"slices"
)

// Answer is what a search returned for a question, as far as the measures need it.
type Answer struct {
	// Relevant says for each result, the best first, which expected passage it is or contains: an index into the expected ones, or -1.
	// A passage that several results contain counts at the first.
	Relevant []int
	// Expected is the number of expected passages, at least 1.
	Expected int
}

// found returns the ranks from 0, at most k of them, at which an expected passage is found for the first time.
func (a Answer) found(k int) (ranks []int) {
	seen := map[int]bool{}
	for i, passage := range a.Relevant[:min(k, len(a.Relevant))] {
		if passage >= 0 && !seen[passage] {
			seen[passage] = true
			ranks = append(ranks, i)
		}
	}
	return ranks
}

// Recall returns the share of the expected passages that are among the first k results.
func Recall(a Answer, k int) float64 {
	return float64(len(a.found(k))) / float64(max(1, a.Expected))
}

// Hit returns 1 if any expected passage is among the first k results, else 0.
func Hit(a Answer, k int) float64 {
	return min(1, float64(len(a.found(k))))
}

// NDCG returns the normalised discounted cumulative gain of the first k results, with a gain of 1 for each expected passage: Järvelin and
// Kekäläinen, "Cumulated gain-based evaluation of IR techniques" (2002), with the usual discount of log2(rank + 1).
func NDCG(a Answer, k int) float64 {
	gain, best := 0.0, 0.0
	for _, rank := range a.found(k) {
		gain += 1 / math.Log2(float64(rank)+2)
	}
	for rank := range min(k, max(1, a.Expected)) {
		best += 1 / math.Log2(float64(rank)+2)
	}
	if best == 0 {
		return 0
	}
	return gain / best
}

// ReciprocalRank returns 1 / the rank of the first expected passage, counted from 1; 0 if none is found.
func ReciprocalRank(a Answer) float64 {
	ranks := a.found(len(a.Relevant))
	if len(ranks) == 0 {
		return 0
	}
	return 1 / float64(ranks[0]+1)
}

// Figure is a mean over questions with its interval.
type Figure struct {
	// Mean is the mean of the measure.
	Mean float64 `json:"mean"`
	// Low and High limit the interval of 95 % confidence.
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// resamples is the number of samples that an interval is estimated from.
const resamples = 1000

// Mean returns the mean of values and its interval, by the percentile bootstrap: Efron and Tibshirani, "An Introduction to the Bootstrap"
// (1993), chapter 13. The same values give the same interval. Of no values all is 0.
func Mean(values []float64) Figure {
	if len(values) == 0 {
		return Figure{}
	}
	random := rand.New(rand.NewPCG(1, uint64(len(values)))) //nolint:gosec // The samples shall be the same each time.
	means := make([]float64, resamples)
	for i := range means {
		sum := 0.0
		for range values {
			sum += values[random.IntN(len(values))]
		}
		means[i] = sum / float64(len(values))
	}
	slices.Sort(means)
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return Figure{Mean: sum / float64(len(values)), Low: means[resamples*25/1000], High: means[resamples*975/1000-1]}
}

// Summary has the measures of a set of questions.
type Summary struct {
	// Questions is their number.
	Questions int `json:"questions"`
	// Recall5 and Recall10 are the mean share of the expected passages among the first 5 and 10 results.
	Recall5  Figure `json:"recall_5"`
	Recall10 Figure `json:"recall_10"`
	// NDCG10 is the mean normalised discounted cumulative gain of the first 10 results.
	NDCG10 Figure `json:"ndcg_10"`
	// MRR is the mean reciprocal rank of the first expected passage.
	MRR Figure `json:"mrr"`
}

// Summarize measures the answers to a set of questions.
func Summarize(answers []Answer) Summary {
	mean := func(measure func(Answer) float64) Figure {
		values := make([]float64, len(answers))
		for i, a := range answers {
			values[i] = measure(a)
		}
		return Mean(values)
	}
	return Summary{
		Questions: len(answers),
		Recall5:   mean(func(a Answer) float64 { return Recall(a, 5) }),
		Recall10:  mean(func(a Answer) float64 { return Recall(a, 10) }),
		NDCG10:    mean(func(a Answer) float64 { return NDCG(a, 10) }),
		MRR:       mean(ReciprocalRank),
	}
}
