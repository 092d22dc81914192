package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
)

var (
	// ErrDenied is what every *DeniedError is: the address may not be dialled.
	ErrDenied = errors.New("egress denied")
	// ErrTooLarge is what every *TooLargeError is: the response is larger than allowed.
	ErrTooLarge = errors.New("response too large")
	// ErrRedirect is what every *RedirectError is: the server wanted to send us elsewhere.
	ErrRedirect = errors.New("redirect refused")
)

// DeniedError says which address was not dialled, and what to change if it should be.
type DeniedError struct {
	// Host is the name, or literal address, that was asked for.
	Host string
	// Addr is what it resolved to.
	Addr netip.Addr
	// Profile is the egress profile in force.
	Profile string
	// Hint is why, and what to change.
	Hint string
}

// Error says what was denied and what to change.
func (e *DeniedError) Error() string {
	target := e.Addr.String()
	if e.Host != "" && e.Host != target {
		target = e.Host + " (" + target + ")"
	}
	return fmt.Sprintf("egress denied: %s under profile %q: %s", target, e.Profile, e.Hint)
}

// Is makes it an ErrDenied.
func (*DeniedError) Is(target error) bool { return target == ErrDenied }

// TooLargeError says that a response's body went over its limit.
type TooLargeError struct {
	// Limit in bytes.
	Limit int64
}

// Error says the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("response too large: more than %d bytes", e.Limit)
}

// Is makes it an ErrTooLarge.
func (*TooLargeError) Is(target error) bool { return target == ErrTooLarge }

// RedirectError says where a server wanted to send us. Queries and user infos are left out, as they may hold credentials.
type RedirectError struct {
	// From is the address that was called.
	From string
	// To is where it points.
	To string
}

// Error says from where to where.
func (e *RedirectError) Error() string {
	return fmt.Sprintf("redirect refused: %s points to %s: configure the final address", e.From, e.To)
}

// Is makes it an ErrRedirect.
func (*RedirectError) Is(target error) bool { return target == ErrRedirect }

// NotSentError says that no byte of a request was written: its server cannot have acted on it, and it may be sent again whatever it does.
type NotSentError struct {
	// Err is why it was not sent.
	Err error
}

// Error is that of the cause.
func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap gives the cause.
func (e *NotSentError) Unwrap() error { return e.Err }

// Timeout makes a timeout stay one.
func (e *NotSentError) Timeout() bool {
	t, ok := e.Err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// NotSent reports whether an error of a client says that its request certainly was not sent. Any other error leaves open whether the server
// acted on it.
func NotSent(err error) bool {
	_, ok := errors.AsType[*NotSentError](err)
	return ok
}

// bare gives a URL without its query, fragment and user info.
func bare(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// unwrapDenied takes our error out of the dialer's, whose text would repeat the address.
func unwrapDenied(err error) error {
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		return denied
	}
	return err
}
