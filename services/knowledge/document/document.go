// Package document keeps the documents of banks.
package document

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/upload"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/knowledge/access"
	"github.com/windlass-dev/windlass/services/knowledge/store"
)

const (
	// MaxRead is the maximum number of bytes of text that one read returns, defaultRead what it returns if the end is not given.
	MaxRead     = 1 << 20
	defaultRead = 64 << 10
)

// Deps are what documents need; all but Queued are required.
type Deps struct {
	// Store has them.
	Store *store.Store
	// Access reads them for callers.
	Access access.Reader
	// MediaType returns the media type of content, by its name, the declared type and the content, or a fault.
	MediaType func(name, declared string, data []byte) (string, error)
	// MaxBytes is the maximum size of a document, Limit the maximum number of documents of a tenant.
	MaxBytes int64
	Limit    int
	// Uploads admits uploads.
	Uploads *upload.Gate
	// Queued is called for each document that waits to be ingested.
	Queued func(ctx context.Context, d store.Document)
	// Log gets what went wrong after an answer.
	Log *slog.Logger
}

// Spec describes a document that is stored.
type Spec struct {
	// Bank and Name name it, MediaType says what it is; "" = by the name and the content.
	Bank, Name, MediaType string
	// Labels and Attributes are those of store.Document.
	Labels     []string
	Attributes map[string]string
}

// Service keeps documents. It is safe for concurrent use.
type Service struct{ Deps }

// New returns the service.
func New(deps Deps) *Service { return &Service{deps} }

// Create stores a document, whose field for users is named field. One with the same name in the bank gets a new version.
func (s *Service) Create(ctx context.Context, spec Spec, field string, data []byte) (store.Document, error) {
	b, scope, err := s.Access.Bank(ctx, spec.Bank)
	if err != nil {
		return store.Document{}, err
	}
	if err := errors.Join(checkName(spec.Name), s.checkSize(field, data), scope.CheckLabels(spec.Labels)); err != nil {
		return store.Document{}, err
	}
	mediaType, err := s.MediaType(spec.Name, spec.MediaType, data)
	if err != nil {
		return store.Document{}, err
	}
	sum, now := sha256.Sum256(data), s.Store.Now()
	d, err := s.Store.PutDocument(ctx, store.Put{
		Document: store.Document{
			Tenant: b.Tenant, ID: ids.New(ids.Document), Bank: b.ID, Name: spec.Name, Subject: authn.From(ctx).GetSubject(),
			MediaType: mediaType, Size: int64(len(data)), SHA256: hex.EncodeToString(sum[:]), LatestVersion: ids.New(ids.Version),
			Labels: spec.Labels, Attributes: spec.Attributes, CreateTime: now, UpdateTime: now,
		},
		Data: data, Limit: s.Limit, Visible: scope.Document,
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return d, access.NoBank(spec.Bank)
	case errors.Is(err, store.ErrHidden):
		return d, fault.AlreadyExists("the name %q is taken", spec.Name).Hint("Choose another name.")
	case errors.Is(err, store.ErrTooMany):
		return d, fault.New(codes.ResourceExhausted, faultv1.Reason_REASON_QUOTA_EXCEEDED,
			"there are %d documents, as many as there may be", s.Limit).Hint("Delete some, or raise knowledge.max_documents.")
	case err == nil && d.State == store.Queued && s.Queued != nil:
		s.Queued(ctx, d)
	}
	return d, err
}

// Upload stores a document whose bytes next returns piece by piece; see Create.
func (s *Service) Upload(ctx context.Context, spec Spec, next upload.Next) (store.Document, error) {
	const field = "file"
	if _, _, err := s.Access.Bank(ctx, spec.Bank); err != nil { // before the bytes are taken
		return store.Document{}, err
	}
	data, done, err := s.Uploads.Receive(ctx, next, s.MaxBytes, s.tooLarge(field), fault.Invalid(field, "is empty"))
	if err != nil {
		return store.Document{}, err
	}
	defer done()
	return s.Create(ctx, spec, field, data)
}

// checkName refuses names that cannot be printed in a line.
func checkName(name string) error {
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == utf8.RuneError {
			return fault.Invalid("name", "has a control character, or is not UTF-8")
		}
	}
	if strings.TrimSpace(name) == "" {
		return fault.Invalid("name", "is empty")
	}
	return nil
}

func (s *Service) checkSize(field string, data []byte) error {
	switch {
	case len(data) == 0:
		return fault.Invalid(field, "is empty")
	case int64(len(data)) > s.MaxBytes:
		return s.tooLarge(field)
	}
	return nil
}

func (s *Service) tooLarge(field string) error {
	e := fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE, "the document has more than %d bytes", s.MaxBytes)
	e.Fields = []fault.Field{{Path: field, Message: fmt.Sprintf("at most %d bytes", s.MaxBytes)}}
	return e.Hint("Store it in parts, or raise knowledge.max_document_bytes.")
}

// Get returns a document that the caller may read.
func (s *Service) Get(ctx context.Context, bank, id string) (store.Document, error) {
	return s.Access.Document(ctx, bank, id)
}

// List returns at most limit documents of a bank that the caller may read, newest first, before the given one; "" = from the newest on.
func (s *Service) List(ctx context.Context, bank, before string, limit int) ([]store.Document, error) {
	b, scope, err := s.Access.Bank(ctx, bank)
	if err != nil {
		return nil, err
	}
	labels, err := s.Access.Labels(ctx, b, scope)
	if err != nil {
		return nil, err
	}
	return s.Store.Documents(ctx, b.Tenant, b.ID, labels, before, limit)
}

// Range is a part of a version's text.
type Range struct {
	// Version is the version that it is of, and Text the part.
	Version, Text string
	// Start and End are its first byte and the one after the last, Size the length of the whole text.
	Start, End, Size int64
}

// Read returns a part of the text of a document that the caller may read. version "" is the live one, end 0 a default. A position inside a
// character is moved to its beginning.
func (s *Service) Read(ctx context.Context, bank, id, version string, start, end int64) (store.Document, Range, error) {
	d, err := s.Access.Document(ctx, bank, id)
	if err != nil {
		return d, Range{}, err
	}
	if version == "" {
		version = d.Version
	}
	if end == 0 {
		end = start + defaultRead
	}
	if end < start {
		return d, Range{}, fault.Invalid("end", "is before start")
	}
	const margin = utf8.UTFMax - 1 // the beginning of a character may be so many bytes before
	from := max(start-margin, 0)
	t, err := s.Store.Text(ctx, d, strings.ReplaceAll(version, "\x00", ""), from, min(end-start, MaxRead)+start-from)
	if errors.Is(err, store.ErrNotFound) || err == nil && version != d.Version {
		return d, Range{}, fault.NotFound("document %q has no text of version %q", id, version).
			Hint("Leave the version out to read the one that searches find.")
	}
	if err != nil {
		return d, Range{}, err
	}
	r := part(t, start)
	r.Version = version
	return d, r, nil
}

// Excerpts reads ranges of the live versions of documents that the caller may read, at most 100. Others do not exist, nor do those of other
// versions.
func (s *Service) Excerpts(ctx context.Context, ranges []store.Range) (map[store.Range]store.Excerpt, error) {
	banks, ids := make([]string, len(ranges)), make([]string, len(ranges))
	for i, r := range ranges {
		banks[i], ids[i] = r.Bank, r.Document
	}
	documents, err := s.Access.Documents(ctx, banks, ids)
	if err != nil {
		return nil, err
	}
	readable := slices.DeleteFunc(slices.Clone(ranges), func(r store.Range) bool {
		d, ok := documents[r.Document]
		return !ok || d.Bank != r.Bank || d.Version != r.Version || r.End <= r.Start || r.End-r.Start > MaxRead
	})
	return s.Store.Excerpts(ctx, authn.From(ctx).GetTenant(), readable)
}

// part returns the whole characters of t from start on.
func part(t store.Text, start int64) Range {
	start = min(start, t.Size)
	first := int(min(start-t.Start, int64(len(t.Data))))
	for first > 0 && first < len(t.Data) && !utf8.RuneStart(t.Data[first]) {
		first--
	}
	last := len(t.Data)
	if t.Start+int64(last) < t.Size { // a character may be cut
		for i := last - 1; i >= first && i >= last-utf8.UTFMax; i-- {
			if utf8.RuneStart(t.Data[i]) {
				if !utf8.FullRune(t.Data[i:]) {
					last = i
				}
				break
			}
		}
	}
	return Range{Text: string(t.Data[first:last]), Start: t.Start + int64(first), End: t.Start + int64(last), Size: t.Size}
}

// Delete deletes a document that the caller may read.
func (s *Service) Delete(ctx context.Context, bank, id string) error {
	d, err := s.Access.Document(ctx, bank, id)
	if err != nil {
		return err
	}
	err = s.Store.DeleteDocument(ctx, d.Tenant, d.Bank, d.ID)
	if errors.Is(err, store.ErrNotFound) {
		err = access.NoDocument(id)
	}
	if err != nil {
		return err
	}
	if err := s.Store.Purge(ctx); err != nil { // the next one does it as well
		s.Log.WarnContext(ctx, "what was deleted is still in the log of the database", "document", d.ID, "error", err)
	}
	return nil
}
