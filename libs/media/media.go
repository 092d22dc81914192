// Package media converts files that people upload and tools return for models: it scales images and finds the text of PDF documents. Such
// files may be made to exhaust or to attack what reads them, so they are decoded in child processes (libs/child), two at a time.
package media

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/windlass-dev/windlass/libs/child"
)

// Form is an image that a model takes. Zero values are no limits.
type Form struct {
	// Types are the media types, the preferred ones of converted images first: image/jpeg for photos, image/png for others.
	Types []string
	// MaxEdge limits width and height in pixels.
	MaxEdge int
	// MaxBytes limits the size.
	MaxBytes int
}

// Image is an image in a form.
type Image struct {
	MediaType     string
	Data          []byte
	Width, Height int
}

// Error is why a file cannot be converted. Its text continues the name of the file, and may be shown to users and models.
type Error struct {
	text string
	// Exhausted: it could not be decoded within the limits of time and memory, which another attempt may be.
	Exhausted bool
}

// Error returns the text.
func (e *Error) Error() string { return e.text }

func refuse(format string, args ...any) error { return &Error{text: fmt.Sprintf(format, args...)} }

// Limits of the memory of converted files.
const (
	keptBytes   = 64 << 20
	keptResults = 1024
)

// atATime is how many files are decoded at a time.
const atATime = 2

// Converter converts files, and keeps the results of late. It is safe for concurrent use.
type Converter struct {
	children *child.Runner
	ask      func(context.Context, request, []byte) (answer, error)

	mu   sync.Mutex
	kept *lru.Cache[string, answer]
	size int // of the kept results in bytes
}

// New returns a converter.
func New() (*Converter, error) {
	children := child.New(Work(), atATime)
	c := &Converter{children: children, ask: askChild(children)}
	kept, err := lru.NewWithEvict(keptResults, func(_ string, a answer) { c.size -= a.size() })
	c.kept = kept
	return c, err
}

// Image returns an image in a form: turned as its metadata says, without metadata, with no more pixels and bytes than the form has. It
// decodes only what must be changed, and files whose metadata it cannot find; of a GIF image the first frame remains. The error of an image
// that cannot be converted is an *Error, and UNAVAILABLE if too many files are being decoded.
func (c *Converter) Image(ctx context.Context, data []byte, f Form) (Image, error) {
	found, err := measure(data)
	if err != nil {
		return Image{}, err
	}
	if stripped, ok := strip(found.mediaType, data); ok && found.fits(stripped, f) {
		return Image{MediaType: found.mediaType, Data: stripped, Width: found.width, Height: found.height}, nil
	}
	got, err := c.convert(ctx, request{Form: &f}, data)
	return Image{MediaType: got.MediaType, Data: got.Data, Width: got.Width, Height: got.Height}, err
}

// Known returns an image that was converted to a form before, by the SHA-256 of its file in hexadecimal digits.
func (c *Converter) Known(sha256 string, f Form) (Image, bool) {
	got, ok := c.recall(key(sha256, request{Form: &f}))
	return Image{MediaType: got.MediaType, Data: got.Data, Width: got.Width, Height: got.Height}, ok && got.refused == nil
}

// PDFText returns the text of a PDF document, page by page, up to a limit. The error of a document without text, or that cannot be read,
// is an *Error.
func (c *Converter) PDFText(ctx context.Context, data []byte) (string, error) {
	got, err := c.convert(ctx, request{PDF: true}, data)
	return string(got.Data), err
}

func key(sha256 string, r request) string { return fmt.Sprintf("%s %v %+v", sha256, r.PDF, r.Form) }

func (c *Converter) recall(key string) (answer, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.kept.Get(key)
}

// convert has a child do a request, unless the answer is kept.
func (c *Converter) convert(ctx context.Context, r request, data []byte) (answer, error) {
	key := key(fmt.Sprintf("%x", sha256.Sum256(data)), r)
	if known, ok := c.recall(key); ok {
		return known, known.err()
	}
	release, err := c.children.Acquire(ctx)
	if err != nil {
		return answer{}, err
	}
	defer release()
	if known, ok := c.recall(key); ok { // converted while we waited
		return known, known.err()
	}
	got, err := c.ask(ctx, r, data)
	if err != nil || got.refused != nil && got.refused.Exhausted {
		return got, cmp.Or(err, got.err())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Add(key, got)
	for c.size += got.size(); c.size > keptBytes && c.kept.Len() > 1; {
		c.kept.RemoveOldest()
	}
	return got, got.err()
}
