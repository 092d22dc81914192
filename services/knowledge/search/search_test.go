package search_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/services/knowledge/search"
)

func TestSearch(t *testing.T) {
	onEngines(t, func(t *testing.T, k *kit) {
		t.Helper()
		k.bank("one", "a", "")
		k.bank("one", "b", "")
		k.bank("two", "a", "")
		// Both passages are short, so that a result has both.
		const holds = "A worker holds it while a step runs.\n\nIt expires after two seconds."
		k.add(text{tenant: "one", bank: "a", name: "leases.md", text: "# Leases\n\n" + holds})
		k.add(text{
			tenant: "one", bank: "a", name: "steps.md", text: "A step is one unit of a turn.", attributes: map[string]string{"team": "core"},
		})
		k.add(text{tenant: "one", bank: "a", name: "secret.md", text: "A secret step.", labels: []string{"board"}})
		k.add(text{tenant: "one", bank: "b", name: "other.md", text: "A step of a ladder."})
		k.add(text{tenant: "two", bank: "a", name: "two.md", text: "A step of another tenant."})
		k.add(text{tenant: "one", bank: "b", name: "identifiers.md", text: "Set knowledge.max_document_bytes, or call CreateBank."})
		a, b := []search.Bank{{ID: "a"}}, []search.Bank{{ID: "b"}}
		for _, row := range []struct {
			name  string
			query search.Query
			want  []string
		}{
			{name: "a word of the heading", query: search.Query{Banks: a, Text: "When does a lease expire?"}, want: []string{
				holds,
			}},
			{name: "not another bank, tenant or label", query: search.Query{Banks: a, Text: "steps"}, want: []string{
				"A step is one unit of a turn.", holds,
			}},
			{
				name:  "a label that the caller may read",
				query: search.Query{Banks: []search.Bank{{ID: "a", Labels: []string{"board", "x"}}}, Text: "secret"},
				want:  []string{"A secret step."},
			},
			{name: "an attribute", query: search.Query{Banks: a, Text: "step", Attributes: map[string]string{"team": "core"}}, want: []string{
				"A step is one unit of a turn.",
			}},
			{name: "another value of it", query: search.Query{Banks: a, Text: "step", Attributes: map[string]string{"team": "ops"}}},
			{name: "an identifier", query: search.Query{Banks: b, Text: "maxDocumentBytes"}, want: []string{
				"Set knowledge.max_document_bytes, or call CreateBank.",
			}},
			{name: "syntax of the index", query: search.Query{Banks: b, Text: `"CreateBank" & ! ( NEAR * : \ ' --`}, want: []string{
				"Set knowledge.max_document_bytes, or call CreateBank.",
			}},
			{name: "at most so many", query: search.Query{Banks: a, Text: "step", Results: 1}, want: []string{"A step is one unit of a turn."}},
			{name: "a word that is nowhere", query: search.Query{Banks: a, Text: "zebra"}},
			{name: "no words", query: search.Query{Banks: a, Text: "?!"}},
			{name: "no banks", query: search.Query{Text: "step"}},
		} {
			t.Run(row.name, func(t *testing.T) {
				row.query.Tenant = "one"
				if got := k.find(row.query); !slices.Equal(got, row.want) {
					t.Errorf("%q, want %q", got, row.want)
				}
			})
		}
	})
}

func TestResultsSayWhereTheyAre(t *testing.T) {
	onEngines(t, func(t *testing.T, k *kit) {
		t.Helper()
		k.bank("one", "a", "")
		id := k.add(text{tenant: "one", bank: "a", name: "x.md", text: "# Über uns\n\nOne thing – näher.\n\nAnother one."})
		found, err := k.Search(t.Context(), search.Query{
			Tenant: "one", Banks: []search.Bank{{ID: "gone"}, {ID: "a"}}, Text: "naher",
		})
		k.must(err)
		results, missing := found.Results, found.Missing
		if len(results) != 1 || !slices.Equal(missing, []string{"gone"}) {
			t.Fatalf("%+v, %v", results, missing)
		}
		r := results[0]
		whole := "# Über uns\n\nOne thing – näher.\n\nAnother one."
		if r.Document != id || r.DocumentName != "x.md" || r.Version != "ver_0001" || r.Bank != "a" || r.Page != 1 || r.Score <= 0 ||
			!slices.Equal(r.Heading, []string{"Über uns"}) || whole[r.Start:r.End] != r.Text || r.Text != "One thing – näher.\n\nAnother one." {
			t.Errorf("%+v", r)
		}
	})
}

func TestBanksAreRankedTogether(t *testing.T) {
	onEngines(t, func(t *testing.T, k *kit) {
		t.Helper()
		k.bank("one", "a", "")
		k.bank("one", "b", "")
		for i := range 5 {
			k.add(text{tenant: "one", bank: "a", name: fmt.Sprint(i), text: fmt.Sprintf("lease number %d of it", i)})
		}
		k.add(text{tenant: "one", bank: "b", name: "x", text: "a lease is here"})
		for i := range 5 {
			k.add(text{tenant: "one", bank: "b", name: fmt.Sprint(i), text: fmt.Sprintf("nothing of it, %d", i)})
		}
		got := k.find(search.Query{Tenant: "one", Banks: []search.Bank{{ID: "a"}, {ID: "b"}}, Text: "lease", Results: 2})
		if want := []string{"a lease is here", "lease number 0 of it"}; !slices.Equal(got, want) { // rare in b, common in a
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestRepeatedPassagesAreLeftOut(t *testing.T) {
	onEngines(t, func(t *testing.T, k *kit) {
		t.Helper()
		k.bank("one", "a", "")
		const long = "A lease is an owner, an expiry and a fence: a number that increases with each claim of the step, whatever the clocks do."
		k.add(text{tenant: "one", bank: "a", name: "first", text: long})
		k.add(text{tenant: "one", bank: "a", name: "second", text: strings.ReplaceAll(strings.ToUpper(long), " ", "  ")})
		k.add(text{tenant: "one", bank: "a", name: "third", text: "A lease is something else."})
		got := k.find(search.Query{Tenant: "one", Banks: []search.Bank{{ID: "a"}}, Text: "lease fence"})
		if want := []string{long, "A lease is something else."}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

func TestWhatIsReplacedOrDeletedIsNotFound(t *testing.T) {
	onEngines(t, func(t *testing.T, k *kit) {
		t.Helper()
		k.bank("one", "a", "")
		k.add(text{tenant: "one", bank: "a", name: "x", text: "the former lease"})
		id := k.add(text{tenant: "one", bank: "a", name: "x", text: "the next lease"})
		q := search.Query{Tenant: "one", Banks: []search.Bank{{ID: "a"}}, Text: "former next lease"}
		if got := k.find(q); !slices.Equal(got, []string{"the next lease"}) {
			t.Errorf("after a new version: %q", got)
		}
		d, err := k.store.Documents(t.Context(), "one", "a", nil, "", 10)
		k.must(err)
		if len(d) != 1 {
			t.Fatalf("%d documents, the last one is %s", len(d), id)
		}
		k.must(k.store.DeleteDocument(t.Context(), "one", "a", d[0].ID))
		if got := k.find(q); len(got) != 0 {
			t.Errorf("after its deletion: %q", got)
		}
	})
}
