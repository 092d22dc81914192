package rest

import (
	"net/http"
	"strings"
)

const ifNoneMatchHeader = "If-None-Match"

// conditional answers a GET with 304 if the resource still has one of the ETags that the caller knows (RFC 9110, 13.1.2).
type conditional struct {
	http.ResponseWriter
	etags    string
	decided  bool
	withheld bool
}

// unlessKnown wraps the response of a request with If-None-Match.
func unlessKnown(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	etags := r.Header.Values(ifNoneMatchHeader)
	if len(etags) == 0 || r.Method != http.MethodGet {
		return w
	}
	return &conditional{ResponseWriter: w, etags: strings.Join(etags, ",")}
}

// Unwrap implements the interface of http.ResponseController.
func (c *conditional) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *conditional) WriteHeader(status int) {
	c.decided = true
	if etag := c.Header().Get("ETag"); status == http.StatusOK && etag != "" && listsETag(c.etags, etag) {
		c.withheld = true
		for _, name := range []string{"Content-Type", "Content-Length"} {
			c.Header().Del(name)
		}
		status = http.StatusNotModified
	}
	c.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (c *conditional) Write(b []byte) (int, error) {
	if !c.decided {
		c.WriteHeader(http.StatusOK)
	}
	if c.withheld {
		return len(b), nil
	}
	return c.ResponseWriter.Write(b)
}

// listsETag reports whether a list of ETags has one. The comparison is weak: a proxy may have compressed the answer.
func listsETag(list, etag string) bool {
	for listed := range strings.SplitSeq(list, ",") {
		if listed = strings.TrimSpace(listed); listed == "*" || strings.TrimPrefix(listed, "W/") == etag {
			return true
		}
	}
	return false
}
