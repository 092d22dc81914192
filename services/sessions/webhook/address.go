package webhook

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

// addressProblem says why events cannot be posted to a URL, "" if they can.
func (s *Service) addressProblem(raw string) string {
	if raw == "" {
		return "is empty: give the address to post to, for example https://example.com/hooks"
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil, strings.ContainsFunc(raw, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }):
		return "is not a URL"
	case u.Scheme != "http" && u.Scheme != "https":
		return "must begin with http:// or https://"
	case u.Hostname() == "" || u.Opaque != "":
		return "has no host"
	case !validPort(u.Port()):
		return "has a port that does not exist: want 1 to 65535"
	case u.User != nil:
		return "must not hold a user or a password: what is sent is signed instead"
	case u.Fragment != "" || strings.Contains(raw, "#"):
		return "must not have a fragment (#)"
	}
	if _, err := http.NewRequest(http.MethodPost, raw, nil); err != nil { //nolint:noctx // nothing is sent
		return "is not a URL"
	}
	if err := s.egress.CheckHost(u.Hostname()); err != nil {
		return err.Error()
	}
	return ""
}

// validPort accepts the port of a URL, "" for the scheme's own.
func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// CheckTurnAddress checks the URL that a turn names for its own events. It needs the tenant's per-turn webhook, which signs them.
func (s *Service) CheckTurnAddress(ctx context.Context, tenant, address string) error {
	if address == "" {
		return nil
	}
	if problem := s.addressProblem(address); problem != "" {
		return fault.Invalid("webhook_url", "%s", problem)
	}
	w, err := s.store.PerTurnWebhook(ctx, tenant)
	if errors.Is(err, store.ErrNotFound) || err == nil && w.Disabled {
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "webhook_url: there is no secret to sign with").
			Hint("Create or enable a webhook with per_turn: windlass webhook create --per-turn")
	}
	return err
}
