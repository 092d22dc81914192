package provider

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"time"
)

// Refusals is a middleware for the clients of SDKs: any response with an error status becomes a *RefusedError, whatever its body is. The
// SDKs take a body that they cannot read for a lost connection.
func Refusals(req *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	resp, err := next(req)
	if err != nil || resp.StatusCode < http.StatusBadRequest {
		return resp, err
	}
	defer func() { _ = resp.Body.Close() }() // read only: nothing is lost
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	f := ReadFailure(body)
	f.Kind = strings.TrimSpace(f.Kind + " " + resp.Header.Get("X-Amzn-Errortype"))
	f.Status, f.RetryAfter = resp.StatusCode, cmp.Or(RetryAfter(resp.Header, time.Now()), f.RetryAfter)
	return nil, &RefusedError{f}
}

// Issuer identifies an API: what it sends for itself is returned to it only.
func Issuer(kind, baseURL string) string {
	sum := sha256.Sum256([]byte(kind + " " + strings.TrimRight(baseURL, "/")))
	return kind + "-" + hex.EncodeToString(sum[:8])
}
