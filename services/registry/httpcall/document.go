package httpcall

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"

	"github.com/windlass-dev/windlass/libs/egress"
)

// Document is a request for what describes an API.
type Document struct {
	// URL is where it is.
	URL string
	// Tag is the ETag of the version that the caller has; empty = none.
	Tag string
	// Post is the body of a POST, as JSON; nil = a GET.
	Post []byte
	// MaxBytes limits its size.
	MaxBytes int64
	// Authorize adds credentials.
	Authorize func(*http.Request) error
	// Refused is called with a request that was answered with 401, and reports whether another one would have a new access token; nil = it
	// would not.
	Refused func(*http.Request) bool
}

// Read reads a document within the context. Nil means that it is still the version with the caller's tag. The document is UTF-8 without a
// byte order mark.
func (d Document) Read(ctx context.Context, dialer Dialer) (document []byte, tag string, err error) {
	document, tag, err = d.read(ctx, dialer)
	if errors.Is(err, errRefused) {
		d.Refused = nil
		return d.read(ctx, dialer)
	}
	return document, tag, err
}

// ErrNotDocument means that the server answered, and that its answer is not a document.
var ErrNotDocument = errors.New("not a document")

// notDocumentError is an ErrNotDocument with a text of its own.
type notDocumentError string

// Error says what the answer is instead.
func (e notDocumentError) Error() string { return string(e) }

// Is makes it an ErrNotDocument.
func (notDocumentError) Is(target error) bool { return target == ErrNotDocument }

// errRefused means that the access token was refused, and another request would have a new one.
var errRefused = errors.New("the access token was refused")

func (d Document) read(ctx context.Context, dialer Dialer) (document []byte, tag string, err error) {
	method, body := http.MethodGet, io.Reader(http.NoBody)
	if d.Post != nil {
		method, body = http.MethodPost, bytes.NewReader(d.Post)
	}
	r, err := http.NewRequestWithContext(ctx, method, d.URL, body)
	if err != nil {
		return nil, "", errors.New("the URL is not valid")
	}
	r.Header.Set("Accept", "application/json, application/yaml;q=0.9, */*;q=0.5")
	if d.Post != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if d.Tag != "" {
		r.Header.Set("If-None-Match", d.Tag)
	}
	if err := d.Authorize(r); err != nil {
		return nil, "", err
	}
	response, err := dialer.Client(egress.Options{MaxResponseBytes: d.MaxBytes}).Do(r)
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusNotModified && d.Tag != "" {
		return nil, d.Tag, nil
	}
	if response.StatusCode == http.StatusUnauthorized && d.Refused != nil && d.Refused(r) {
		return nil, "", errRefused
	}
	if status := response.StatusCode; status != http.StatusOK {
		text := "the server answered " + statusText(status)
		if status >= 500 || status == http.StatusTooManyRequests || status == http.StatusRequestTimeout {
			return nil, "", errors.New(text)
		}
		return nil, "", notDocumentError(text)
	}
	if document, err = io.ReadAll(response.Body); err != nil {
		return nil, "", err
	}
	a := newAnswer(response.StatusCode, response.Header, document)
	if isBinary(a.media) && a.unreadable == "" { // many servers do not know what they send
		a.body, a.unreadable = toUTF8("", a.body)
	}
	if a.unreadable != "" {
		return nil, "", notDocumentError("it is not text: " + a.unreadable)
	}
	return a.body, response.Header.Get("ETag"), nil
}
