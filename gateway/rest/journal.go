package rest

import (
	"net/http"
	"slices"
	"strings"
)

// ServeJournal serves a page of a turn's journal at the path of its event stream if the caller accepts JSON, by its name and not after
// event streams. Otherwise it does nothing and reports false.
func (a *API) ServeJournal(w http.ResponseWriter, r *http.Request) bool {
	path, ok := strings.CutSuffix(r.URL.Path, "/events")
	if !ok || wantsEvents(r.Header) || !slices.ContainsFunc(r.Header.Values("Accept"), func(line string) bool {
		return strings.Contains(line, "application/json")
	}) {
		return false
	}
	r = r.Clone(r.Context())
	r.URL.Path = path + "/journal"
	if raw, ok := strings.CutSuffix(r.URL.RawPath, "/events"); ok {
		r.URL.RawPath = raw + "/journal"
	}
	a.ServeHTTP(w, r)
	return true
}
