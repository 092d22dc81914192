package outbound

import (
	"net/http"
	"sync/atomic"
)

// User is for whom the requests of a connection are made. Its token may change.
type User struct {
	// Subject identifies the user.
	Subject string
	token   atomic.Pointer[string]
}

// NewUser returns a user with a token.
func NewUser(subject, token string) *User {
	u := &User{Subject: subject}
	u.token.Store(&token)
	return u
}

// Renew takes over the token of another value for the same user. Both may be nil.
func (u *User) Renew(from *User) {
	if u != nil && from != nil {
		u.token.Store(from.token.Load())
	}
}

// ID tells the users of a server apart; empty for nil.
func (u *User) ID() string {
	if u == nil {
		return ""
	}
	return u.Subject
}

func (u *User) authorize(r *http.Request) {
	if u != nil {
		r.Header.Set("Authorization", "Bearer "+*u.token.Load())
	}
}
