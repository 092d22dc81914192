package search_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/knowledge/search"
)

// searches is the number of random queries; more with WINDLASS_TEST_SEARCHES.
func searches(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("WINDLASS_TEST_SEARCHES"))
	if err != nil {
		return 40
	}
	return n
}

// by returns the searcher by vectors, too, or that by words only.
func (k *kit) by(vectors bool) *search.Searcher {
	if vectors {
		return k.hybrid
	}
	return k.Searcher
}

// words returns n words, some of which are common and others rare.
func words(random *rand.Rand, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "%c%c ", 'a'+random.IntN(1+random.IntN(26)), 'a'+random.IntN(1+random.IntN(26)))
	}
	return b.String()
}

// TestEnginesRankAlike: SQLite and PostgreSQL return the same passages in the same order with the same scores, also where there are more
// candidates than are ranked, by words and by vectors.
func TestEnginesRankAlike(t *testing.T) {
	t.Parallel()
	var kits []*kit
	for _, name := range []string{"SQLite", "PostgreSQL"} {
		random := rand.New(rand.NewPCG(1, 2))
		k := newKit(t, engines[name](t))
		k.bank("one", "a", "")
		for i := range 20 {
			parts := make([]string, 40)
			for j := range parts {
				parts[j] = words(random, 4+random.IntN(30))
			}
			k.add(text{tenant: "one", bank: "a", name: fmt.Sprint(i), text: strings.Join(parts, "\n\n")})
		}
		k.fill("p/m")
		kits = append(kits, k)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for n := range searches(t) {
		hybrid := n%2 == 1
		q := search.Query{Tenant: "one", Banks: []search.Bank{{ID: "a"}}, Text: words(random, 1+random.IntN(12))}
		var all [2][]search.Result
		for i, k := range kits {
			found, err := k.by(hybrid).Search(t.Context(), q)
			k.must(err)
			if all[i] = found.Results; found.Hybrid != hybrid {
				t.Errorf("hybrid: %v", found.Hybrid)
			}
			for j := range all[i] {
				all[i][j].ID = 0 // of the database
			}
		}
		if len(all[0]) == 0 || fmt.Sprint(all[0]) != fmt.Sprint(all[1]) {
			t.Fatalf("%q:\n%+v\n%+v", q.Text, all[0], all[1])
		}
	}
}

// TestOthersTextIsNeverFound: whatever a caller asks, each passage is of the tenant, the banks, the labels and the attributes that were
// asked for. Each text says whose it is.
func TestOthersTextIsNeverFound(t *testing.T) {
	onEngines(t, func(t *testing.T, k *kit) {
		t.Helper()
		random := rand.New(rand.NewPCG(5, 6))
		all := []string{"red", "green", "blue"}
		some := func() (out []string) {
			for _, name := range all {
				if random.IntN(2) == 0 {
					out = append(out, name)
				}
			}
			return out
		}
		documents := map[string]text{}
		for i := range 48 {
			d := text{tenant: fmt.Sprint("t", i%2), bank: fmt.Sprint("b", i/2%2), name: fmt.Sprint(i), labels: some()}
			if i < 4 {
				k.bank(d.tenant, d.bank, "")
			}
			if random.IntN(2) == 0 {
				d.attributes = map[string]string{"kind": fmt.Sprint(random.IntN(2))}
			}
			d.text = words(random, 20) + "\n\n" + words(random, 20)
			documents[k.add(d)] = d
		}
		k.fill("p/m")
		found := 0
		for n := range searches(t) {
			if n == searches(t)/2 { // what is deleted is not found, though its code is in memory
				for id, d := range documents {
					if d.name < "2" {
						k.must(k.store.DeleteDocument(t.Context(), d.tenant, d.bank, id))
						delete(documents, id)
					}
				}
			}
			q := search.Query{Tenant: fmt.Sprint("t", random.IntN(2)), Text: words(random, 1+random.IntN(8)), Results: 100}
			labels := map[string][]string{}
			for _, id := range []string{"b0", "b1"}[:1+random.IntN(2)] {
				labels[id] = some()
				q.Banks = append(q.Banks, search.Bank{ID: id, Labels: labels[id]})
			}
			if random.IntN(2) == 0 {
				q.Attributes = map[string]string{"kind": fmt.Sprint(random.IntN(2))}
			}
			answer, err := k.by(n%2 == 1).Search(t.Context(), q)
			k.must(err)
			for _, r := range answer.Results {
				found++
				d, is := documents[r.Document]
				allowed, asked := labels[r.Bank]
				hidden := slices.ContainsFunc(d.labels, func(name string) bool { return !slices.Contains(allowed, name) })
				other := q.Attributes != nil && d.attributes["kind"] != q.Attributes["kind"]
				if !is || d.tenant != q.Tenant || d.bank != r.Bank || !asked || hidden || other {
					t.Fatalf("%+v finds %+v of %+v", q, r, d)
				}
			}
			if len(answer.Missing) > 0 {
				t.Fatalf("missing banks: %v", answer.Missing)
			}
		}
		if found == 0 {
			t.Error("nothing was found")
		}
	})
}
