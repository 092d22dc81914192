package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
)

var (
	// ErrDenied matches every *DeniedError: the address may not be dialled.
	ErrDenied = errors.New("egress denied")
	// ErrTooLarge matches every *TooLargeError: the response exceeds its limit.
	ErrTooLarge = errors.New("response too large")
	// ErrRedirect matches every *RedirectError: the server sent a redirect.
	ErrRedirect = errors.New("redirect refused")
)

// DeniedError says which address was refused, and what to change if it should be allowed.
type DeniedError struct {
	// Host is the requested name or literal address.
	Host string
	// Addr is what Host resolved to.
	Addr netip.Addr
	// Profile is the active egress profile.
	Profile string
	// Hint says why, and what to change.
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

// Is reports whether target is ErrDenied.
func (*DeniedError) Is(target error) bool { return target == ErrDenied }

// TooLargeError means that a response body exceeded its limit.
type TooLargeError struct {
	// Limit in bytes.
	Limit int64
}

// Error says the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("response too large: more than %d bytes", e.Limit)
}

// Is reports whether target is ErrTooLarge.
func (*TooLargeError) Is(target error) bool { return target == ErrTooLarge }

// RedirectError describes a refused redirect. Its URLs lack query and user info, which may hold credentials.
type RedirectError struct {
	// From is the requested URL.
	From string
	// To is the redirect's target.
	To string
}

// Error says from where to where.
func (e *RedirectError) Error() string {
	return fmt.Sprintf("redirect refused: %s points to %s: configure the final address", e.From, e.To)
}

// Is reports whether target is ErrRedirect.
func (*RedirectError) Is(target error) bool { return target == ErrRedirect }

// NotSentError means that no byte of a request was written: the server cannot have acted on it, so any request may be sent again.
type NotSentError struct {
	// Err is the cause.
	Err error
}

// Error returns the text of the cause.
func (e *NotSentError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *NotSentError) Unwrap() error { return e.Err }

// Timeout reports whether the cause is a timeout.
func (e *NotSentError) Timeout() bool {
	t, ok := e.Err.(interface{ Timeout() bool })
	return ok && t.Timeout()
}

// NotSent reports whether a request was certainly not sent. With any other error the server may or may not have acted on it.
func NotSent(err error) bool {
	_, ok := errors.AsType[*NotSentError](err)
	return ok
}

// bare returns a URL without query, fragment and user info.
func bare(u *url.URL) string {
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// unwrapDenied extracts our error from the dialer's, whose text would repeat the address.
func unwrapDenied(err error) error {
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		return denied
	}
	return err
}
