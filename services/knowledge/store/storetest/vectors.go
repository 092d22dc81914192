package storetest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/sqldb/plantest"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

// RunVectors runs the part of the suite about vectors on the empty database at url.
func RunVectors(t *testing.T, url string) {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "knowledge", Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		plantest.Check(t, db, "FROM banks b", "SELECT count(*) FROM documents WHERE tenant = $1", "SELECT count(*) FROM banks WHERE tenant = $1",
			"FROM spaces") // few, or read by sweeps
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	s, err := store.Open(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	t.Run("spaces", func(t *testing.T) { spaces(t, s) })
	t.Run("filling and switching", func(t *testing.T) { filling(t, s) })
	t.Run("leases", func(t *testing.T) { leases(t, s, &now) })
	t.Run("vectors follow their texts", func(t *testing.T) { vectorsOfVersions(t, s) })
	t.Run("what a search may compare", func(t *testing.T) { allowed(t, s) })
}

// vectors is a bank whose chunks get vectors.
type vectors struct {
	*ingestions
	store.Filler
}

func newVectors(t *testing.T, s *store.Store, tenant, model string) *vectors {
	t.Helper()
	v := &vectors{ingestions: newIngestions(t, s, tenant)}
	space, err := s.AddSpace(t.Context(), model, 2)
	v.must(err)
	v.Filler = store.Filler{BankKey: store.BankKey{Tenant: tenant, Bank: ingestBank}, Space: space.ID, Owner: "one", Lease: time.Minute}
	return v
}

// text ingests a document whose chunks are the parts; their hashes are the parts themselves.
func (v *vectors) text(name string, parts ...string) store.Document {
	v.Helper()
	in := store.Ingested{}
	for _, part := range parts {
		start := len(in.Text)
		in.Text += part
		in.Chunks = append(in.Chunks, store.Chunk{
			Start: start, End: len(in.Text), Heading: []string{"H"}, Counts: map[string]int{part: 1}, Length: 1, Hash: part,
		})
	}
	d, p := v.put(name, in.Text)
	_, err := v.FinishIngestion(v.Context(), p, in)
	v.must(err)
	return d
}

// claim takes the lease.
func (v *vectors) claim(want bool) {
	v.Helper()
	got, err := v.Claim(v.Context(), v.Filler)
	if err != nil || got != want {
		v.Errorf("%s claims %v, %v; want %v", v.Owner, got, err, want)
	}
}

// lack returns the texts of chunks without a vector.
func (v *vectors) lack() (texts []string) {
	v.Helper()
	list, err := v.Unembedded(v.Context(), v.Filler, 0, 100)
	v.must(err)
	for _, u := range list {
		if !slices.Equal(u.Heading, []string{"H"}) {
			v.Errorf("heading %v", u.Heading)
		}
		texts = append(texts, u.Text)
	}
	return texts
}

// fill stores vectors of at most n chunks that lack one.
func (v *vectors) fill(n int) {
	v.Helper()
	v.claim(true)
	list, err := v.Unembedded(v.Context(), v.Filler, 0, n)
	v.must(err)
	var rows []store.Vector
	for _, u := range list {
		rows = append(rows, store.Vector{Chunk: u.Chunk, Hash: u.Text, Code: []byte("12345678"), Vector: []byte("vector of " + u.Text)})
	}
	v.must(v.StoreVectors(v.Context(), v.Filler, rows))
}

// switched switches the bank to the space.
func (v *vectors) switched(want bool) {
	v.Helper()
	got, err := v.SwitchSpace(v.Context(), v.BankKey, v.Space)
	if err != nil || got != want {
		v.Errorf("switched %v, %v; want %v", got, err, want)
	}
}

// state returns how many vectors there are of the space, and the live space.
func (v *vectors) state() (n int64, live int64) {
	v.Helper()
	v.must(v.Snapshot(v.Context(), func(s store.Snapshot) error {
		state, err := s.VectorState(v.Context(), v.BankKey.Tenant, v.Bank, v.Space)
		n = state.Vectors
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		return err
	}))
	spaces, err := v.LiveSpaces(v.Context(), v.BankKey.Tenant, []string{v.Bank, "another"})
	v.must(err)
	return n, spaces[v.Bank].ID
}

// unfilled reports whether a sweep finds the bank.
func (v *vectors) unfilled() bool {
	v.Helper()
	list, err := v.Unfilled(v.Context(), v.Space, store.BankKey{}, 100)
	v.must(err)
	return slices.Contains(list, v.BankKey)
}

func spaces(t *testing.T, s *store.Store) {
	t.Helper()
	if _, err := s.Space(t.Context(), "p/m", 0); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a space that is not there: %v", err)
	}
	a, err := s.AddSpace(t.Context(), "p/m", 3)
	b, err2 := s.AddSpace(t.Context(), "p/m", 5)
	again, err3 := s.AddSpace(t.Context(), "p/m", 3)
	if err := errors.Join(err, err2, err3); err != nil {
		t.Fatal(err)
	}
	if a != again || a.ID == b.ID || a.Dimensions != 3 || a.Model != "p/m" {
		t.Errorf("%+v, %+v, %+v", a, b, again)
	}
	for dimensions, want := range map[int]store.Space{0: b, 3: a, 5: b} {
		if got, err := s.Space(t.Context(), "p/m", dimensions); err != nil || got != want {
			t.Errorf("of length %d: %+v, %v", dimensions, got, err)
		}
	}
	if got, err := s.LiveSpaces(t.Context(), "none", nil); err != nil || len(got) != 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func filling(t *testing.T, s *store.Store) {
	t.Helper()
	v := newVectors(t, s, "filling", "p/old")
	v.text("a", "one", "two")
	v.text("b", "three")
	v.claim(true)
	if lack := v.lack(); !slices.Equal(lack, []string{"one", "two", "three"}) || !v.unfilled() {
		t.Errorf("without vectors: %v", lack)
	}
	v.switched(false)
	v.fill(2)
	v.switched(false)
	if lack := v.lack(); !slices.Equal(lack, []string{"three"}) {
		t.Errorf("after some: %v", lack)
	}
	v.fill(2)
	v.switched(true)
	if n, live := v.state(); n != 3 || live != v.Space || v.unfilled() {
		t.Errorf("%d vectors, live %d", n, live)
	}
	old := v.Space
	next, err := s.AddSpace(t.Context(), "p/new", 2)
	v.must(err)
	v.Space = next.ID
	v.fill(2)
	if n, live := v.state(); n != 2 || live != old || !v.unfilled() {
		t.Errorf("beside the former space: %d vectors, live %d", n, live)
	}
	if more, err := s.TrimSpaces(t.Context(), v.BankKey, v.Space, 2); err != nil || more {
		t.Errorf("the live space is trimmed: %v, %v", more, err)
	}
	v.fill(2)
	v.switched(true)
	if !v.unfilled() {
		t.Error("the vectors of the former space are forgotten")
	}
	for _, want := range []bool{true, false} {
		if more, err := s.TrimSpaces(t.Context(), v.BankKey, v.Space, 2); err != nil || more != want {
			t.Errorf("trimmed: %v, %v", more, err)
		}
		if want {
			v.Space = old
			if n, _ := v.state(); n != 1 || len(v.lack()) != 2 {
				t.Errorf("after a part: %d vectors of the former space, %v lack one", n, v.lack())
			}
			v.switched(false)
			v.Space = next.ID
		}
	}
	n, live := v.state()
	v.Space = old
	if before, _ := v.state(); n != 3 || live != next.ID || before != 0 {
		t.Errorf("%d vectors, live %d, %d of the former space", n, live, before)
	}
	v.must(s.DeleteBank(t.Context(), v.BankKey.Tenant, v.Bank))
	if n, live := v.state(); n != 0 || live != 0 || v.unfilled() {
		t.Errorf("after the bank: %d vectors, live %d", n, live)
	}
	if claimed, err := s.Claim(t.Context(), v.Filler); err != nil || claimed {
		t.Errorf("a bank that is gone is claimed: %v, %v", claimed, err)
	}
	if err := s.StoreVectors(t.Context(), v.Filler, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("vectors of a bank that is gone: %v", err)
	}
}

func leases(t *testing.T, s *store.Store, now *time.Time) {
	t.Helper()
	v := newVectors(t, s, "leases", "p/m")
	v.text("a", "one")
	v.claim(true)
	v.claim(true) // again
	other := &vectors{ingestions: v.ingestions, Filler: v.Filler}
	other.Owner = "two"
	other.claim(false)
	if err := s.StoreVectors(t.Context(), other.Filler, nil); !errors.Is(err, store.ErrState) {
		t.Errorf("vectors of a process without the lease: %v", err)
	}
	*now = now.Add(2 * time.Minute)
	other.claim(true)
	v.claim(false)
	if err := s.StoreVectors(t.Context(), v.Filler, nil); !errors.Is(err, store.ErrState) {
		t.Errorf("vectors after the lease: %v", err)
	}
	v.must(s.Release(t.Context(), v.Filler)) // not its own
	v.claim(false)
	v.must(s.Release(t.Context(), other.Filler))
	v.claim(true)
}

func vectorsOfVersions(t *testing.T, s *store.Store) {
	t.Helper()
	v := newVectors(t, s, "versions", "p/m")
	v.text("a", "one", "two", "three")
	kept := v.text("b", "four")
	v.fill(100)
	v.switched(true)
	v.text("a", "new", "two", "one", "one")
	if lack := v.lack(); !slices.Equal(lack, []string{"new"}) {
		t.Errorf("of the next version %v lack a vector", lack)
	}
	if n, live := v.state(); n != 4 || live != v.Space {
		t.Errorf("%d vectors, live %d", n, live)
	}
	v.must(s.Snapshot(t.Context(), func(snapshot store.Snapshot) error {
		codes, err := snapshot.Codes(t.Context(), "versions", ingestBank, v.Space, 0, 100)
		if err != nil {
			return err
		}
		var ids []int64
		for _, c := range codes {
			ids = append(ids, c.Chunk)
		}
		list, err := snapshot.Vectors(t.Context(), store.Find{Tenant: "versions", Bank: ingestBank}, v.Space, ids)
		got := map[string]string{}
		for _, c := range list {
			got[fmt.Sprint(c.Document, c.Ordinal)] = string(c.Vector)
		}
		want := map[string]string{
			"doc_versionsa1": "vector of two", "doc_versionsa2": "vector of one", "doc_versionsa3": "vector of one",
			"doc_versionsb0": "vector of four",
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%v, want %v", got, want)
		}
		return err
	}))
	v.must(s.DeleteDocument(t.Context(), "versions", ingestBank, kept.ID))
	if n, _ := v.state(); n != 3 {
		t.Errorf("%d vectors after a deletion", n)
	}
	// A chunk that is deleted while its vector is made gets none.
	list, err := s.Unembedded(t.Context(), v.Filler, 0, 100)
	v.must(err)
	v.text("a", "last")
	v.must(s.StoreVectors(t.Context(), v.Filler, []store.Vector{{Chunk: list[0].Chunk, Hash: "new", Code: []byte("12345678")}}))
	if n, _ := v.state(); n != 0 {
		t.Errorf("%d vectors of deleted chunks", n)
	}
}

func allowed(t *testing.T, s *store.Store) {
	t.Helper()
	v := newVectors(t, s, "compared", "p/m")
	labels := map[string][]string{"open": nil, "red": {"red"}, "both": {"red", "green"}}
	for _, name := range []string{"open", "red", "both"} {
		d := v.text(name, name)
		d.Labels, d.Attributes = labels[name], map[string]string{"kind": name[:1], "x": "y"}
		_, err := s.PutDocument(t.Context(), store.Put{Document: d, Limit: 100, Visible: func(store.Document) bool { return true }})
		v.must(err)
	}
	v.fill(100)
	for _, row := range []struct {
		find store.Find
		want []string
	}{
		{find: store.Find{}, want: []string{"open"}},
		{find: store.Find{Labels: []string{"red"}}, want: []string{"open", "red"}},
		{find: store.Find{Labels: []string{"red", "green", "blue"}}, want: []string{"both", "open", "red"}},
		{find: store.Find{Labels: []string{"red"}, Attributes: map[string]string{"kind": "r", "x": "y"}}, want: []string{"red"}},
		{find: store.Find{Labels: []string{"red"}, Attributes: map[string]string{"kind": "r", "x": "z"}}},
		{find: store.Find{Tenant: "filling", Labels: []string{"red"}}},
		{find: store.Find{Bank: "another", Labels: []string{"red"}}},
	} {
		find := row.find
		if find.Tenant == "" {
			find.Tenant = "compared"
		}
		if find.Bank == "" {
			find.Bank = ingestBank
		}
		v.must(s.Snapshot(t.Context(), func(snapshot store.Snapshot) error {
			codes, err := snapshot.Codes(t.Context(), "compared", ingestBank, v.Space, 0, 100)
			if err != nil {
				return err
			}
			readable, err := snapshot.Readable(t.Context(), find)
			if err != nil {
				return err
			}
			var ids []int64
			var byMemory, bySQL []string
			for _, c := range codes {
				ids = append(ids, c.Chunk)
				if readable.Has(c.Document) {
					byMemory = append(byMemory, c.Document[len("doc_compared"):])
				}
			}
			list, err := snapshot.Vectors(t.Context(), find, v.Space, ids)
			for _, c := range list {
				bySQL = append(bySQL, c.Document[len("doc_compared"):])
			}
			slices.Sort(byMemory)
			slices.Sort(bySQL)
			if !slices.Equal(bySQL, row.want) || row.find.Tenant+row.find.Bank == "" && !slices.Equal(byMemory, row.want) {
				t.Errorf("%+v: %v and %v, want %v", row.find, bySQL, byMemory, row.want)
			}
			return err
		}))
	}
}
