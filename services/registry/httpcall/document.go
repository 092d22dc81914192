package httpcall

import (
	"bytes"
	"context"
	"errors"
	"fmt"
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
}

// Read reads a document within the context. Nil means that it is still the version with the caller's tag.
func (d Document) Read(ctx context.Context, dialer Dialer) (document []byte, tag string, err error) {
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
	if response.StatusCode != http.StatusOK {
		return nil, "", fmt.Errorf("the server answered %s", statusText(response.StatusCode))
	}
	document, err = io.ReadAll(response.Body)
	return document, response.Header.Get("ETag"), err
}
