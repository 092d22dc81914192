package bearertest

import (
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"

	"github.com/golang-jwt/jwt/v5"

	"github.com/windlass-dev/windlass/libs/authn/bearer"
	"github.com/windlass-dev/windlass/libs/secret"
)

// meshSecret is that of the client "mesh", which may introspect tokens.
const meshSecret = "of:the mesh"

// Introspection returns the configuration with which the issuer is asked about tokens, also those that are no JWTs.
func (i *Issuer) Introspection() bearer.Introspection {
	return bearer.Introspection{ClientID: "mesh", ClientSecret: secret.New(meshSecret), Opaque: true}
}

// Opaque returns a valid access token for a user that is no JWT.
func (i *Issuer) Opaque(subject string, changes ...jwt.MapClaims) string {
	token := "opaque-" + rand.Text()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.opaque[token] = i.Claims(subject, changes...)
	return token
}

// Revoke makes a token inactive.
func (i *Issuer) Revoke(token string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.revoked[token] = true
}

// Introspections returns how often the issuer was asked about tokens.
func (i *Issuer) Introspections() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// Answer makes a handler answer questions about tokens; nil restores the issuer's own answers.
func (i *Issuer) Answer(h http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.answer = h
}

func (i *Issuer) introspect(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.asked++
	h, token := i.answer, r.PostFormValue("token")
	claims, revoked := i.opaque[token], i.revoked[token]
	i.mu.Unlock()
	if h != nil {
		h(w, r)
		return
	}
	if i.away(w) {
		return
	}
	if id, password, _ := r.BasicAuth(); id != "mesh" || password != "of%3Athe+mesh" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if claims == nil {
		claims = jwt.MapClaims{}
		if _, _, err := jwt.NewParser().ParseUnverified(token, claims); err != nil {
			claims = nil
		}
	}
	answer := map[string]any{"active": claims != nil && !revoked}
	if claims != nil && !revoked {
		answer["token_type"] = "Bearer"
		maps.Copy(answer, claims)
	}
	_ = json.NewEncoder(w).Encode(answer)
}
