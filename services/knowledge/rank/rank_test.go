package rank_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/windlass-dev/windlass/services/knowledge/rank"
)

// chunk is a candidate with a text.
func chunk(id, document, text string, heading ...string) rank.Candidate {
	counts, length := rank.Count(heading, text)
	return rank.Candidate{ID: id, Document: document, Counts: counts, Length: length}
}

// statistics are those of a bank that has only the candidates.
func statistics(candidates []rank.Candidate) rank.Statistics {
	s := rank.Statistics{Frequency: map[string]int64{}}
	for _, c := range candidates {
		s.Chunks++
		s.Length += int64(c.Length)
		for word := range c.Counts {
			s.Frequency[word]++
		}
	}
	return s
}

func order(scored []rank.Scored) (ids []string) {
	for _, s := range scored {
		ids = append(ids, s.ID)
	}
	return ids
}

func TestRank(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name, query string
		candidates  []rank.Candidate
		want        []string
	}{
		{name: "a rare word says more than a common one", query: "lease step", want: []string{"b", "a", "c"}, candidates: []rank.Candidate{
			chunk("a", "1", "the step of a turn"), chunk("b", "2", "the lease of a turn"), chunk("c", "3", "another step here and now, after it"),
		}},
		{name: "a word often", query: "lease", want: []string{"b", "a"}, candidates: []rank.Candidate{
			chunk("a", "1", "a lease of it all"), chunk("b", "2", "a lease of a lease"),
		}},
		{name: "a short chunk", query: "lease", want: []string{"b", "a"}, candidates: []rank.Candidate{
			chunk("a", "1", "a lease and then much more text of something else"), chunk("b", "2", "a lease"),
		}},
		{name: "a heading", query: "lease", want: []string{"b", "a"}, candidates: []rank.Candidate{
			chunk("a", "1", "words that lease"), chunk("b", "2", "words that are", "Lease"),
		}},
		{name: "the rest of the document", query: "lease expires", want: []string{"b", "c", "a"}, candidates: []rank.Candidate{
			chunk("a", "1", "it expires then"), chunk("b", "2", "it expires then"), chunk("c", "2", "the lease is"),
			chunk("d", "3", "lease lease lease"),
		}},
		{name: "a word that means the same", query: "delete folder", want: []string{"b", "a"}, candidates: []rank.Candidate{
			chunk("a", "1", "delete it"), chunk("b", "2", "remove the directory"), chunk("c", "3", "nothing of it"),
		}},
		{name: "the word itself before what means the same", query: "folder", want: []string{"b", "a"}, candidates: []rank.Candidate{
			chunk("a", "1", "one directory"), chunk("b", "2", "one folder"), chunk("c", "3", "nothing of it"),
		}},
		{name: "equal ones by id", query: "lease", want: []string{"a", "b", "c"}, candidates: []rank.Candidate{
			chunk("c", "3", "lease"), chunk("a", "1", "lease"), chunk("b", "2", "lease"),
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			scored := rank.Rank(rank.Query(row.query), statistics(row.candidates), row.candidates)
			got := order(scored)
			got = slices.DeleteFunc(got, func(id string) bool { return !slices.Contains(row.want, id) })
			if !slices.Equal(got, row.want) {
				t.Errorf("%v, want %v: %v", got, row.want, scored)
			}
		})
	}
}

// TestScoreIsBM25 compares with the formula, worked out by hand: one chunk of two, as long as the mean.
func TestScoreIsBM25(t *testing.T) {
	t.Parallel()
	s := rank.Statistics{Chunks: 2, Length: 8, Frequency: map[string]int64{"leas": 1}}
	got := rank.Rank([]string{"leas"}, s, []rank.Candidate{{ID: "a", Document: "1", Counts: map[string]int{"leas": 2}, Length: 4}})
	bm25 := math.Log(1+(2-1+0.5)/(1+0.5)) * 2 * 1.9 / (2 + 0.9)
	if want := 1.5 * bm25; math.Abs(got[0].Score-want) > 1e-12 {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestRankWithoutStatistics(t *testing.T) {
	t.Parallel()
	got := rank.Rank([]string{"x"}, rank.Statistics{}, []rank.Candidate{chunk("b", "1", "x"), chunk("a", "1", "x")})
	if fmt.Sprint(got) != "[{a 0} {b 0}]" {
		t.Error(got)
	}
	if got := rank.Rank(nil, rank.Statistics{}, nil); len(got) != 0 {
		t.Error(got)
	}
}

func TestRelatedWords(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name  string
		query []string
		want  string
	}{
		{name: "of each word", query: []string{"folder", "zebra"}, want: "[[directori] []]"},
		{name: "none that is in the query", query: []string{"folder", "directori"}, want: "[[] []]"},
		{name: "none of a long text", query: slices.Repeat([]string{"folder"}, 33), want: fmt.Sprint(make([][]string, 33))},
		{name: "of no words", want: "[]"},
	} {
		if got := fmt.Sprint(rank.Related(row.query)); got != row.want {
			t.Errorf("%s: %s, want %s", row.name, got, row.want)
		}
	}
}
