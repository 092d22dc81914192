package embed_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/sqldb"
	"github.com/windlass-dev/windlass/libs/testdb"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/knowledge/embed"
	"github.com/windlass-dev/windlass/services/knowledge/embed/embedtest"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

var tables = testdb.New("knowledge", func(ctx context.Context, db *sqldb.DB) error {
	_, err := store.Open(ctx, db)
	return err
})

// kit is a bank whose chunks get vectors.
type kit struct {
	*testing.T
	*embedtest.Models
	store *store.Store
	fails *failing
	now   time.Time
	next  int
}

// failing fails the call of the store that has this number, from 1.
type failing struct {
	*store.Store
	at, calls int
}

var errKilled = errors.New("killed")

func (f *failing) fail() error {
	if f.calls++; f.calls == f.at {
		return errKilled
	}
	return nil
}

func (f *failing) StoreVectors(ctx context.Context, who store.Filler, vectors []store.Vector) error {
	if err := f.fail(); err != nil {
		return err
	}
	return f.Store.StoreVectors(ctx, who, vectors)
}

func (f *failing) SwitchSpace(ctx context.Context, k store.BankKey, space int64) (bool, error) {
	if err := f.fail(); err != nil {
		return false, err
	}
	live, err := f.Store.SwitchSpace(ctx, k, space)
	return live, errors.Join(err, f.fail())
}

func (f *failing) Claim(ctx context.Context, who store.Filler) (bool, error) {
	claimed, err := f.Store.Claim(ctx, who)
	return claimed, errors.Join(err, f.fail())
}

func (f *failing) Release(ctx context.Context, who store.Filler) error {
	if f.at > 0 && f.calls >= f.at && who.Owner == "one" {
		return nil // it is dead
	}
	return f.Store.Release(ctx, who)
}

func (f *failing) TrimSpaces(ctx context.Context, k store.BankKey, live int64, limit int) (bool, error) {
	if err := f.fail(); err != nil {
		return false, err
	}
	return f.Store.TrimSpaces(ctx, k, live, limit)
}

func newKit(t *testing.T) *kit {
	t.Helper()
	k := &kit{T: t, Models: &embedtest.Models{}, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	db, err := sqldb.Open(t.Context(), sqldb.Config{URL: tables.SQLite(t), Schema: "knowledge", Now: func() time.Time { return k.now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	k.store, err = store.Open(t.Context(), db)
	k.must(err)
	k.fails = &failing{Store: k.store}
	k.must(k.store.CreateBank(t.Context(), store.Bank{Tenant: "one", ID: "a"}, 10))
	return k
}

func (k *kit) must(err error) {
	k.Helper()
	if err != nil {
		k.Fatal(err)
	}
}

// add stores a document of n chunks.
func (k *kit) add(n int) {
	k.Helper()
	k.next++
	in := store.Ingested{}
	for i := range n {
		part := fmt.Sprintf("chunk %d of %d. ", i, k.next)
		start := len(in.Text)
		in.Text += part
		in.Chunks = append(in.Chunks, store.Chunk{
			Start: start, End: len(in.Text), Heading: []string{"Title"}, Hash: embed.Hash(embed.Text([]string{"Title"}, part)),
		})
	}
	sum, version := sha256.Sum256([]byte(in.Text)), fmt.Sprintf("ver_%d", k.next)
	_, err := k.store.PutDocument(k.Context(), store.Put{
		Document: store.Document{
			Tenant: "one", ID: fmt.Sprintf("doc_%d", k.next), Bank: "a", Name: fmt.Sprint(k.next), SHA256: hex.EncodeToString(sum[:]),
			LatestVersion: version,
		},
		Data: []byte(in.Text), Limit: 1000, Visible: func(store.Document) bool { return true },
	})
	k.must(err)
	_, err = k.store.FinishIngestion(k.Context(), store.Pending{Tenant: "one", Version: version}, in)
	k.must(err)
}

// fill makes vectors with a model as a process.
func (k *kit) fill(owner, model string) error {
	k.Helper()
	m := embed.NewModels(k.Models, embed.Options{Model: model, Timeout: time.Minute, Now: k.store.Now})
	f, err := embed.NewFiller(embed.Config{Owner: owner, Interval: time.Hour}, k.fails, m, slog.New(slog.DiscardHandler))
	k.must(err)
	return f.Fill(k.Context())
}

// live returns the model whose vectors the bank uses, and how many chunks lack one.
func (k *kit) live() (model string, lacking int) {
	k.Helper()
	spaces, err := k.store.LiveSpaces(k.Context(), "one", []string{"a"})
	k.must(err)
	s := spaces["a"]
	list, err := k.store.Unembedded(k.Context(), store.Filler{BankKey: store.BankKey{Tenant: "one", Bank: "a"}, Space: s.ID}, 0, 10_000)
	k.must(err)
	return s.Model, len(list)
}

// once reports whether each chunk was embedded as often as wanted.
func (k *kit) once(chunks, want int) {
	k.Helper()
	n := 0
	for text, times := range k.Texts() {
		if strings.HasPrefix(text, "Title\nchunk") {
			n++
			if times != want {
				k.Errorf("%q was embedded %d times, want %d", text, times, want)
			}
		}
	}
	if n != chunks {
		k.Errorf("%d chunks were embedded, want %d", n, chunks)
	}
}

// TestEachChunkIsEmbeddedOnce: also if calls of the model fail, each of them in turn. What is stored is not asked again.
func TestEachChunkIsEmbeddedOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.add(150)
	for failed := range 5 { // the calls: of the length, three batches
		calls := 0
		k.Answer(func(_ context.Context, req *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
			if calls++; calls == 2 && failed < 4 {
				return away(t.Context(), req)
			}
			return k.Usual(req), nil
		})
		err := k.fill("one", "p/m")
		if model, lacking := k.live(); failed < 3 && (err == nil || model != "") || failed > 3 && (err != nil || model != "p/m" || lacking > 0) {
			t.Errorf("run %d: %v, model %q, %d chunks without a vector", failed, err, model, lacking)
		}
	}
	k.once(150, 1)
	calls := k.Calls()
	k.must(k.fill("one", "p/m"))
	k.must(k.fill("another", "p/m"))
	if k.Calls() != calls {
		t.Errorf("%d calls with nothing to do", k.Calls()-calls)
	}
	k.Answer(nil)
	k.add(3)
	k.must(k.fill("another", "p/m"))
	k.once(153, 1)
}

// TestAKilledFillerLosesABatch: a process that ends at any line, whose lease then ends, makes at most one batch again.
func TestAKilledFillerLosesABatch(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		k := newKit(t)
		k.add(70)
		k.fails.at = at
		err := k.fill("one", "p/m")
		if err == nil {
			if at < 5 {
				t.Errorf("only %d lines were tried", at)
			}
			return
		}
		if !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		k.now = k.now.Add(time.Hour)
		k.must(k.fill("two", "p/m"))
		twice := 0
		for _, n := range k.Texts() {
			if n > 1 {
				twice++
			}
		}
		if model, lacking := k.live(); model != "p/m" || lacking != 0 || twice > 65 {
			t.Errorf("killed at %d: model %q, %d chunks without a vector, %d embedded again", at, model, lacking, twice)
		}
	}
}

func TestANewModelFillsBesideTheFormer(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.add(100)
	k.must(k.fill("one", "p/old"))
	calls := 0
	k.Answer(func(ctx context.Context, req *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
		if calls++; calls == 3 {
			return away(ctx, req)
		}
		return k.Usual(req), nil
	})
	if err := k.fill("one", "p/new"); err == nil {
		t.Error("a model that is away is no error")
	}
	if model, lacking := k.live(); model != "p/old" || lacking != 0 {
		t.Errorf("meanwhile: model %q, %d chunks without a vector", model, lacking)
	}
	k.must(k.fill("one", "p/new"))
	if model, lacking := k.live(); model != "p/new" || lacking != 0 {
		t.Errorf("then: model %q, %d chunks without a vector", model, lacking)
	}
	k.once(100, 2)
}

// TestHostileAnswersStoreNothing: whatever is wrong with an answer, no vector is stored, and the next one that is right is.
func TestHostileAnswersStoreNothing(t *testing.T) {
	t.Parallel()
	for _, row := range hostile {
		if row.name == "late" { // it takes its minute
			continue
		}
		k := newKit(t)
		k.add(1)
		k.Answer(answers([]float32{3, 4}))
		if _, err := k.store.AddSpace(t.Context(), "p/m", 2); err != nil {
			t.Fatal(err)
		}
		k.Answer(row.answer)
		err := k.fill("one", "p/m")
		if model, _ := k.live(); err == nil || model != "" {
			t.Errorf("%s: %v, model %q", row.name, err, model)
		}
		k.Answer(answers([]float32{3, 4}))
		k.must(k.fill("one", "p/m"))
		if model, lacking := k.live(); model != "p/m" || lacking != 0 {
			t.Errorf("after %s: model %q, %d chunks without a vector", row.name, model, lacking)
		}
	}
}

// TestATextThatIsRefusedKeepsNoOtherBack: it is found by its words only, as is one to which the model gives no direction.
func TestATextThatIsRefusedKeepsNoOtherBack(t *testing.T) {
	t.Parallel()
	k := newKit(t)
	k.add(40)
	k.Answer(func(ctx context.Context, req *inferencev1.EmbedRequest) (*inferencev1.EmbedResponse, error) {
		for _, text := range req.GetTexts() {
			if strings.Contains(text, "chunk 17 ") {
				return refuses(ctx, req)
			}
			if strings.Contains(text, "chunk 23 ") {
				return answers([]float32{nan})(ctx, req)
			}
		}
		out := k.Usual(req)
		for i, text := range req.GetTexts() {
			if strings.Contains(text, "chunk 3 ") {
				clear(out.GetEmbeddings()[i].GetValues())
			}
		}
		return out, nil
	})
	k.must(k.fill("one", "p/m"))
	if model, lacking := k.live(); model != "p/m" || lacking != 0 {
		t.Errorf("model %q, %d chunks without a vector", model, lacking)
	}
	k.once(38, 1)
}
