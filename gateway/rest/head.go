package rest

import (
	"net/http"
	"slices"
)

// headWriter drops the body of the response to a HEAD request.
type headWriter struct{ http.ResponseWriter }

// Unwrap implements the interface of http.ResponseController.
func (h headWriter) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// Write implements http.ResponseWriter.
func (h headWriter) Write(b []byte) (int, error) { return len(b), nil }

// head returns a GET request that answers a HEAD request. Streams have no HEAD.
func (a *API) head(w http.ResponseWriter, r *http.Request) (http.ResponseWriter, *http.Request) {
	own := func(e endpoint) bool { return e.method == http.MethodHead && matches(e.pattern, r.URL.Path) }
	if r.Method != http.MethodHead || a.IsStream(r.URL.Path) || slices.ContainsFunc(a.custom, own) {
		return w, r
	}
	get := r.Clone(r.Context())
	get.Method = http.MethodGet
	return headWriter{w}, get
}
