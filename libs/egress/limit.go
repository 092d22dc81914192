package egress

import (
	"io"
	"net/http"
)

// limitTransport limits response bodies.
type limitTransport struct {
	next  http.RoundTripper
	limit int64
}

func (t *limitTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.next.RoundTrip(r)
	if err != nil || t.limit <= 0 || res.StatusCode == http.StatusSwitchingProtocols {
		return res, err
	}
	if res.ContentLength > t.limit {
		_ = res.Body.Close() // it will not be read
		return nil, &TooLargeError{Limit: t.limit}
	}
	res.Body = &limitBody{ReadCloser: res.Body, left: t.limit, limit: t.limit}
	return res, nil
}

// limitBody reads up to its limit, then returns an error unless the body ends exactly there.
type limitBody struct {
	io.ReadCloser
	left  int64
	limit int64
}

func (b *limitBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, &TooLargeError{Limit: b.limit}
	}
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1] // one more byte distinguishes the end from an excess
	}
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return n - 1, &TooLargeError{Limit: b.limit}
	}
	return n, err
}
