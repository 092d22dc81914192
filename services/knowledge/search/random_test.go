package search_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/testmain"
	policyv1 "github.com/windlass-dev/windlass/proto/gen/windlass/policy/v1"
	"github.com/windlass-dev/windlass/services/knowledge/access"
	"github.com/windlass-dev/windlass/services/knowledge/search"
)

// searches is the number of random queries: few in CI, all with WINDLASS_TEST_WHOLE=1 (make chaos, make nightly), WINDLASS_TEST_SEARCHES
// otherwise.
func searches(t *testing.T, few, all int) int {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv("WINDLASS_TEST_SEARCHES")); err == nil {
		return n
	}
	if testmain.Whole() {
		return all
	}
	return few
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
	for n := range searches(t, 40, 1000) {
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

// caller has the permissions of a draw.
type caller struct{ permissions []string }

// GetPermissions implements access.PermissionReader.
func (c *caller) GetPermissions(context.Context, *policyv1.GetPermissionsRequest, ...grpc.CallOption,
) (*policyv1.GetPermissionsResponse, error) {
	return &policyv1.GetPermissionsResponse{Permissions: c.permissions}, nil
}

// may reports whether the caller has one of the permissions.
func (c *caller) may(prefix, name string) bool {
	return slices.Contains(c.permissions, prefix+name) || slices.Contains(c.permissions, prefix+"*") || slices.Contains(c.permissions, "*")
}

// draw gives the caller some of the permissions to banks and labels.
func (c *caller) draw(random *rand.Rand) {
	c.permissions = nil
	for _, name := range []string{"bank.b0", "bank.b1", "label.red", "label.green", "label.blue"} {
		if random.IntN(2) == 0 {
			c.permissions = append(c.permissions, "knowledge."+name)
		}
	}
	for i, all := range []string{"knowledge.bank.*", "knowledge.label.*", "*"} {
		if random.IntN(4<<i) == 0 {
			c.permissions = append(c.permissions, all)
		}
	}
}

// TestOthersTextIsNeverFound: whatever a caller asks, with whatever permissions it has at that query, each passage is of its tenant, of a
// bank and with labels that it may read, and has the attributes that were asked for. Each paragraph says of which document it is.
func TestOthersTextIsNeverFound(t *testing.T) {
	onEngines(t, func(t *testing.T, k *kit) {
		t.Helper()
		random := rand.New(rand.NewPCG(5, 6))
		documents := k.randomDocuments(random)
		k.fill("p/m")
		as := &caller{}
		reader := access.NewReader(k.store, as)
		services := []*search.Service{search.NewService(k.by(false), reader), search.NewService(k.by(true), reader)}
		found, missed, total := 0, 0, searches(t, 200, 100_000)
		for n := range total {
			if n == total/2 { // what is deleted is not found, though its code is in memory
				for id, d := range documents {
					if d.name < "2" {
						k.must(k.store.DeleteDocument(t.Context(), d.tenant, d.bank, id))
						delete(documents, id)
					}
				}
			}
			as.draw(random)
			tenant := fmt.Sprint("t", random.IntN(2))
			ctx := authn.With(t.Context(), &policyv1.Principal{Tenant: tenant, Subject: "alice"})
			q := search.Query{Text: words(random, 1+random.IntN(8)), Results: 100}
			if random.IntN(2) == 0 {
				q.Attributes = map[string]string{"kind": fmt.Sprint(random.IntN(2))}
			}
			answer, err := services[n%2].Banks(ctx, []string{"b0", "b1", "b2"}, q)
			k.must(err)
			for _, r := range answer.Results {
				found++
				d, is := documents[r.Document]
				hidden := slices.ContainsFunc(d.labels, func(name string) bool { return !as.may("knowledge.label.", name) })
				other := q.Attributes != nil && d.attributes["kind"] != q.Attributes["kind"]
				if !is || d.tenant != tenant || d.bank != r.Bank || !as.may("knowledge.bank.", d.bank) || hidden || other ||
					!strings.Contains(d.text, r.Text) || !onlyOf(r.Text, d.name) {
					t.Fatalf("%q with %q finds %+v of %+v", tenant, as.permissions, r, d)
				}
			}
			for _, bank := range []string{"b0", "b1", "b2"} {
				if missing := bank == "b2" || !as.may("knowledge.bank.", bank); missing != slices.Contains(answer.Missing, bank) {
					t.Fatalf("%q with %q misses banks %q", tenant, as.permissions, answer.Missing)
				}
			}
			missed += len(answer.Missing)
		}
		if found == 0 || missed == total {
			t.Errorf("%d passages found, %d banks missed", found, missed)
		}
	})
}

// randomDocuments stores documents of two tenants with two banks each, and with labels and attributes, and returns them by their ids.
func (k *kit) randomDocuments(random *rand.Rand) map[string]text {
	k.Helper()
	out := map[string]text{}
	for i := range 48 {
		d := text{tenant: fmt.Sprint("t", i%2), bank: fmt.Sprint("b", i/2%2), name: fmt.Sprint(i)}
		if i < 4 {
			k.bank(d.tenant, d.bank, "")
		}
		for _, name := range []string{"red", "green", "blue"} {
			if random.IntN(2) == 0 {
				d.labels = append(d.labels, name)
			}
		}
		if random.IntN(2) == 0 {
			d.attributes = map[string]string{"kind": fmt.Sprint(random.IntN(2))}
		}
		mark := fmt.Sprintf("of%dx ", i) // no word of words has three letters
		d.text = mark + words(random, 20) + "\n\n" + mark + words(random, 20)
		out[k.add(d)] = d
	}
	return out
}

// onlyOf reports whether all marks in a text are of one document.
func onlyOf(text, name string) bool {
	for word := range strings.FieldsSeq(text) {
		if strings.HasSuffix(word, "x") && len(word) > 2 && word != "of"+name+"x" {
			return false
		}
	}
	return strings.Contains(text, "of"+name+"x")
}
