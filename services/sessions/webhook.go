package sessions

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"

	"github.com/windlass-dev/windlass/libs/authn"
	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/ids"
	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/sqldb"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/services/sessions/store"
)

func noWebhook(id string) error {
	return fault.NotFound("webhook %q does not exist", strings.ReplaceAll(id, "\x00", ""))
}

// CreateWebhook implements WebhookService.
func (s *Service) CreateWebhook(ctx context.Context, req *sessionsv1.CreateWebhookRequest) (*sessionsv1.Webhook, error) {
	want := req.GetWebhook()
	w, secret, err := s.freshWebhook(ctx, want)
	if err != nil {
		return nil, err
	}
	if err := s.store.Write(ctx, func(tx *store.Tx) error { return s.addWebhook(ctx, tx, w) }); err != nil {
		return nil, webhookTwice(err, w)
	}
	out := webhookToProto(w)
	out.Secret = secret.Reveal() // to who made it, this once
	return out, nil
}

// freshWebhook is a new webhook with its signing secret.
func (s *Service) freshWebhook(ctx context.Context, want *sessionsv1.Webhook) (store.Webhook, secret.Value, error) {
	now := s.store.NowUs()
	w := store.Webhook{
		Tenant: authn.Tenant(ctx), ID: want.GetId(), PerTurn: want.GetPerTurn(), CreatedBy: authn.From(ctx).GetSubject(), CreateUs: now, UpdateUs: now,
	}
	or(&w.ID, ids.New(ids.Webhook))
	if err := s.setWebhook(&w, want); err != nil {
		return w, secret.Value{}, err
	}
	key, err := s.giveSecret(&w, false, now)
	return w, key, err
}

// addWebhook stores a new webhook, if there may be one more.
func (s *Service) addWebhook(ctx context.Context, tx *store.Tx, w store.Webhook) error {
	_, err := tx.LockWebhook(ctx, w.Tenant, w.ID)
	if err == nil {
		return webhookExists(w.ID)
	}
	if !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if err := s.mayAddWebhook(ctx, tx, w); err != nil {
		return err
	}
	return tx.AddWebhook(ctx, w)
}

// mayAddWebhook counts what there is already.
func (s *Service) mayAddWebhook(ctx context.Context, tx *store.Tx, w store.Webhook) error {
	count, perTurn, err := tx.CountWebhooks(ctx, w.Tenant)
	switch {
	case err != nil:
		return err
	case w.PerTurn && perTurn > 0:
		return twoPerTurn()
	case count >= s.cfg.Webhooks.MaxWebhooks:
		return fault.FailedPrecondition(faultv1.Reason_REASON_LIMIT_REACHED, "there are %d webhooks, as many as there may be", count).
			Hint("Delete one, or raise sessions.webhooks.max_webhooks.")
	}
	return nil
}

// webhookTwice says what a violation of uniqueness means: somebody else was faster.
func webhookTwice(err error, w store.Webhook) error {
	switch {
	case !sqldb.IsUnique(err):
		return err
	case w.PerTurn:
		return twoPerTurn()
	}
	return webhookExists(w.ID)
}

func webhookExists(id string) error {
	return fault.AlreadyExists("webhook %q exists already", id).Hint("Choose another id, or update the webhook.")
}

func twoPerTurn() error {
	return fault.New(codes.AlreadyExists, faultv1.Reason_REASON_ALREADY_EXISTS, "there is a webhook for the addresses of turns already").
		Hint("Use it; :rotate gives it a new secret.")
}

// setWebhook takes over what a caller may choose, and checks it.
func (s *Service) setWebhook(w *store.Webhook, want *sessionsv1.Webhook) error {
	var wrong []fault.Field
	bad := func(field, message string) {
		wrong = append(wrong, fault.Field{Path: "webhook." + field, Message: message})
	}
	switch {
	case w.PerTurn && want.GetUrl() != "":
		bad("url", "must be empty with per_turn: each turn names its own")
	case !w.PerTurn:
		if message := s.checkAddress(want.GetUrl()); message != "" {
			bad("url", message)
		}
	}
	if w.PerTurn && want.GetAgentId() != "" {
		bad("agent_id", "must be empty with per_turn: it signs for the turns that name an address")
	}
	if !known(want.GetAgentId()) {
		bad("agent_id", "must not hold a NUL")
	}
	if !known(want.GetDescription()) {
		bad("description", "must not hold a NUL")
	}
	if len(wrong) > 0 {
		return fault.InvalidFields(wrong)
	}
	w.URL, w.AgentID, w.Description, w.Disabled = want.GetUrl(), want.GetAgentId(), want.GetDescription(), want.GetDisabled()
	w.Events = strings.Join(want.GetEvents(), ",")
	return nil
}

// checkAddress says what is wrong with an address to post to, "" if nothing is.
func (s *Service) checkAddress(raw string) string {
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

// validPort takes the port of a URL, "" for the scheme's.
func validPort(port string) bool {
	n, err := strconv.ParseUint(port, 10, 16)
	return port == "" || err == nil && n > 0
}

// checkTell checks the address that a turn wants to be told.
func (s *Service) checkTell(ctx context.Context, address string) error {
	if address == "" {
		return nil
	}
	if message := s.checkAddress(address); message != "" {
		return fault.Invalid("webhook_url", "%s", message)
	}
	w, err := s.store.TurnsWebhook(ctx, authn.Tenant(ctx))
	if errors.Is(err, store.ErrNotFound) || err == nil && w.Disabled {
		return fault.FailedPrecondition(faultv1.Reason_REASON_FAILED_PRECONDITION, "webhook_url: there is no secret to sign with").
			Hint("Have a webhook with per_turn made or enabled: windlass webhook create --per-turn")
	}
	return err
}

// GetWebhook implements WebhookService.
func (s *Service) GetWebhook(ctx context.Context, req *sessionsv1.GetWebhookRequest) (*sessionsv1.Webhook, error) {
	w, err := s.webhook(ctx, req.GetWebhookId())
	if err != nil {
		return nil, err
	}
	return webhookToProto(w), nil
}

func (s *Service) webhook(ctx context.Context, id string) (store.Webhook, error) {
	if !known(id) {
		return store.Webhook{}, noWebhook(id)
	}
	w, err := s.store.Webhook(ctx, authn.Tenant(ctx), id)
	if errors.Is(err, store.ErrNotFound) {
		err = noWebhook(id)
	}
	return w, err
}

// ListWebhooks implements WebhookService.
func (s *Service) ListWebhooks(ctx context.Context, req *sessionsv1.ListWebhooksRequest) (*sessionsv1.ListWebhooksResponse, error) {
	var after webhookCursor
	size, err := pageOf("webhooks", req.GetPageSize(), req.GetPageToken(), 50, &after)
	if err != nil {
		return nil, err
	}
	rows, err := s.store.Webhooks(ctx, authn.Tenant(ctx), after.ID, size+1)
	if err != nil {
		return nil, err
	}
	rows, next := cut(rows, size, "webhooks", func(w store.Webhook) any { return webhookCursor{w.ID} })
	out := &sessionsv1.ListWebhooksResponse{NextPageToken: next}
	for _, w := range rows {
		out.Webhooks = append(out.Webhooks, webhookToProto(w))
	}
	return out, nil
}

// webhookCursor is the last webhook, or delivery, of a page.
type webhookCursor struct{ ID string }

// DeleteWebhook implements WebhookService.
func (s *Service) DeleteWebhook(ctx context.Context, req *sessionsv1.DeleteWebhookRequest) (*sessionsv1.DeleteWebhookResponse, error) {
	id := req.GetWebhookId()
	if !known(id) {
		return nil, noWebhook(id)
	}
	err := s.store.Write(ctx, func(tx *store.Tx) error { return tx.DeleteWebhook(ctx, authn.Tenant(ctx), id) })
	if errors.Is(err, store.ErrNotFound) {
		err = noWebhook(id)
	}
	if err != nil {
		return nil, err
	}
	return &sessionsv1.DeleteWebhookResponse{}, nil
}

func webhookToProto(w store.Webhook) *sessionsv1.Webhook {
	out := &sessionsv1.Webhook{
		Id: w.ID, Url: w.URL, AgentId: w.AgentID, Description: w.Description, Disabled: w.Disabled, PerTurn: w.PerTurn, LastError: w.LastError,
		CreatedBy: w.CreatedBy, CreateTime: stamp(w.CreateUs), UpdateTime: stamp(w.UpdateUs),
	}
	if w.Events != "" {
		out.Events = strings.Split(w.Events, ",")
	}
	return out
}
