package issuer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/windlass-dev/windlass/internal/issuer/account"
	"github.com/windlass-dev/windlass/internal/issuer/registration"
)

// registerPath is the endpoint of RFC 7591.
const registerPath = "/register"

// known returns a client: a configured one, or one that has registered itself. The tokens of the latter can only be addressed to endpoints
// of the mesh.
func (i *Issuer) known(id string) (client, bool) {
	if c, ok := i.accounts.Client(id); ok {
		return client{Client: c}, true
	}
	if i.registered == nil {
		return client{}, false
	}
	r, ok := i.registered.Client(id)
	if !ok {
		return client{}, false
	}
	c := account.Client{
		ID: r.ID, Public: true, Grants: []string{account.Code}, Redirects: r.Redirects, Audiences: []string{i.resources.Default},
		Scopes: account.LoginScopes(),
	}
	if r.Refresh {
		c.Grants = append(c.Grants, account.Refresh)
	}
	return client{Client: c, registered: &r}, true
}

// introduced is known for the start of a login: the document of a client whose id is a URL is fetched.
func (i *Issuer) introduced(ctx context.Context, id string) (client, bool) {
	if i.registered != nil && registration.IsDocument(id) {
		if _, err := i.registered.Resolve(ctx, id); err != nil {
			i.log.WarnContext(ctx, "a program cannot log in: the document about it is not accepted", "client", id, "error", err)
			return client{}, false
		}
	}
	return i.known(id)
}

// registrationResponse is what a program gets that has registered itself.
type registrationResponse struct {
	ClientID      string   `json:"client_id"`
	IssuedAt      int64    `json:"client_id_issued_at"`
	Name          string   `json:"client_name,omitempty"`
	Redirects     []string `json:"redirect_uris"`
	GrantTypes    []string `json:"grant_types"`
	ResponseTypes []string `json:"response_types"`
	AuthMethod    string   `json:"token_endpoint_auth_method"`
	Application   string   `json:"application_type"`
}

// register serves POST /register (RFC 7591). Everybody who reaches the issuer may register, since that gives nothing: a user has to log in
// for the program, and sees its name and where the browser goes.
func (i *Issuer) register(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	refuse := func(status int, code, description string) {
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]string{"error": code, "error_description": description})
	}
	// A page of another site can send this type only after a preflight, which guard refuses.
	if media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); media != "application/json" || !ownOrigin(r) {
		refuse(http.StatusForbidden, "invalid_request", "send JSON, from a program or a page of this machine")
		return
	}
	var m registration.Metadata
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, registration.MaxDocument))
	if err == nil {
		err = json.Unmarshal(raw, &m)
	}
	if err != nil {
		refuse(http.StatusBadRequest, "invalid_client_metadata", "the body is no JSON object, or too large")
		return
	}
	c, redirects, err := i.registered.Register(m)
	wrong := (*registration.Error)(nil)
	switch {
	case errors.As(err, &wrong):
		refuse(http.StatusBadRequest, wrong.Code, wrong.Description)
	case errors.Is(err, registration.ErrBusy):
		w.Header().Set("Retry-After", "10")
		refuse(http.StatusTooManyRequests, "temporarily_unavailable", "too many programs register; try again in a few seconds")
	case errors.Is(err, registration.ErrFull):
		refuse(http.StatusServiceUnavailable, "temporarily_unavailable", "too many programs are logged in; log some out")
	case err != nil:
		i.log.ErrorContext(r.Context(), "cannot keep the registration of a program", "error", err)
		refuse(http.StatusInternalServerError, "server_error", "the registration cannot be kept")
	default:
		own, _ := i.known(c.ID)
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(registrationResponse{
			ClientID: c.ID, IssuedAt: c.Since.Unix(), Name: c.Name, Redirects: redirects, GrantTypes: own.Grants,
			ResponseTypes: []string{"code"}, AuthMethod: "none", Application: "native",
		})
	}
}
