package credential

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"
)

const (
	// early is how long before its expiry a token is replaced: the clocks of both sides differ.
	early = 30 * time.Second
	// issuedKept is how many tokens of a client are removed from texts: answers to requests with an older one may still arrive.
	issuedKept = 4
	// minHidden is the length of the shortest token that is removed from texts; a shorter one would garble them.
	minHidden = 4
)

// tokens are the access tokens of one client; nil has none.
type tokens struct {
	mu      sync.Mutex
	current *oauth2.Token // nil = none
	issued  []string      // the last ones, oldest first
}

// valid returns the current token; nil if there is none, or it expires soon.
func (t *tokens) valid() *oauth2.Token {
	if t == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == nil || !t.current.Expiry.IsZero() && time.Until(t.current.Expiry) <= early {
		return nil
	}
	return t.current
}

func (t *tokens) add(token *oauth2.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.current = token
	t.issued = append(t.issued, token.AccessToken)
	t.issued = slices.Clone(t.issued[max(0, len(t.issued)-issuedKept):])
}

// drop removes the current token if it is the one of an Authorization header.
func (t *tokens) drop(header string) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.current == nil {
		return
	}
	r := &http.Request{Header: http.Header{}}
	if t.current.SetAuthHeader(r); r.Header.Get("Authorization") == header {
		t.current = nil
	}
}

func (t *tokens) hide(text string) string {
	if t == nil {
		return text
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, token := range t.issued {
		if len(token) >= minHidden {
			text = strings.ReplaceAll(text, token, "***")
		}
	}
	return text
}
