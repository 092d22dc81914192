package registration

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// How long a document is used without fetching it again: what its server says, within these bounds.
const (
	minAge     = time.Minute
	defaultAge = 10 * time.Minute
	maxAge     = 24 * time.Hour
)

// MaxDocument bounds a document in bytes.
const MaxDocument = 16 << 10

// maxID bounds the URL of a document.
const maxID = 512

// IsDocument reports whether a client id is the URL of a document. The rules are those of the draft about client ID metadata documents.
func IsDocument(id string) bool {
	u, err := url.Parse(id)
	if err != nil || len(id) > maxID || u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "" || u.String() != id {
		return false
	}
	if u.Path == "" || u.Path == "/" {
		return false
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "." || part == ".." {
			return false
		}
	}
	return true
}

// Resolve returns the client whose id is the URL of a document, and fetches the document unless it is recent. It returns ErrUnknown, with a
// cause for the log, if there is no such client.
func (s *Store) Resolve(ctx context.Context, id string) (Client, error) {
	c, known := s.Client(id)
	now := s.deps.Now()
	if known && now.Before(c.Until) {
		return c, nil
	}
	if !s.pace.AllowN(now, 1) {
		return Client{}, ErrBusy
	}
	m, age, err := s.fetch(ctx, id)
	if err != nil {
		return Client{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	if c, _, err = m.accept(); err != nil {
		return Client{}, fmt.Errorf("%w: %w", ErrUnknown, err)
	}
	c.ID, c.Since, c.Until = id, now, now.Add(age)
	return c, s.keep(c)
}

// fetch returns a document and how long it is good for.
func (s *Store) fetch(ctx context.Context, id string) (m Metadata, age time.Duration, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return m, 0, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := s.deps.Client.Do(req)
	if err != nil {
		return m, 0, err
	}
	defer func() { _ = res.Body.Close() }() // read completely, or not wanted
	if media, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); res.StatusCode != http.StatusOK ||
		media != "application/json" && !strings.HasSuffix(media, "+json") {
		return m, 0, fmt.Errorf("the document has status %d and type %q", res.StatusCode, media)
	}
	raw, err := io.ReadAll(io.LimitReader(res.Body, MaxDocument+1))
	switch {
	case err != nil:
		return m, 0, err
	case len(raw) > MaxDocument:
		return m, 0, fmt.Errorf("the document has more than %d bytes", MaxDocument)
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return m, 0, fmt.Errorf("the document is not valid: %w", err)
	}
	switch {
	case m.ClientID != id:
		return m, 0, fmt.Errorf("the document has the client_id %q", m.ClientID)
	case m.Name == "":
		return m, 0, bad("client_name is missing")
	case m.Secret != "" || m.AuthMethod != "" && m.AuthMethod != "none":
		return m, 0, bad("only clients without a secret are supported")
	}
	return m, ageOf(res.Header.Get("Cache-Control")), nil
}

// ageOf returns how long a response may be kept.
func ageOf(control string) time.Duration {
	age := defaultAge
	for part := range strings.SplitSeq(control, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(strings.ToLower(part)), "=")
		switch name {
		case "no-store", "no-cache":
			return minAge
		case "max-age":
			if n, err := strconv.Atoi(strings.Trim(value, `"`)); err == nil {
				age = time.Duration(min(max(n, int(minAge/time.Second)), int(maxAge/time.Second))) * time.Second
			}
		}
	}
	return age
}
