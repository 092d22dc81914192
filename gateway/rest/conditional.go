package rest

import (
	"net/http"
	"strings"
)

const ifNoneMatchHeader = "If-None-Match"

// conditional answers a GET with 304 if the resource still has one of the ETags that the caller knows (RFC 9110, 13.1.2).
type conditional struct {
	http.ResponseWriter
	known    string
	decided  bool
	withheld bool
}

// unlessKnown wraps the response of a request with If-None-Match.
func unlessKnown(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	known := r.Header.Values(ifNoneMatchHeader)
	if len(known) == 0 || r.Method != http.MethodGet {
		return w
	}
	return &conditional{ResponseWriter: w, known: strings.Join(known, ",")}
}

// Unwrap implements the interface of http.ResponseController.
func (c *conditional) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// WriteHeader implements http.ResponseWriter.
func (c *conditional) WriteHeader(status int) {
	c.decided = true
	if etag := c.Header().Get("ETag"); status == http.StatusOK && etag != "" && knows(c.known, etag) {
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

// knows reports whether a list of ETags has one. The comparison is weak: a proxy may have compressed the answer.
func knows(list, etag string) bool {
	for known := range strings.SplitSeq(list, ",") {
		if known = strings.TrimSpace(known); known == "*" || strings.TrimPrefix(known, "W/") == etag {
			return true
		}
	}
	return false
}
