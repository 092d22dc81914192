package syncs

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/services/knowledge/source"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// maxProblems is how many problems of items are kept, and maxProblem the length of one in bytes.
	maxProblems = 20
	maxProblem  = 500
	// maxLabels is the maximum number of labels of a document, maxName the length of a name in bytes, and maxKey that of a key.
	maxLabels, maxName, maxKey = 16, 512, 2048
	// shownEvery is after how many items that are not written the progress is.
	shownEvery = 200
)

var label = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,62}$`)

// visitor implements source.Visitor for one attempt of a sync.
type visitor struct {
	*Service
	pending  store.PendingSync
	src      store.Source
	known    map[string]store.Item
	seen     map[string]bool
	progress store.Progress
	problems []store.ItemProblem
	// before is how many items the attempts before this one have written: this one finds them unchanged.
	before int
	quiet  int // items since the progress was stored
	// fatal is an error of the store, or about a limit, after which a kind must not go on.
	fatal error
}

// begin forgets what the attempts before this one have counted.
func (v *visitor) begin() {
	v.before = v.progress.Added + v.progress.Updated
	v.progress.Unchanged, v.progress.Failed, v.progress.Total = 0, 0, 0
}

// Total implements source.Visitor.
func (v *visitor) Total(n int) { v.progress.Total = n }

// Validator implements source.Visitor. A document that is not what the item was must be read again.
func (v *visitor) Validator(key string) string {
	item := v.known[key]
	d := item.Document
	if item.SHA256 != d.SHA256 || !slices.Equal(d.Labels, union(v.src.Spec.Labels, item.Labels)) ||
		!maps.Equal(d.Attributes, v.src.Spec.Attributes) {
		return ""
	}
	return item.Validator
}

// enter notes an item. It is false for one that was there before in the same sync.
func (v *visitor) enter(ctx context.Context, key string) (bool, error) {
	switch {
	case v.fatal != nil:
		return false, v.fatal
	case ctx.Err() != nil:
		return false, v.fail(ctx.Err())
	case v.seen[key]:
		return false, nil
	case len(v.seen) >= v.cfg.MaxItems:
		return false, v.fail(source.Unreadable("The source has more than %d items (knowledge.max_source_items).", v.cfg.MaxItems))
	}
	v.seen[key] = true
	return true, nil
}

// fail keeps an error that ends the sync.
func (v *visitor) fail(err error) error {
	if v.fatal == nil {
		v.fatal = err
	}
	return err
}

// Same implements source.Visitor.
func (v *visitor) Same(ctx context.Context, key string) error {
	ok, err := v.enter(ctx, key)
	if err != nil || !ok {
		return err
	}
	if _, known := v.known[key]; !known {
		return v.problem(ctx, key, "the source says that it is unchanged, but it was never read")
	}
	return v.unchanged(ctx)
}

// unchanged notes an item that is as it was.
func (v *visitor) unchanged(ctx context.Context) error {
	v.progress.Unchanged++
	return v.show(ctx)
}

// Failed implements source.Visitor.
func (v *visitor) Failed(ctx context.Context, key, problem string) error {
	if ok, err := v.enter(ctx, key); err != nil || !ok {
		return err
	}
	return v.problem(ctx, key, problem)
}

// problem notes why an item cannot be stored.
func (v *visitor) problem(ctx context.Context, key, problem string) error {
	v.progress.Failed++
	if len(v.problems) < maxProblems {
		v.problems = append(v.problems, store.ItemProblem{Item: line(key), Problem: line(problem)})
	}
	return v.show(ctx)
}

// line returns a text as one printable line that a database can hold.
func line(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return '\ufffd'
		}
		return r
	}, text)
	if len(text) > maxProblem {
		text = strings.ToValidUTF8(text[:maxProblem], "") + "…"
	}
	return text
}

// show stores the progress now and then, which also finds out whether the sync may go on.
func (v *visitor) show(ctx context.Context) error {
	if v.quiet++; v.quiet < shownEvery {
		return nil
	}
	v.quiet = 0
	if err := v.deps.Store.SetProgress(ctx, v.pending, v.counts()); err != nil {
		return v.fail(err)
	}
	return nil
}

// counts returns the progress as users see it.
func (v *visitor) counts() store.Progress {
	p := v.progress
	p.Unchanged = max(0, p.Unchanged-v.before)
	return p
}

// Found implements source.Visitor.
func (v *visitor) Found(ctx context.Context, in source.Item) error {
	if ok, err := v.enter(ctx, in.Key); err != nil || !ok {
		return err
	}
	d, own, err := v.document(in)
	if err != nil {
		return v.problem(ctx, in.Key, reasonOf(err))
	}
	now, known := v.known[in.Key]
	same := known && now.SHA256 == d.SHA256 && now.Document.SHA256 == d.SHA256 && now.Document.MediaType == d.MediaType &&
		slices.Equal(now.Document.Labels, d.Labels) && maps.Equal(now.Document.Attributes, d.Attributes) && now.Document.Name == d.Name
	if same && now.Validator == in.Validator {
		return v.unchanged(ctx)
	}
	before := v.progress
	switch {
	case same:
		v.progress.Unchanged++
	case known:
		v.progress.Updated++
	default:
		v.progress.Added++
	}
	stored, err := v.deps.Store.PutItem(ctx, v.pending, v.src.Bank, store.Put{Document: d, Data: in.Data, Limit: v.cfg.MaxDocuments},
		store.Item{Key: in.Key, Validator: in.Validator, SHA256: d.SHA256, Labels: own}, v.counts())
	switch {
	case errors.Is(err, store.ErrExists):
		v.progress = before
		return v.problem(ctx, in.Key, fmt.Sprintf("the bank has another document of the name %q", d.Name))
	case errors.Is(err, store.ErrTooMany):
		v.progress = before
		return v.fail(source.Unreadable("There are %d documents, as many as there may be (knowledge.max_documents).", v.cfg.MaxDocuments))
	case err != nil:
		return v.fail(err)
	}
	v.quiet = 0
	if stored.State == store.Queued {
		v.deps.Queued()
	}
	return nil
}

// document returns the document that an item becomes, and the labels that the item brings itself.
func (v *visitor) document(in source.Item) (d store.Document, own []string, err error) {
	if err := v.checkItem(in); err != nil {
		return d, nil, err
	}
	mediaType, err := v.deps.MediaType(in.Name, in.MediaType, in.Data)
	if err != nil {
		return d, nil, err
	}
	front, err := v.deps.Labels(mediaType, in.Data)
	if err != nil {
		return d, nil, err
	}
	own = union(in.Labels, front)
	labels := union(v.src.Spec.Labels, own)
	if len(labels) > maxLabels {
		return d, nil, source.Unreadable("it has more than %d labels", maxLabels)
	}
	for _, name := range labels {
		if !label.MatchString(name) {
			return d, nil, source.Unreadable("its label %q is none: labels have lower-case letters, digits, _ and -", name)
		}
	}
	sum, now := sha256.Sum256(in.Data), v.deps.Store.Now()
	return store.Document{
		Tenant: v.src.Tenant, ID: ids.New(ids.Document), Bank: v.src.Bank, Name: in.Name, Subject: v.src.Subject, MediaType: mediaType,
		Size: int64(len(in.Data)), SHA256: hex.EncodeToString(sum[:]), LatestVersion: ids.New(ids.Version), Labels: labels,
		Attributes: v.src.Spec.Attributes, CreateTime: now, UpdateTime: now,
	}, own, nil
}

// checkItem refuses what cannot be a document.
func (v *visitor) checkItem(in source.Item) error {
	switch {
	case len(in.Data) == 0:
		return source.Unreadable("it is empty")
	case int64(len(in.Data)) > v.cfg.MaxBytes:
		return source.Unreadable("it has more than %d bytes", v.cfg.MaxBytes)
	case strings.TrimSpace(in.Name) == "", len(in.Name) > maxName, len(in.Key) > maxKey, !utf8.ValidString(in.Key + in.Name),
		strings.ContainsFunc(in.Key+in.Name, unicode.IsControl):
		return source.Unreadable("its name is empty, too long or not printable")
	}
	return nil
}

// reasonOf returns why an item cannot be stored, for people.
func reasonOf(err error) string {
	if f := fault.As(err); f != nil && len(f.Fields) > 0 {
		return f.Fields[0].Message
	}
	return err.Error()
}

// union returns the members of both lists once, sorted; nil if there are none.
func union(a, b []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(a, b))))
}

// classify returns the error with which the reading of a source ended.
func (v *visitor) classify(ctx context.Context, err error) error {
	_, unreadable := errors.AsType[*source.UnreadableError](err)
	switch {
	case v.fatal != nil:
		return v.fatal
	case ctx.Err() != nil:
		return fmt.Errorf("read a source: %w", ctx.Err())
	case unreadable:
		return err
	}
	v.deps.Log.WarnContext(ctx, "source of a bank cannot be read", "source", v.src.ID, "error", err)
	return source.Unreadable(problemUnknown)
}

// dropVanished deletes the documents whose items were not there.
func (v *visitor) dropVanished(ctx context.Context) error {
	for _, key := range slices.Sorted(maps.Keys(v.known)) {
		if v.seen[key] {
			continue
		}
		v.progress.Removed++
		if err := v.deps.Store.DropItem(ctx, v.pending, v.src.Bank, v.known[key], v.counts()); err != nil {
			return err
		}
	}
	return nil
}

// result returns how the sync ended.
func (v *visitor) result(state store.SyncState, problem string) store.SyncResult {
	p := v.counts()
	if state == store.Synced {
		p.Total = len(v.seen)
	}
	return store.SyncResult{State: state, Problem: line(problem), Progress: p, Problems: v.problems}
}
