package factbook

import (
	"cmp"
	"context"
	"math"
	"slices"
	"time"

	"github.com/windlass-dev/windlass/services/knowledge/rank"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// MaxTokens is what recalled facts take of a prompt at most, in estimated tokens.
	MaxTokens = 1000
	// maxInput is how much of a turn's input is compared, in bytes.
	maxInput = 64 << 10
	// maxOfUser and maxRecent are how many facts about the user, and of the newest, are recalled whatever the input is; maxWords is how many
	// share words with it.
	maxOfUser, maxRecent, maxWords = 10, 5, 30
)

// Why a fact is recalled.
const (
	ByWords = "words"
	ByUser  = "user"
	ByAge   = "recent"
)

// Recalled is a fact that a turn uses, and why.
type Recalled struct {
	store.Fact
	Reason string
}

// Recall returns the facts for a turn of an agent with an input, as far as they fit in MaxTokens. size estimates the tokens of a fact.
func (b *Book) Recall(ctx context.Context, o store.Owner, agent, input string, size func(store.Fact) int) ([]Recalled, error) {
	m, err := b.rows.Memory(ctx, o)
	if err != nil || m.Off {
		return nil, err
	}
	var out []Recalled
	left := MaxTokens
	for _, r := range relevant(usable(m.Facts, agent, b.rows.Now()), input) {
		if left -= size(r.Fact); left < 0 {
			break
		}
		out = append(out, r)
	}
	return out, nil
}

// Read returns those of the facts that can be used now, in the order of their ids.
func (b *Book) Read(ctx context.Context, o store.Owner, ids []string) ([]store.Fact, error) {
	m, err := b.rows.Memory(ctx, o)
	if err != nil || m.Off {
		return nil, err
	}
	byID := make(map[string]store.Fact, len(m.Facts))
	for _, f := range m.Facts {
		if f.State == store.FactActive || f.State == store.FactSuperseded { // a turn keeps what it began with
			byID[f.ID] = f
		}
	}
	var out []store.Fact
	for _, id := range ids {
		if f, ok := byID[id]; ok {
			out = append(out, f)
		}
	}
	return out, nil
}

// usable returns the facts that an agent may use at a time.
func usable(facts []store.Fact, agent string, at time.Time) (out []store.Fact) {
	for _, f := range facts {
		if Usable(f, at) && (f.AgentID == "" || f.AgentID == agent) {
			out = append(out, f)
		}
	}
	return out
}

// relevant returns facts, newest first, in the order in which they matter for an input, each once.
func relevant(facts []store.Fact, input string) (out []Recalled) {
	taken := map[string]bool{}
	take := func(f store.Fact, reason string) {
		if !taken[f.ID] {
			taken[f.ID] = true
			out = append(out, Recalled{f, reason})
		}
	}
	for _, f := range sharing(facts, input) {
		take(f, ByWords)
	}
	byTrust := slices.Clone(facts)
	slices.SortStableFunc(byTrust, func(a, b store.Fact) int { return cmp.Compare(b.Trust, a.Trust) })
	n := 0
	for _, f := range byTrust {
		if entityOf(f.Entity) == user && n < maxOfUser {
			n++
			take(f, ByUser)
		}
	}
	for _, f := range facts[:min(len(facts), maxRecent)] {
		take(f, ByAge)
	}
	return out
}

// sharing returns the facts that share words with an input, those with more and rarer words first.
func sharing(facts []store.Fact, input string) []store.Fact {
	asked := slices.DeleteFunc(rank.Query(input[:min(len(input), maxInput)]), func(word string) bool { return word == user })
	with := map[string]int{}
	of := make([]map[string]int, len(facts))
	for i, f := range facts {
		of[i], _ = rank.Count(nil, f.Entity+" "+f.Attribute+" "+f.Value+" "+f.Text)
		for word := range of[i] {
			with[word]++
		}
	}
	type scored struct {
		fact  store.Fact
		score float64
	}
	var found []scored
	for i, f := range facts {
		s := scored{fact: f}
		for _, word := range asked {
			if of[i][word] > 0 {
				s.score += math.Log1p(float64(len(facts)) / float64(with[word]))
			}
		}
		if s.score > 0 {
			found = append(found, s)
		}
	}
	slices.SortStableFunc(found, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
	out := make([]store.Fact, 0, maxWords)
	for _, s := range found[:min(len(found), maxWords)] {
		out = append(out, s.fact)
	}
	return out
}
