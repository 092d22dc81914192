package factbook_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"pgregory.net/rapid"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/knowledge/factbook"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// desk is a user with a memory.
type desk struct {
	*testing.T
	*factbook.Book
	owner store.Owner
}

func (d desk) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

func (d desk) add(entity, attribute, value string) store.Fact {
	d.Helper()
	draft := factbook.Draft{Entity: entity, Attribute: attribute, Value: value}
	if attribute == "" {
		draft.Text, draft.Value = value, ""
	}
	f, err := d.Add(d.Context(), d.owner, draft)
	d.must(err)
	return f
}

func (d desk) document() factbook.Document {
	d.Helper()
	out, err := d.Document(d.Context(), d.owner, "")
	d.must(err)
	return out
}

// edit replaces texts of the document, and returns the differences as "kind before > after".
func (d desk) edit(dry bool, oldNew ...string) ([]string, error) {
	d.Helper()
	before := d.document().Markdown
	edits, after, err := d.Edit(d.Context(), d.owner, factbook.EditSpec{
		Markdown: strings.NewReplacer(oldNew...).Replace(before), DryRun: dry,
	})
	if now := d.document(); err == nil && !dry && now != after {
		d.Errorf("the document afterwards is %q, not %q", now, after)
	} else if (err != nil || dry) && now.Markdown != before {
		d.Errorf("the document was changed to %q", now.Markdown)
	}
	return shown(edits), err
}

func shown(edits []factbook.Edit) (out []string) {
	for _, e := range edits {
		out = append(out, fmt.Sprintf("%d %s > %s", e.Kind, e.Before, e.After))
	}
	return out
}

func TestDocumentOnSQLite(t *testing.T) { testDocument(t, open(t, sqlite(t))) }

func TestDocumentOnPostgres(t *testing.T) { testDocument(t, open(t, testpg.URL(t))) }

func testDocument(t *testing.T, book *factbook.Book) {
	t.Helper()
	d := desk{t, book, store.Owner{Tenant: "t", Subject: "ann"}}
	town, note, oslo := d.add("", "home town", "Bonn"), d.add("", "", "I prefer short answers"), d.add("my brother's", "home town", "Oslo")
	want := fmt.Sprintf("\n\n## user\n\n- home town = Bonn <!-- %s -->\n- I prefer short answers <!-- %s -->\n\n## brother\n\n"+
		"- home town = Oslo <!-- %s -->\n", town.ID, note.ID, oslo.ID)
	first := d.document()
	if got := strings.TrimPrefix(first.Markdown, "# Memory <!-- "+first.Etag+" -->"); got != want {
		t.Errorf("the document is %q, want %q", got, want)
	}
	if got, err := d.edit(false); err != nil || len(got) != 0 {
		t.Errorf("an unedited document changes %q, %v", got, err)
	}
	changes := []string{"= Bonn", "= Köln", "- I prefer short answers <!-- " + note.ID + " -->\n", "- height = 1.80\n* Likes tea\n"}
	differs := []string{"3 I prefer short answers > ", "2 home town = Bonn > home town = Köln", "1  > height = 1.80", "1  > Likes tea"}
	for _, dry := range []bool{true, false} {
		if got, err := d.edit(dry, changes...); err != nil || !slices.Equal(got, differs) {
			t.Errorf("dry %v: the differences are %q, %v", dry, got, err)
		}
	}
	if _, _, err := d.Edit(t.Context(), d.owner, factbook.EditSpec{Markdown: first.Markdown}); fault.From(err).Code != codes.Aborted {
		t.Errorf("the document of before the changes: %v", err)
	}
	all, err := d.All(t.Context(), d.owner)
	d.must(err)
	states := map[string]string{}
	for _, f := range all {
		states[f.Value+f.Text] = f.State
	}
	if states["Bonnhome town: Bonn"] != store.FactSuperseded || states["Kölnhome town: Köln"] != store.FactActive || len(all) != 5 {
		t.Errorf("the facts are %v", states)
	}
	outcome, _, err := d.Remember(t.Context(), d.owner, factbook.Draft{Text: "i prefer short answers."})
	if err != nil || outcome != factbook.Forgotten {
		t.Errorf("what was deleted from the document is remembered: %v, %v", outcome, err)
	}
	got, err := d.edit(false, "- Likes tea", "- Likes coffee", "## brother", "- I prefer short answers\n\n## brother")
	if err != nil || !slices.Equal(got, []string{"2 Likes tea > Likes coffee", "1  > I prefer short answers"}) {
		t.Errorf("the user's word about what was forgotten: %q, %v", got, err)
	}
}

func TestWrongDocuments(t *testing.T) {
	t.Parallel()
	d := desk{t, open(t, sqlite(t)), store.Owner{Tenant: "t", Subject: "ann"}}
	town := d.add("", "home town", "Bonn")
	d.add("brother", "home town", "Oslo")
	line := "- home town = Bonn <!-- " + town.ID + " -->\n"
	for _, row := range []struct {
		name, old, now, want string
	}{
		{"prose", line, line + "He lives there.\n", "line 6 is neither"},
		{"another title", line, line + "# Other\n", "line 6 is neither"},
		{"a deeper heading", line, "### x\n" + line, "line 5 is neither"},
		{"a fact twice", line, line + line, "line 6 has the fact " + town.ID + " of line 5 again"},
		{"a fact without text", "home town = Bonn ", "", "line 5 has no text"},
		{"a fact that is not there", line, line + "- x <!-- fct_other -->\n", `line 6 has the fact "fct_other"`},
		{"a fact below another heading", "## user\n\n" + line, "## brother\n\n" + line, "below another heading"},
		{"a new fact that is too long", line, line + "- " + strings.Repeat("é", 2001) + "\n", "line 6: text is longer than 2000 characters"},
		{"a value that is too long", "= Bonn", "= " + strings.Repeat("x", 1001), "line 5: value is longer"},
		{"a new attribute without a value", line, line + "- height = \n", ""},
	} {
		_, err := d.edit(true, row.old, row.now)
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(fault.From(err).Text(), row.want)) &&
			(fault.As(err) == nil || len(fault.As(err).Fields) == 0 || !strings.Contains(fault.As(err).Fields[0].Message, row.want)) {
			t.Errorf("%s: %v, want %q", row.name, err, row.want)
		}
	}
	if _, _, err := d.Edit(t.Context(), d.owner, factbook.EditSpec{Markdown: "# Memory\n"}); fault.From(err).Code != codes.InvalidArgument {
		t.Errorf("a document without an etag: %v", err)
	}
}

func TestVersionsOfTheDocument(t *testing.T) {
	t.Parallel()
	at := noon
	book := openAt(t, sqlite(t), func() time.Time { return at })
	d := desk{t, book, store.Owner{Tenant: "t", Subject: "ann"}}
	d.add("", "home town", "Bonn")
	at = at.Add(time.Hour)
	tea := d.add("", "", "Likes tea")
	at = at.Add(time.Hour)
	d.add("", "home town", "Oslo")
	versions, err := d.Versions(t.Context(), d.owner, "")
	d.must(err)
	var counts []int
	for _, v := range versions {
		counts = append(counts, v.Facts)
	}
	if !slices.Equal(counts, []int{2, 2, 1}) {
		t.Fatalf("the versions have %v facts", counts)
	}
	old, err := d.DocumentAt(t.Context(), d.owner, "", versions[1].Time)
	if err != nil || !strings.Contains(old.Markdown, "home town = Bonn") || !strings.Contains(old.Markdown, "Likes tea") {
		t.Errorf("the second version is %q, %v", old.Markdown, err)
	}
	if latest, err := d.DocumentAt(t.Context(), d.owner, "", versions[0].Time); err != nil || latest != d.document() {
		t.Errorf("the latest version is %q, %v", latest.Markdown, err)
	}
	if _, err := d.DocumentAt(t.Context(), d.owner, "", noon.Add(time.Minute)); fault.From(err).Code != codes.NotFound {
		t.Errorf("a version that there is not: %v", err)
	}
	edits, err := d.Compare(t.Context(), d.owner, "", versions[2].Time, time.Time{})
	if want := []string{"1  > Likes tea", "2 home town = Bonn > home town = Oslo"}; err != nil || !slices.Equal(shown(edits), want) {
		t.Errorf("the differences are %q, %v", shown(edits), err)
	}
	d.must(d.Forget(t.Context(), d.owner, tea.ID))
	if old, err = d.DocumentAt(t.Context(), d.owner, "", versions[0].Time); err != nil || strings.Contains(old.Markdown, "tea") {
		t.Errorf("what was forgotten is in a version: %q, %v", old.Markdown, err)
	}
}

// TestDocumentsAreStable: whatever facts there are, the document is the same after it was written back, and that changes nothing.
func TestDocumentsAreStable(t *testing.T) {
	t.Parallel()
	book, n := open(t, sqlite(t)), 0
	text := rapid.StringOfN(rapid.SampledFrom([]rune("ab =#-*<!>x\n\t.é[]:")), 1, 20, -1)
	rapid.Check(t, func(r *rapid.T) {
		n++
		owner := store.Owner{Tenant: "t", Subject: fmt.Sprint("user", n)}
		for range rapid.IntRange(0, 4).Draw(r, "facts") {
			d := factbook.Draft{Entity: rapid.OneOf(rapid.Just(""), text).Draw(r, "entity"), Text: text.Draw(r, "text")}
			if rapid.Bool().Draw(r, "attribute") {
				d.Attribute, d.Value = text.Draw(r, "name"), text.Draw(r, "value")
			}
			if rapid.Bool().Draw(r, "sentence") && d.Attribute != "" {
				d.Text = ""
			}
			_, _ = book.Add(t.Context(), owner, d) // one that is refused is none
		}
		before, err := book.Document(t.Context(), owner, "")
		if err != nil {
			r.Fatal(err)
		}
		edits, after, err := book.Edit(t.Context(), owner, factbook.EditSpec{Markdown: before.Markdown})
		if err != nil || len(edits) > 0 || after != before {
			r.Fatalf("%q becomes %q with %+v, %v", before.Markdown, after.Markdown, edits, err)
		}
	})
}
