// Package outbound is what the bridge does with HTTP requests and responses whatever protocol they carry: credentials, and limits.
package outbound

import (
	"io"
	"net/http"

	"github.com/windlass-dev/windlass/libs/challenge"
	"github.com/windlass-dev/windlass/libs/credential"
	"github.com/windlass-dev/windlass/libs/egress"
)

// Record is what the caller notes about a request.
type Record interface {
	// SetSent says whether the request may have been sent.
	SetSent(sent bool)
	// TokenRefused says that the server refused the access token, and whether it certainly did nothing else.
	TokenRefused(certain bool)
	// ScopesRefused says that the server refused the access token for its scopes, before it did anything, and which ones it wants.
	ScopesRefused(wanted []string)
}

// Login adds the server's credential to requests.
type Login struct {
	// Next sends them.
	Next http.RoundTripper
	// Set is the credential, Home the origin that it is for.
	Set  *credential.Set
	Home string
	// User is for whom requests are made; nil = nobody in particular.
	User *User
}

// maxRefusal is how much of the body of a refused request is read, so that its connection can be used again.
const maxRefusal = 64 << 10

// Send sends a request, and once more with a new access token if the server refused the token and the request may be sent twice. Record may
// be nil.
func (l Login) Send(req *http.Request, record Record, once bool) (*http.Response, error) {
	res, err := l.send(req, record)
	if err == nil && l.User != nil && l.covers(req) {
		l.note(res, record)
		return res, nil // the registry gets another token
	}
	if err != nil || res.StatusCode != http.StatusUnauthorized || !l.covers(req) || !l.Set.Refused(req) {
		return res, err
	}
	if record != nil {
		record.TokenRefused(challenge.Unauthenticated(res))
	}
	if once {
		return res, nil
	}
	again, ok := rewound(req)
	if !ok {
		return res, nil
	}
	_, _ = io.CopyN(io.Discard, res.Body, maxRefusal)
	_ = res.Body.Close()
	return l.send(again, record)
}

// note records that the server refused the token of the user. record may be nil.
func (l Login) note(res *http.Response, record Record) {
	if record == nil {
		return
	}
	if res.StatusCode == http.StatusUnauthorized {
		record.TokenRefused(challenge.Unauthenticated(res))
	} else if wanted, ok := challenge.Insufficient(res); ok {
		record.ScopesRefused(wanted)
	}
}

func (l Login) send(req *http.Request, record Record) (*http.Response, error) {
	if l.covers(req) {
		if err := l.Set.Authorize(req); err != nil {
			return nil, err
		}
		l.User.authorize(req)
	}
	if record != nil {
		record.SetSent(true)
	}
	res, err := l.Next.RoundTrip(req)
	if record != nil && egress.NotSent(err) {
		record.SetSent(false)
	}
	return res, err
}

// covers reports whether the credential is for the request's origin.
func (l Login) covers(req *http.Request) bool { return credential.Origin(req.URL.String()) == l.Home }

// rewound returns the request with its body at the beginning; false if that cannot be read again.
func rewound(req *http.Request) (*http.Request, bool) {
	again := req.Clone(req.Context())
	if req.Body == nil || req.Body == http.NoBody {
		return again, true
	}
	if req.GetBody == nil {
		return nil, false
	}
	body, err := req.GetBody()
	again.Body = body
	return again, err == nil
}
