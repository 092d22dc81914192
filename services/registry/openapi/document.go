// Package openapi reads OpenAPI 3.0 and 3.1 documents and makes a tool of each operation.
package openapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/windlass-dev/windlass/libs/truncate"
)

// Limits bounds the work on a document.
type Limits struct {
	// MaxBytes is the size of the document.
	MaxBytes int
	// MaxOperations is the number of its operations that become tools.
	MaxOperations int
}

// maxScanned bounds the operations of a document before the filter, relative to MaxOperations.
const maxScanned = 10

// read parses a document. It reads nothing but the given bytes: references to other documents are refused. Operations that cannot be read
// are left out, and skipped says why.
func read(ctx context.Context, data []byte, o Options) (doc *openapi3.T, skipped []string, err error) {
	if len(data) > o.Limits.MaxBytes {
		return nil, nil, fmt.Errorf("the document has %d bytes, more than the limit of %d (registry.openapi.max_bytes)", len(data),
			o.Limits.MaxBytes)
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	doc, err = load(ctx, data)
	if err != nil {
		part := func(data []byte) (*openapi3.T, error) { return load(ctx, data) }
		if doc, skipped, err = rescue(ctx, data, o, part, err); err != nil {
			return nil, nil, fmt.Errorf("the document cannot be read: %s", truncate.Bytes(strings.ToValidUTF8(err.Error(), "\uFFFD"), 500))
		}
	}
	switch {
	case strings.HasPrefix(doc.OpenAPI, "2."), doc.Extensions["swagger"] != nil:
		return nil, nil, errors.New("this is a Swagger 2.0 document; convert it to OpenAPI 3")
	case !strings.HasPrefix(doc.OpenAPI, "3."):
		return nil, nil, fmt.Errorf("this is no OpenAPI 3 document: \"openapi\" is %q", truncate.Bytes(doc.OpenAPI, 50))
	case doc.Paths == nil || doc.Paths.Len() == 0:
		return nil, nil, errors.New("the document describes no paths")
	}
	return doc, skipped, nil
}

// load parses a document as a whole.
func load(ctx context.Context, data []byte) (_ *openapi3.T, err error) {
	defer func() {
		if p := recover(); p != nil { // documents come from anywhere
			err = fmt.Errorf("%v", p)
		}
	}()
	loader := openapi3.NewLoader()
	loader.Context = ctx
	loader.ReadFromURIFunc = func(_ *openapi3.Loader, location *url.URL) ([]byte, error) {
		return nil, fmt.Errorf("it refers to another document (%s); bundle both into one", truncate.Bytes(location.String(), 100))
	}
	return loader.LoadFromData(data)
}

// base returns the URL that an operation's path is appended to: the first server's, with the defaults of its variables. Relative ones are
// resolved against the document's own URL.
func base(servers openapi3.Servers, documentURL string) (string, error) {
	address := "/"
	if len(servers) > 0 && servers[0] != nil {
		address = servers[0].URL
		for name, v := range servers[0].Variables {
			if v != nil {
				address = strings.ReplaceAll(address, "{"+name+"}", v.Default)
			}
		}
	}
	u, err := url.Parse(address)
	if err != nil || strings.ContainsAny(address, "{}") {
		return "", fmt.Errorf("the server's URL %q is not valid: set base_url", truncate.Bytes(address, 200))
	}
	if !u.IsAbs() && documentURL != "" {
		if from, err := url.Parse(documentURL); err == nil {
			u = from.ResolveReference(u)
			u.RawQuery = ""
		}
	}
	if (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.User != nil {
		return "", fmt.Errorf("the server's URL %q does not say where the API is: set base_url", truncate.Bytes(address, 200))
	}
	return strings.TrimRight((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path, RawPath: u.RawPath}).String(), "/"), nil
}
