package embed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/fault"
	inferencev1 "github.com/windlass-dev/windlass/proto/gen/windlass/inference/v1"
	"github.com/windlass-dev/windlass/services/knowledge/dense"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// batchTexts is the number of texts of one call, whose vectors are stored together: what a killed process loses at most.
	batchTexts = 64
	// bankBatches is the number of batches after which it is another bank's turn.
	bankBatches = 16
	// bankPage is the number of banks that are read at a time.
	bankPage = 100
	// embedTimeout bounds a call, and lease is the time for which a process has a bank after each one.
	embedTimeout = time.Minute
	lease        = 3 * time.Minute
	// trimBatch is the number of vectors of a former space that are deleted at a time.
	trimBatch = 500
	// retryAfter is the least time between a failure and the next try.
	retryAfter = 15 * time.Second
	// probe is a text that every model takes.
	probe = "dimensions"
)

// Store is what the filler reads and writes.
type Store interface {
	Space(ctx context.Context, model string, dimensions int) (store.Space, error)
	AddSpace(ctx context.Context, model string, dimensions int) (store.Space, error)
	Unfilled(ctx context.Context, space int64, after store.BankKey, limit int) ([]store.BankKey, error)
	Claim(ctx context.Context, f store.Filler) (bool, error)
	Release(ctx context.Context, f store.Filler) error
	Unembedded(ctx context.Context, f store.Filler, after int64, limit int) ([]store.Unembedded, error)
	StoreVectors(ctx context.Context, f store.Filler, vectors []store.Vector) error
	SwitchSpace(ctx context.Context, k store.BankKey, space int64) (bool, error)
	TrimSpaces(ctx context.Context, k store.BankKey, live int64, limit int) (bool, error)
}

// Config says how the filler works. All fields are required.
type Config struct {
	// Owner names the process.
	Owner string
	// Interval is the time between two sweeps.
	Interval time.Duration
}

// Filler makes the vectors that banks lack. It is safe for concurrent use.
type Filler struct {
	cfg    Config
	store  Store
	models *Models
	log    *slog.Logger
	now    chan struct{}
}

// NewFiller returns a filler. It does nothing before Run.
func NewFiller(cfg Config, s Store, m *Models, log *slog.Logger) (*Filler, error) {
	if cfg.Owner == "" || cfg.Interval <= 0 || s == nil || m == nil || m.opts.Model == "" || log == nil {
		return nil, errors.New("embed: Owner, Interval, a store, models that make vectors, and a log are required")
	}
	return &Filler{cfg: cfg, store: s, models: m, log: log, now: make(chan struct{}, 1)}, nil
}

// Trigger has vectors made now.
func (f *Filler) Trigger() {
	select {
	case f.now <- struct{}{}:
	default:
	}
}

// Run makes vectors until ctx ends. After an error it waits a while, whatever triggers it.
func (f *Filler) Run(ctx context.Context) {
	for ctx.Err() == nil {
		wait, trigger := f.cfg.Interval, f.now
		if err := f.Fill(ctx); err != nil && ctx.Err() == nil {
			f.log.WarnContext(ctx, "vectors not made; searches find these documents by their words meanwhile",
				"model", f.models.opts.Model, "error", err)
			wait, trigger = retryAfter, nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-trigger:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// Fill makes all vectors that banks lack, and has those banks use them that have all. A bank whose vectors another process makes is left
// out.
func (f *Filler) Fill(ctx context.Context) error {
	space, err := f.space(ctx)
	if err != nil {
		return err
	}
	var failed error // of a bank, which keeps no other back
	done := map[store.BankKey]int64{}
	for again := true; again; {
		again = false
		for after, more := (store.BankKey{}), true; more; {
			banks, err := f.store.Unfilled(ctx, space.ID, after, bankPage)
			if err != nil {
				return err
			}
			for _, k := range banks {
				rest, err := f.bank(ctx, k, space, done)
				if failed = errors.Join(failed, err); err != nil && (away(err) || ctx.Err() != nil) {
					return failed
				}
				after, again = k, again || rest
			}
			more = len(banks) == bankPage
		}
		again = again && failed == nil
	}
	return failed
}

// space returns the space of the model. One that is not known gets its length by the vector of one word.
func (f *Filler) space(ctx context.Context) (store.Space, error) {
	s, err := f.store.Space(ctx, f.models.opts.Model, f.models.opts.Dimensions)
	if !errors.Is(err, store.ErrNotFound) {
		return s, err
	}
	vectors, err := f.embed(ctx, f.models.opts.Dimensions, []string{probe})
	if err != nil {
		return s, err
	}
	return f.store.AddSpace(ctx, f.models.opts.Model, len(vectors[0]))
}

// embed makes vectors of texts that are searched.
func (f *Filler) embed(ctx context.Context, dimensions int, texts []string) ([][]float32, error) {
	ctx, cancel := context.WithTimeout(ctx, embedTimeout)
	defer cancel()
	return f.models.vectors(ctx, f.models.opts.Model, dimensions, inferencev1.EmbedPurpose_EMBED_PURPOSE_DOCUMENT, texts)
}

// bank makes vectors of some chunks of a bank, and reports whether there may be more. It continues after the chunk that done names, and
// sets it.
func (f *Filler) bank(ctx context.Context, k store.BankKey, space store.Space, done map[store.BankKey]int64) (more bool, err error) {
	who := store.Filler{BankKey: k, Space: space.ID, Owner: f.cfg.Owner, Lease: lease}
	claimed, err := f.store.Claim(ctx, who)
	if err != nil || !claimed {
		return false, err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), embedTimeout)
		defer cancel()
		err = errors.Join(err, f.store.Release(ctx, who))
	}()
	for range bankBatches {
		chunks, err := f.store.Unembedded(ctx, who, done[k], batchTexts)
		if err != nil {
			return false, err
		}
		if len(chunks) == 0 {
			return false, f.finish(ctx, k, space)
		}
		if err := f.batch(ctx, who, space, chunks); err != nil {
			return false, ignoreGone(err)
		}
		done[k] = chunks[len(chunks)-1].Chunk
	}
	return true, nil
}

// ignoreGone returns nil for the errors of a bank that was deleted, or that another process has now.
func ignoreGone(err error) error {
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrState) {
		return nil
	}
	return err
}

// finish has a bank use its vectors, if it has all, and deletes those of its former space.
func (f *Filler) finish(ctx context.Context, k store.BankKey, space store.Space) error {
	live, err := f.store.SwitchSpace(ctx, k, space.ID)
	for more := live; more && err == nil; {
		more, err = f.store.TrimSpaces(ctx, k, space.ID, trimBatch)
	}
	return ignoreGone(err)
}

// batch makes and stores the vectors of some chunks. A batch that the model refuses, or answers wrongly, is halved until the texts are
// found that are the reason. These are stored without a vector, as long as it takes another text: they are found by their words only.
func (f *Filler) batch(ctx context.Context, who store.Filler, space store.Space, chunks []store.Unembedded) error {
	texts := make([]string, len(chunks))
	for i, c := range chunks {
		texts[i] = Text(c.Heading, c.Text)
	}
	vectors, err := f.embed(ctx, space.Dimensions, texts)
	switch {
	case err == nil:
		return f.put(ctx, who, chunks, texts, vectors)
	case away(err):
		return err
	}
	if _, works := f.embed(ctx, space.Dimensions, []string{probe}); works != nil {
		return err // it refuses everything
	}
	if half := len(chunks) / 2; half > 0 {
		return errors.Join(f.batch(ctx, who, space, chunks[:half]), f.batch(ctx, who, space, chunks[half:]))
	}
	f.log.WarnContext(ctx, "text without a vector; it is found by its words only", "bank", who.Bank, "error", err)
	return f.put(ctx, who, chunks, texts, make([][]float32, 1))
}

// put stores vectors.
func (f *Filler) put(ctx context.Context, who store.Filler, chunks []store.Unembedded, texts []string, vectors [][]float32) error {
	rows := make([]store.Vector, 0, len(chunks))
	for i, v := range vectors {
		row := store.Vector{Chunk: chunks[i].Chunk, Hash: Hash(texts[i])}
		if unit, ok := dense.Unit(v); ok {
			row.Code, row.Vector = dense.Code(unit), dense.Bytes(unit)
		}
		rows = append(rows, row)
	}
	if err := f.store.StoreVectors(ctx, who, rows); err != nil {
		return fmt.Errorf("store vectors of bank %q: %w", who.Bank, err)
	}
	return nil
}

// away reports whether a call failed whatever its texts were.
func away(err error) bool {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return true
	}
	switch fault.From(err).Code {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.ResourceExhausted, codes.Unauthenticated, codes.PermissionDenied:
		return true
	default:
		return false
	}
}

// Text returns what is embedded for a chunk: its headings, and its text.
func Text(heading []string, text string) string {
	return strings.TrimSpace(strings.Join(append(append([]string{}, heading...), text), "\n")) + "\n"
}

// Hash returns the hash of a text that is embedded.
func Hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
