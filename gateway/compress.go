package gateway

import (
	"net/http"
	"strings"

	"github.com/klauspost/compress/gzhttp"
)

// compressed compresses responses for callers that accept gzip. Event streams are left alone: each event must leave at once.
func compressed(isStream func(path string) bool, next http.Handler) (http.Handler, error) {
	wrap, err := gzhttp.NewWrapper(gzhttp.MinSize(1<<10), gzhttp.EnableZstd(false))
	if err != nil {
		return nil, err
	}
	gzipped := wrap(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isStream(r.URL.Path) || strings.Contains(strings.Join(r.Header.Values("Accept"), ","), "text/event-stream") {
			next.ServeHTTP(w, r)
			return
		}
		gzipped.ServeHTTP(w, r)
	}), nil
}
