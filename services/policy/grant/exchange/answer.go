package exchange

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/windlass-dev/windlass/libs/secret"
)

// text is a secret in an answer.
type text struct{ secret.Value }

// UnmarshalJSON implements json.Unmarshaler.
func (t *text) UnmarshalJSON(raw []byte) error {
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return errors.New("a token is no text") // the cause would quote it
	}
	t.Value = secret.New(s)
	return nil
}

func (t text) value() secret.Value { return t.Value }

// answer is that of a token endpoint.
type answer struct {
	issuer       string
	AccessToken  text    `json:"access_token"`
	RefreshToken text    `json:"refresh_token"`
	IssuedType   string  `json:"issued_token_type"`
	TokenType    string  `json:"token_type"`
	ExpiresIn    float64 `json:"expires_in"`
	Scope        string  `json:"scope"`
}

// refresh returns the refresh token of an answer to a delegation. RFC 8693 puts the issued token into access_token, whatever it is.
func (a *answer) refresh() secret.Value {
	if !a.RefreshToken.IsZero() {
		return a.RefreshToken.value()
	}
	if a.IssuedType == refreshType {
		return a.AccessToken.value()
	}
	return secret.Value{}
}

// claims are those that are checked. The signature is not: the token comes from its issuer, over the connection to it.
type claims struct {
	Subject  string   `json:"sub"`
	Audience audience `json:"aud"`
	Expires  float64  `json:"exp"`
	Scope    scopes   `json:"scope"`
}

func (c claims) expires() time.Time { return time.Unix(int64(c.Expires), 0) }

// audience is one text or several.
type audience []string

// UnmarshalJSON implements json.Unmarshaler.
func (a *audience) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*a = audience{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(a))
}

// scopes are a text with spaces between, or several texts.
type scopes []string

// UnmarshalJSON implements json.Unmarshaler.
func (s *scopes) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*s = strings.Fields(one)
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(s))
}

// claimsOf reads the claims of a token.
func claimsOf(token secret.Value) (claims, error) {
	var c claims
	parts := strings.Split(token.Reveal(), ".")
	if len(parts) != 3 {
		return c, failed(Wrong, "a token of the issuer is no JWT, so that its audience cannot be checked")
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(raw, &c) != nil || c.Subject == "" || c.Expires <= 0 {
		return c, failed(Wrong, "a token of the issuer lacks the claims sub and exp")
	}
	return c, nil
}

// access returns the access token of an answer.
func (a *answer) access(now time.Time) (Token, error) {
	c, err := claimsOf(a.AccessToken.value())
	if err != nil {
		return Token{}, err
	}
	expires := c.expires()
	if in := time.Duration(a.ExpiresIn * float64(time.Second)); in > 0 && now.Add(in).Before(expires) {
		expires = now.Add(in)
	}
	if !now.Before(expires) {
		return Token{}, failed(Wrong, "issuer %q gave a token that has expired", a.issuer)
	}
	return Token{Value: a.AccessToken.value(), Subject: c.Subject, Expires: expires}, nil
}

// exchanged returns the token of an answer to an exchange, if it is what was asked for: a bearer token of the subject, for the target's
// audience alone, and without further scopes. Without scopes in the request the issuer chooses them.
func (a *answer) exchanged(now time.Time, subject string, t Target) (Token, error) {
	token, err := a.access(now)
	if err != nil {
		return Token{}, err
	}
	c, err := claimsOf(token.Value)
	if err != nil {
		return Token{}, err
	}
	wrong := func(what string) (Token, error) {
		return Token{}, failed(Wrong, "issuer %q gave a token %s; it is not used", a.issuer, what)
	}
	switch {
	case a.IssuedType != "" && a.IssuedType != accessType && a.IssuedType != "urn:ietf:params:oauth:token-type:jwt",
		a.TokenType != "" && !strings.EqualFold(a.TokenType, "Bearer"):
		return wrong("that is no bearer access token")
	case len(c.Audience) != 1 || c.Audience[0] != t.audience():
		return wrong("that is not for the audience " + t.audience() + " alone")
	case c.Subject != subject:
		return wrong("of another user")
	case len(t.Scopes) > 0 && (wider(strings.Fields(a.Scope), t.Scopes) || wider(c.Scope, t.Scopes)):
		return wrong("with further scopes than " + strings.Join(t.Scopes, " "))
	}
	return token, nil
}

// wider reports whether a scope is not among those that were asked for.
func wider(have, asked []string) bool {
	return slices.ContainsFunc(have, func(s string) bool { return !slices.Contains(asked, s) })
}
