// Package storetest is the suite that every engine of the knowledge store passes.
package storetest

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/sqldb/plantest"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

var begin = time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)

// suite is a store under test.
type suite struct{ *store.Store }

// Run runs the suite on the empty database at url.
func Run(t *testing.T, url string) {
	t.Helper()
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: url, Schema: "knowledge", MaxConns: 1, SecureDelete: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		plantest.Check(t, db, "count(*) FROM banks", "count(*) FROM documents") // there is a limit of both
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	var s suite
	for range 2 { // a second migration finds nothing to do
		if s.Store, err = store.Open(context.WithoutCancel(t.Context()), db); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("banks", s.banks)
	t.Run("documents", s.documents)
	t.Run("versions", s.versions)
	t.Run("labels", s.labels)
	t.Run("pages of documents", s.pages)
	t.Run("limits", s.limits)
	t.Run("deletion", s.deletion)
	t.Run("facts", s.facts)
}

func (s suite) bank(t *testing.T, tenant, id string) store.Bank {
	t.Helper()
	b := store.Bank{
		Tenant: tenant, ID: id, Subject: "alice", DisplayName: "é \"quoted\"", Description: "d", CreateTime: begin, UpdateTime: begin,
	}
	if err := s.CreateBank(t.Context(), b, 100); err != nil {
		t.Fatal(err)
	}
	return b
}

func (s suite) banks(t *testing.T) {
	want := s.bank(t, "t1", "red")
	s.bank(t, "t1", "blue")
	s.bank(t, "t2", "red")
	if err := s.CreateBank(t.Context(), want, 100); !errors.Is(err, store.ErrExists) {
		t.Errorf("a second one of the id: %v", err)
	}
	if err := s.CreateBank(t.Context(), store.Bank{Tenant: "t1", ID: "green"}, 2); !errors.Is(err, store.ErrTooMany) {
		t.Errorf("one more than the limit: %v", err)
	}
	if got, err := s.Bank(t.Context(), "t1", "red"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("read: %+v, %v", got, err)
	}
	list, err := s.Banks(t.Context(), "t1", "", 9)
	if err != nil || len(list) != 2 || list[0].ID != "blue" || list[1].ID != "red" {
		t.Errorf("list: %+v, %v", list, err)
	}
	if after, err := s.Banks(t.Context(), "t1", "blue", 1); err != nil || len(after) != 1 || after[0].ID != "red" {
		t.Errorf("second page: %+v, %v", after, err)
	}
	no := errors.New("no")
	if _, err := s.UpdateBank(t.Context(), "t1", "red", func(b *store.Bank) error { b.Description = "x"; return no }); !errors.Is(err, no) {
		t.Errorf("a change that was refused: %v", err)
	}
	changed, err := s.UpdateBank(t.Context(), "t1", "red", func(b *store.Bank) error {
		b.DisplayName, b.Description, b.UpdateTime = "", "new", begin.Add(time.Hour)
		return nil
	})
	if got, e := s.Bank(t.Context(), "t1", "red"); err != nil || e != nil || !reflect.DeepEqual(got, changed) || got.Description != "new" {
		t.Errorf("changed: %+v, %v, %v", got, err, e)
	}
	if err := s.DeleteBank(t.Context(), "t1", "red"); err != nil {
		t.Fatal(err)
	}
	_, read := s.Bank(t.Context(), "t1", "red")
	_, update := s.UpdateBank(t.Context(), "t1", "red", func(*store.Bank) error { return nil })
	_, put := s.PutDocument(t.Context(), document("t1", "red", "a.md", "1", "x"))
	for what, err := range map[string]error{"read": read, "update": update, "put": put, "delete": s.DeleteBank(t.Context(), "t1", "red")} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s after it is gone: %v", what, err)
		}
	}
	if _, err := s.Bank(t.Context(), "t2", "red"); err != nil {
		t.Errorf("that of the other tenant: %v", err)
	}
}

// document returns a document to store whose ids end with n.
func document(tenant, bank, name, n, content string) store.Put {
	return store.Put{
		Document: store.Document{
			Tenant: tenant, ID: "doc_" + n, Bank: bank, Name: name, Subject: "alice", MediaType: "text/markdown", SHA256: "sum-" + content,
			Size: int64(len(content)), LatestVersion: "ver_" + n, Labels: []string{"secret", "hr"}, Attributes: map[string]string{"year": "2026"},
			CreateTime: begin, UpdateTime: begin,
		},
		Data: []byte(content), Limit: 1000, Visible: func(store.Document) bool { return true },
	}
}

func (s suite) put(t *testing.T, p store.Put) store.Document {
	t.Helper()
	d, err := s.PutDocument(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Document(t.Context(), d.Tenant, d.Bank, d.ID)
	if err != nil || !reflect.DeepEqual(got, d) {
		t.Errorf("stored %+v, read %+v, %v", d, got, err)
	}
	return d
}

func (s suite) documents(t *testing.T) {
	s.bank(t, "docs", "b")
	s.bank(t, "docs", "other")
	d := s.put(t, document("docs", "b", "a.md", "1", "one"))
	if d.State != store.Queued || d.Version != "" || d.LatestVersion != "ver_1" || !slices.Equal(d.Labels, []string{"hr", "secret"}) {
		t.Errorf("stored %+v", d)
	}
	if data, err := s.Content(t.Context(), "docs", d.SHA256); err != nil || string(data) != "one" {
		t.Errorf("content %q, %v", data, err)
	}
	for what, at := range map[string][3]string{
		"another bank": {"docs", "other", "doc_1"}, "another tenant": {"t2", "b", "doc_1"}, "another id": {"docs", "b", "doc_2"},
	} {
		if _, err := s.Document(t.Context(), at[0], at[1], at[2]); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: %v", what, err)
		}
	}
	same := s.put(t, document("docs", "other", "a.md", "2", "one"))
	if same.ID != "doc_2" {
		t.Errorf("the name is taken in another bank: %+v", same)
	}
}

func (s suite) versions(t *testing.T) {
	s.bank(t, "vers", "b")
	first := s.put(t, document("vers", "b", "a.md", "1", "one"))
	if again := s.put(t, document("vers", "b", "a.md", "2", "one")); !reflect.DeepEqual(again, first) {
		t.Errorf("the same content makes %+v", again)
	}
	hidden := document("vers", "b", "a.md", "3", "three")
	hidden.Visible = func(store.Document) bool { return false }
	if _, err := s.PutDocument(t.Context(), hidden); !errors.Is(err, store.ErrHidden) {
		t.Errorf("over a hidden document: %v", err)
	}
	p := document("vers", "b", "a.md", "4", "four")
	p.Document.UpdateTime = begin.Add(time.Hour)
	second := s.put(t, p)
	if second.ID != "doc_1" || second.LatestVersion != "ver_4" || !second.UpdateTime.Equal(begin.Add(time.Hour)) || second.Size != 4 ||
		!second.CreateTime.Equal(begin) {
		t.Errorf("other content makes %+v", second)
	}
	if _, err := s.Content(t.Context(), "vers", first.SHA256); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("content of the version that was never ready: %v", err)
	}
	if text, err := s.Text(t.Context(), second, "ver_4", 0, 10); err != nil || len(text.Data) != 0 || text.Size != 0 {
		t.Errorf("text that was not read yet: %+v, %v", text, err)
	}
	if _, err := s.Text(t.Context(), second, "ver_1", 0, 10); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("text of a version that is gone: %v", err)
	}
	relabelled := document("vers", "b", "a.md", "5", "four")
	relabelled.Document.Labels, relabelled.Document.Attributes = nil, nil
	if d := s.put(t, relabelled); d.LatestVersion != "ver_4" || len(d.Labels) != 0 || len(d.Attributes) != 0 {
		t.Errorf("other labels make %+v", d)
	}
}

func (s suite) labels(t *testing.T) {
	s.bank(t, "labels", "b")
	for i, labels := range [][]string{nil, {"hr"}, {"hr", "secret"}} {
		p := document("labels", "b", string(rune('a'+i)), string(rune('1'+i)), "x")
		p.Document.Labels = labels
		s.put(t, p)
	}
	all, err := s.Labels(t.Context(), "labels", "b")
	if err != nil || !slices.Equal(all, []string{"hr", "secret"}) {
		t.Errorf("labels %v, %v", all, err)
	}
	for _, row := range []struct {
		allowed []string
		want    int
	}{{nil, 1}, {[]string{"hr"}, 2}, {[]string{"secret"}, 1}, {all, 3}} {
		got, err := s.Documents(t.Context(), "labels", "b", row.allowed, "", 9)
		if err != nil || len(got) != row.want {
			t.Errorf("with %v: %d documents, %v; want %d", row.allowed, len(got), err, row.want)
		}
	}
}

func (s suite) pages(t *testing.T) {
	s.bank(t, "pages", "b")
	for _, n := range []string{"1", "2", "3"} {
		p := document("pages", "b", "n"+n, n, n)
		p.Document.Labels = nil
		s.put(t, p)
	}
	var got []string
	before := ""
	for {
		page, err := s.Documents(t.Context(), "pages", "b", nil, before, 2)
		if err != nil {
			t.Fatal(err)
		}
		if len(page) == 0 {
			break
		}
		for _, d := range page {
			got = append(got, d.ID)
		}
		before = page[len(page)-1].ID
	}
	if !slices.Equal(got, []string{"doc_3", "doc_2", "doc_1"}) {
		t.Errorf("listed %v", got)
	}
}

func (s suite) limits(t *testing.T) {
	s.bank(t, "limits", "b")
	s.bank(t, "limits", "c")
	s.put(t, document("limits", "b", "a", "1", "x"))
	p := document("limits", "c", "b", "2", "x")
	p.Limit = 1
	if _, err := s.PutDocument(t.Context(), p); !errors.Is(err, store.ErrTooMany) {
		t.Errorf("one more than the limit: %v", err)
	}
	p = document("limits", "b", "a", "3", "y")
	p.Limit = 1
	s.put(t, p) // a new version is no new document
}

func (s suite) deletion(t *testing.T) {
	s.bank(t, "del", "b")
	s.bank(t, "del", "c")
	for i, bank := range []string{"b", "b", "c"} {
		n := string(rune('1' + i))
		s.put(t, document("del", bank, n, n, "same"))
	}
	if err := s.DeleteDocument(t.Context(), "del", "b", "doc_3"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("one of another bank: %v", err)
	}
	sum := "sum-same"
	for _, step := range []struct {
		name   string
		remove func() error
		left   bool
	}{
		{"a document", func() error { return s.DeleteDocument(t.Context(), "del", "b", "doc_1") }, true},
		{"a bank", func() error { return s.DeleteBank(t.Context(), "del", "b") }, true},
		{"the last document with the content", func() error { return s.DeleteDocument(t.Context(), "del", "c", "doc_3") }, false},
	} {
		if err := step.remove(); err != nil {
			t.Fatalf("delete %s: %v", step.name, err)
		}
		if _, err := s.Content(t.Context(), "del", sum); errors.Is(err, store.ErrNotFound) == step.left {
			t.Errorf("content after %s was deleted: %v", step.name, err)
		}
	}
	labels, err := s.Labels(t.Context(), "del", "b")
	if err != nil || len(labels) != 0 {
		t.Errorf("labels that are left: %v, %v", labels, err)
	}
	if err := s.DeleteDocument(t.Context(), "del", "c", "doc_3"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("deleted twice: %v", err)
	}
	if err := s.Purge(t.Context()); err != nil {
		t.Error(err)
	}
}
