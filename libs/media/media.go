// Package media converts files that people upload and tools return for models: it scales images and finds the text of PDF documents. Such
// files may be made to exhaust or to attack what reads them, so they are decoded in a child process: this program itself, with bounds on
// its memory and time, without our environment, one at a time.
package media

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sync"

	lru "github.com/hashicorp/golang-lru/v2"
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
type Error struct{ text string }

// Error returns the text.
func (e *Error) Error() string { return e.text }

func refuse(format string, args ...any) error { return &Error{fmt.Sprintf(format, args...)} }

// Limits of the memory of converted files.
const (
	keptBytes   = 64 << 20
	keptResults = 1024
)

// Converter converts files, and keeps the results of late. It is safe for concurrent use.
type Converter struct {
	one chan struct{} // held while a file is decoded

	mu   sync.Mutex
	kept *lru.Cache[string, answer]
	size int // of the kept results in bytes
}

// New returns a converter.
func New() (*Converter, error) {
	c := &Converter{one: make(chan struct{}, 1)}
	kept, err := lru.NewWithEvict(keptResults, func(_ string, a answer) { c.size -= a.size() })
	c.kept = kept
	return c, err
}

// Image returns an image in a form: turned as its metadata says, without metadata, with no more pixels and bytes than the form has. It
// decodes only what must be changed. The error of an image that cannot be converted is an *Error.
func (c *Converter) Image(ctx context.Context, data []byte, f Form) (Image, error) {
	found, err := measure(data)
	if err != nil {
		return Image{}, err
	}
	if stripped := strip(found.mediaType, data); found.fits(stripped, f) {
		return Image{MediaType: found.mediaType, Data: stripped, Width: found.width, Height: found.height}, nil
	}
	got, err := c.convert(ctx, request{Form: &f}, data)
	return Image{MediaType: got.MediaType, Data: got.Data, Width: got.Width, Height: got.Height}, err
}

// PDFText returns the text of a PDF document, page by page, up to a limit. The error of a document without text, or that cannot be read,
// is an *Error.
func (c *Converter) PDFText(ctx context.Context, data []byte) (string, error) {
	got, err := c.convert(ctx, request{PDF: true}, data)
	return got.Text, err
}

// convert has a child do a request, unless the answer is kept.
func (c *Converter) convert(ctx context.Context, r request, data []byte) (answer, error) {
	key := fmt.Sprintf("%x %v %+v", sha256.Sum256(data), r.PDF, r.Form)
	recall := func() (answer, bool) {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.kept.Get(key)
	}
	if known, ok := recall(); ok {
		return known, known.err()
	}
	select {
	case c.one <- struct{}{}:
		defer func() { <-c.one }()
	case <-ctx.Done():
		return answer{}, ctx.Err()
	}
	if known, ok := recall(); ok { // converted while we waited
		return known, known.err()
	}
	got, err := ask(ctx, r, data)
	if err != nil {
		return got, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept.Add(key, got)
	for c.size += got.size(); c.size > keptBytes && c.kept.Len() > 1; {
		c.kept.RemoveOldest()
	}
	return got, got.err()
}
