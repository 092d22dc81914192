// Package fetch reads pages of sites for sources of banks, under the mesh's rules for outbound connections.
package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/services/knowledge/source"
)

const (
	// timeout bounds one page.
	timeout = 30 * time.Second
	// maxValidator is the longest header that is kept as a validator, maxLabels of that with labels.
	maxValidator = 1 << 10
	maxLabels    = 4 << 10
)

// labelsHeader is the header in which a server says which labels a page has, separated by commas.
const labelsHeader = "Windlass-Labels"

// Dialer makes HTTP clients, as *egress.Egress does.
type Dialer interface {
	Client(opts egress.Options) *http.Client
}

// Client reads pages. It is safe for concurrent use.
type Client struct {
	// Egress dials.
	Egress Dialer
	// MaxBytes is the maximum size of a page.
	MaxBytes int64
}

// Page is what a server answered.
type Page struct {
	// Data is the content, MediaType what the server says it is.
	Data      []byte
	MediaType string
	// Validator is what Get takes the next time; "" = the server gave none.
	Validator string
	// Labels are those that the server says.
	Labels []string
	// Unchanged pages are as they were when they got the validator; Gone ones are no longer there.
	Unchanged, Gone bool
}

// CheckURL returns a fault unless a text is an address that can be read.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return fault.Invalid("source.url", "is not a URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.Hostname() == "":
		return fault.Invalid("source.url", "must begin with http:// or https:// and a host")
	case u.User != nil:
		return fault.Invalid("source.url", "must not have a user or a password")
	case u.Fragment != "":
		return fault.Invalid("source.url", "must not have a fragment (#%s)", u.Fragment)
	}
	return nil
}

// Get reads a page, unless it is as it was when it got the validator. Errors are *source.UnreadableError, or the context's.
func (c Client) Get(ctx context.Context, address, validator string) (Page, error) {
	p, err := c.get(ctx, address, validator)
	if errors.Is(err, errRelabelled) {
		return c.get(ctx, address, "")
	}
	return p, err
}

// errRelabelled means that a page is as it was, and its labels are not.
var errRelabelled = errors.New("the labels are others")

// get is Get, which returns errRelabelled for a page with the content that it had and other labels.
func (c Client) get(ctx context.Context, address, validator string) (Page, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return Page{}, source.Unreadable("its address is not a URL")
	}
	req.Header.Set("User-Agent", "Windlass (knowledge)")
	tag, rest, _ := strings.Cut(validator, "\n")
	modified, _, _ := strings.Cut(rest, "\n")
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	if modified != "" {
		req.Header.Set("If-Modified-Since", modified)
	}
	resp, err := c.Egress.Client(egress.Options{Timeout: timeout, MaxResponseBytes: c.MaxBytes}).Do(req)
	if err != nil {
		return Page{}, c.reason(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // read only: nothing is lost
	return c.read(ctx, resp, validator)
}

// read reads an answer.
func (c Client) read(ctx context.Context, resp *http.Response, validator string) (Page, error) {
	switch {
	case resp.StatusCode == http.StatusNotModified && validator != "":
		return unchanged(resp.Header, validator)
	case resp.StatusCode == http.StatusNotFound, resp.StatusCode == http.StatusGone:
		return Page{Gone: true}, nil
	case resp.StatusCode != http.StatusOK:
		return Page{}, source.Unreadable("the server answered with status %d", resp.StatusCode)
	}
	p := Page{MediaType: resp.Header.Get("Content-Type")}
	var err error
	if p.Labels, err = labelsOf(resp.Header); err != nil {
		return Page{}, err
	}
	p.Validator = validatorOf(resp.Header, p.Labels)
	if p.Data, err = io.ReadAll(resp.Body); err != nil {
		return Page{}, c.reason(ctx, err)
	}
	return p, nil
}

// unchanged returns a page whose server says that it is as it was; errRelabelled if its server says other labels than it did then. One that
// says none leaves those that it said, as RFC 9110 has it for headers about the content.
func unchanged(h http.Header, validator string) (Page, error) {
	labels, err := labelsOf(h)
	if err != nil {
		return Page{}, err
	}
	if _, ok := h[labelsHeader]; ok && strings.Join(labels, ",") != labelsIn(validator) {
		return Page{}, errRelabelled
	}
	return Page{Unchanged: true, Validator: validator}, nil
}

// labelsIn returns the labels in a validator, separated by commas.
func labelsIn(validator string) string {
	if lines := strings.SplitN(validator, "\n", 3); len(lines) == 3 {
		return lines[2]
	}
	return ""
}

// validatorOf returns the validator of a page: its entity tag, its time and its labels, each in a line. An empty last one is left out.
func validatorOf(h http.Header, labels []string) string {
	tag, modified := h.Get("ETag"), h.Get("Last-Modified")
	if len(tag) > maxValidator || strings.ContainsRune(tag, '\n') {
		tag = ""
	}
	if _, err := http.ParseTime(modified); err != nil {
		modified = ""
	}
	if tag == "" && modified == "" {
		return ""
	}
	out := strings.ToValidUTF8(tag, "") + "\n" + modified
	if len(labels) > 0 {
		out += "\n" + strings.ToValidUTF8(strings.Join(labels, ","), "")
	}
	return out
}

// labelsOf returns the labels in the header of a page.
func labelsOf(h http.Header) (out []string, err error) {
	text := strings.Join(h.Values(labelsHeader), ",")
	if len(text) > maxLabels {
		return nil, source.Unreadable("its header %s is longer than %d bytes", labelsHeader, maxLabels)
	}
	for label := range strings.SplitSeq(text, ",") {
		if label = strings.TrimSpace(label); label != "" {
			out = append(out, label)
		}
	}
	return out, nil
}

// reason turns an error of a request into one for people.
func (c Client) reason(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("fetch a page: %w", ctx.Err())
	}
	if redirect, ok := errors.AsType[*egress.RedirectError](err); ok {
		return source.Unreadable("it redirects to %s: name that address instead", redirect.To)
	}
	if denied, ok := errors.AsType[*egress.DeniedError](err); ok {
		return source.Unreadable("%s", denied)
	}
	var timedOut interface{ Timeout() bool }
	switch {
	case errors.Is(err, egress.ErrTooLarge):
		return source.Unreadable("it has more than %d bytes", c.MaxBytes)
	case errors.As(err, &timedOut) && timedOut.Timeout():
		return source.Unreadable("the server did not answer within %s", timeout)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return source.Unreadable("the server ended its answer before the end")
	}
	if urlErr, ok := errors.AsType[*url.Error](err); ok {
		err = urlErr.Err
	}
	return source.Unreadable("it cannot be had: %s", err)
}

// Name returns the name of a page in its bank: its address without the scheme.
func Name(address string) string {
	_, name, found := strings.Cut(address, "://")
	if !found {
		return address
	}
	return name
}
