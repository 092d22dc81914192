package factbook_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testmain"
	"github.com/windlass-dev/windlass/libs/testpg"
	"github.com/windlass-dev/windlass/services/knowledge/factbook"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

func TestMain(m *testing.M) { testmain.Verify(testpg.Main{M: m}) }

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// open returns a book in the database at url.
func open(t *testing.T, url string) *factbook.Book {
	t.Helper()
	book, _ := openWith(t, url)
	return book
}

// openWith returns a book with its store.
func openWith(t *testing.T, url string) (*factbook.Book, *store.Store) {
	t.Helper()
	return openClock(t, url, func() time.Time { return noon })
}

// openAt returns a book with a clock.
func openAt(t *testing.T, url string, now func() time.Time) *factbook.Book {
	t.Helper()
	book, _ := openClock(t, url, now)
	return book
}

func openClock(t *testing.T, url string, now func() time.Time) (*factbook.Book, *store.Store) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{
		URL: url, Schema: "knowledge", MaxConns: 2, SecureDelete: true, Now: now,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	st, err := store.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	marker, err := factbook.NewMarker(secret.New(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	return factbook.New(st, marker), st
}

func sqlite(t *testing.T) string {
	t.Helper()
	return "sqlite:" + filepath.Join(t.TempDir(), "knowledge.db")
}

func TestCasesOnSQLite(t *testing.T) { testCases(t, open(t, sqlite(t))) }

func TestCasesOnPostgres(t *testing.T) { testCases(t, open(t, testpg.URL(t))) }

func testCases(t *testing.T, book *factbook.Book) {
	t.Helper()
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := story{Book: book, T: t, tenant: "t" + strconv.Itoa(i)}
			for line := range strings.Lines(c.steps) {
				do, want, _ := strings.Cut(strings.TrimRight(line, "\n"), " => ")
				if got := s.step(do); want != "" && got != want {
					t.Errorf("%q: %s, want %s", do, got, want)
				}
			}
			if got := s.view("ann"); got != c.want {
				t.Errorf("known: %q, want %q", got, c.want)
			}
		})
	}
}

// story runs the steps of a case.
type story struct {
	*factbook.Book
	*testing.T
	tenant string
}

var outcomes = map[factbook.Outcome]string{
	factbook.Remembered: "remembered", factbook.Known: "known", factbook.Proposed: "proposed", factbook.Forgotten: "forgotten",
	factbook.Off: "off", factbook.Past: "past", factbook.Full: "full",
}

// step does one step and returns what became of it.
func (s story) step(text string) string {
	who, rest, other := strings.Cut(text, "@")
	if !other {
		who, rest = "ann", text
	}
	agent, action, ofAgent := strings.Cut(rest, "/")
	if !ofAgent {
		agent, action = "", rest
	}
	verb, what, _ := strings.Cut(action, " ")
	o := store.Owner{Tenant: s.tenant, Subject: who}
	d := parse(s.T, what)
	d.AgentID = agent
	var err error
	switch verb {
	case "said", "read":
		d.TurnID, d.Tainted = "trn_1", verb == "read"
		var out factbook.Outcome
		if out, _, err = s.Remember(s.Context(), o, d); err == nil {
			return outcomes[out]
		}
	case "wrote":
		_, err = s.Add(s.Context(), o, d)
	case "on", "off":
		err = s.SetOff(s.Context(), o, verb == "off")
	case "forget":
		if what == "all" {
			_, err = s.ForgetAll(s.Context(), o)
		} else {
			err = s.Forget(s.Context(), o, s.find(o, d, true))
		}
	case "correct":
		_, err = s.Correct(s.Context(), o, s.find(o, d, false), factbook.Correction{Value: &d.Value})
	case "accept":
		_, err = s.Correct(s.Context(), o, s.find(o, d, true), factbook.Correction{State: store.FactActive})
	case "reject":
		_, err = s.Correct(s.Context(), o, s.find(o, d, true), factbook.Correction{State: store.FactRejected})
	default:
		s.Fatalf("unknown step %q", text)
	}
	if err == nil {
		return "done"
	}
	name := map[codes.Code]string{codes.NotFound: "missing", codes.InvalidArgument: "invalid", codes.FailedPrecondition: "refused"}
	return name[fault.From(err).Code]
}

// parse reads what a step is about.
func parse(t *testing.T, text string) (d factbook.Draft) {
	t.Helper()
	name, value, found := strings.Cut(text, " = ")
	if !found {
		return factbook.Draft{Text: text}
	}
	day := func(mark string) (at time.Time) {
		rest, date, found := strings.Cut(value, " "+mark+" ")
		if !found {
			return at
		}
		value = rest
		at, err := time.Parse("2006-01-02", date)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	d.ValidTo = day("to")
	d.ValidFrom = day("from")
	d.Value, d.Attribute = value, name
	if entity, attribute, of := strings.Cut(name, ": "); of {
		d.Entity, d.Attribute = entity, attribute
	}
	return d
}

// find returns the id of the newest fact that a step is about, "fct_none" if there is none.
func (s story) find(o store.Owner, d factbook.Draft, value bool) string {
	all, err := s.All(s.Context(), o)
	if err != nil {
		s.Fatal(err)
	}
	for _, f := range all {
		if strings.EqualFold(f.Attribute, d.Attribute) && (!value || f.Value == d.Value) && (d.Entity == "" || f.Entity == d.Entity) &&
			(d.Entity != "" || f.Entity == "user") {
			return f.ID
		}
	}
	return "fct_none"
}

// view returns what a turn may use of the memory of a user, and what is proposed.
func (s story) view(who string) string {
	o := store.Owner{Tenant: s.tenant, Subject: who}
	recalled, err := s.Recall(s.Context(), o, "other", "", func(store.Fact) int { return 1 })
	if err != nil {
		s.Fatal(err)
	}
	proposed, err := s.List(s.Context(), o, []string{store.FactProposed}, "", "", 100)
	if err != nil {
		s.Fatal(err)
	}
	var out []string
	for _, r := range recalled {
		out = append(out, show(r.Fact))
	}
	for _, f := range proposed {
		out = append(out, "?"+show(f))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

func show(f store.Fact) string {
	switch {
	case f.Attribute == "":
		return f.Text
	case f.Entity == "user":
		return strings.TrimPrefix(f.Attribute, "my ") + "=" + f.Value
	default:
		return strings.ToLower(strings.TrimSuffix(strings.TrimPrefix(f.Entity, "my "), "'s")) + "." + f.Attribute + "=" + f.Value
	}
}

var ann = store.Owner{Tenant: "default", Subject: "ann"}

func TestForgottenIsInNoFile(t *testing.T) {
	const nonce = "zx81-quagga-7731"
	url := sqlite(t)
	book := open(t, url)
	for i := range 40 { // around the fact in the same pages
		if _, err := book.Add(t.Context(), ann, factbook.Draft{Attribute: "key " + strconv.Itoa(i), Value: "value"}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := book.Add(t.Context(), ann, factbook.Draft{Attribute: "secret", Value: nonce})
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Dir(strings.TrimPrefix(url, "sqlite:"))
	if !inFiles(t, dir, nonce) {
		t.Fatal("the fact is in no file even before")
	}
	if err := book.Forget(t.Context(), ann, f.ID); err != nil {
		t.Fatal(err)
	}
	if inFiles(t, dir, nonce) {
		t.Error("the forgotten fact is still in a file")
	}
	if left, err := book.All(t.Context(), ann); err != nil || len(left) != 40 || strings.Contains(factbook.Markdown(left), nonce) {
		t.Errorf("%d facts are left, %v", len(left), err)
	}
}

// inFiles reports whether a file of a directory has a text.
func inFiles(t *testing.T, dir, text string) bool {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(data), text) {
			return true
		}
	}
	return false
}

func TestRecall(t *testing.T) {
	book := open(t, sqlite(t))
	add := func(entity, attribute, value string) {
		t.Helper()
		if _, err := book.Add(t.Context(), ann, factbook.Draft{Entity: entity, Attribute: attribute, Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	add("", "last cluster", "prod-7")
	for i := range 60 {
		add("server "+strconv.Itoa(i), "rack", "r"+strconv.Itoa(i))
	}
	add("", "favourite colour", "green")
	for _, row := range []struct{ name, input, want string }{
		{"the words of a question come first", "What was the last cluster I registered?", "words last cluster"},
		{"in another number too", "Which clusters do I have?", "words last cluster"},
		{"among many entities", "Where is server 17?", "words rack"},
		{"without common words the user comes first", "Hello!", "user favourite colour"},
		{"in no language", "¿?", "user favourite colour"},
	} {
		got, err := book.Recall(t.Context(), ann, "a", row.input, func(store.Fact) int { return 20 })
		if err != nil || len(got) == 0 || len(got) > factbook.MaxTokens/20 || got[0].Reason+" "+got[0].Attribute != row.want {
			t.Errorf("%s: %v, %v", row.name, got, err)
		}
		if row.want == "words rack" && got[0].Value != "r17" {
			t.Errorf("%s: the first fact is %v", row.name, got[0])
		}
	}
	if got, err := book.Recall(t.Context(), ann, "a", "cluster", func(store.Fact) int { return 600 }); err != nil || len(got) != 1 {
		t.Errorf("what is too long: %d facts, %v", len(got), err)
	}
}

func TestATurnKeepsWhatItBeganWith(t *testing.T) {
	book := open(t, sqlite(t))
	ctx := context.Background()
	_, before, err := book.Remember(ctx, ann, factbook.Draft{Attribute: "city", Value: "Oslo", TurnID: "trn_1"})
	if err != nil {
		t.Fatal(err)
	}
	_, after, err := book.Remember(ctx, ann, factbook.Draft{Attribute: "city", Value: "Bonn", TurnID: "trn_2"})
	if err != nil {
		t.Fatal(err)
	}
	read := func() []store.Fact {
		t.Helper()
		got, err := book.Read(ctx, ann, []string{after.ID, "fct_none", before.ID})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := read(); len(got) != 2 || got[0].ID != after.ID || got[1].SupersededBy != after.ID {
		t.Errorf("read %v", got)
	}
	if err := book.Forget(ctx, ann, after.ID); err != nil {
		t.Fatal(err)
	}
	if got := read(); len(got) != 1 || got[0].ID != before.ID || got[0].SupersededBy != "" {
		t.Errorf("after forgetting: %v", got)
	}
	if err := book.SetOff(ctx, ann, true); err != nil {
		t.Fatal(err)
	}
	if got := read(); len(got) != 0 {
		t.Errorf("when memory is off: %v", got)
	}
}

func TestAMemoryHasABound(t *testing.T) {
	book, st := openWith(t, sqlite(t))
	for i := range 25 {
		if _, err := book.Add(t.Context(), ann, factbook.Draft{Attribute: "city", Value: strconv.Itoa(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := book.All(t.Context(), ann); err != nil || len(all) != 21 {
		t.Errorf("%d values of one attribute are kept, %v", len(all), err)
	}
	err := st.ChangeMemory(t.Context(), ann, func(store.Memory) (c store.FactChange, _ error) {
		for i := range factbook.MaxFacts - 21 {
			n := strconv.Itoa(i)
			c.Add = append(c.Add, store.Fact{ID: "fct_" + n, Text: "note " + n, State: store.FactActive, ValidFrom: noon})
		}
		return c, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := book.Add(t.Context(), ann, factbook.Draft{Text: "one more"}); fault.From(err).Code != codes.FailedPrecondition {
		t.Errorf("one more: %v", err)
	}
	if out, _, err := book.Remember(t.Context(), ann, factbook.Draft{Attribute: "job", Value: "cook"}); err != nil || out != factbook.Full {
		t.Errorf("a model's: %v, %v", out, err)
	}
}
