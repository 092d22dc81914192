package bearer

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/windlass-dev/windlass/libs/authn"
)

// Opaque returns a verifier of tokens that are no JWTs, by introspection; nil if no issuer has such tokens. It recognizes every token that
// is no JWT, so it comes after all others.
func (v *Verifier) Opaque() authn.TokenVerifier {
	if v.opaque == nil {
		return nil
	}
	return opaque{v}
}

// opaque is the part of a verifier that recognizes other tokens than JWTs.
type opaque struct{ *Verifier }

// Recognizes implements authn.TokenVerifier.
func (o opaque) Recognizes(token string) bool { return !o.Verifier.Recognizes(token) }

// Recheck implements authn.Rechecker.
func (v *Verifier) Recheck(token string) time.Duration {
	seen, ok := v.seen.Peek(sha256.Sum256([]byte(token)))
	if !ok || seen.issuer.introspector == nil {
		return 0
	}
	return seen.issuer.cfg.Introspection.age()
}

// confirm asks the issuer whether a JWT that is otherwise valid is still active. The answer may say less than the token, but nothing else.
func (o *verified) confirm(ctx context.Context, token string, claims jwt.MapClaims) error {
	said, err := o.issuer.introspector.ask(ctx, token)
	if err != nil {
		return err
	}
	if err := o.issuer.plausible(said.claims); err != nil {
		return err
	}
	if sub, ok := said.claims["sub"]; ok && sub != claims["sub"] {
		return fmt.Errorf("%w: the issuer says that it is another user's", authn.ErrToken)
	}
	if _, ok := said.claims["aud"]; ok {
		audience, err := said.claims.GetAudience()
		if err != nil {
			return fmt.Errorf("%w: %w", authn.ErrToken, err)
		}
		o.audience = slices.DeleteFunc(slices.Clone(o.audience), func(a string) bool { return !slices.Contains(audience, a) })
	}
	if said.until.Before(o.until) {
		o.until = said.until
	}
	return nil
}

// verifyOpaque returns what the issuer says of a token that is no JWT, if it is valid at this time.
func (v *Verifier) verifyOpaque(ctx context.Context, token string, now time.Time) (verified, error) {
	from := v.opaque
	if from == nil {
		return verified{}, fmt.Errorf("%w: it is no JWT", authn.ErrToken)
	}
	said, err := from.introspector.ask(ctx, token)
	if err != nil {
		return verified{}, err
	}
	if err := from.plausible(said.claims); err != nil {
		return verified{}, err
	}
	refuse := func(err error) (verified, error) { return verified{}, fmt.Errorf("%w: %w", authn.ErrToken, err) }
	check := jwt.NewValidator(jwt.WithLeeway(leeway), jwt.WithIssuedAt(), jwt.WithTimeFunc(func() time.Time { return now }))
	if err := check.Validate(said.claims); err != nil {
		return refuse(err)
	}
	out := verified{issuer: from, scopes: scopesOf(said.claims), until: said.until}
	if out.principal, err = from.mapper.principal(user(said.claims)); err != nil {
		return refuse(err)
	}
	if out.audience, err = said.claims.GetAudience(); err != nil {
		return refuse(err)
	}
	exp, err := said.claims.GetExpirationTime()
	if err != nil {
		return refuse(err)
	}
	if exp != nil {
		out.expires = exp.Time
		if exp.Before(out.until) {
			out.until = exp.Time
		}
	}
	return out, nil
}

// plausible refuses a token that is not active, one of another issuer, and one that is more than a bearer token.
func (i *issuer) plausible(claims jwt.MapClaims) error {
	if claims == nil {
		return fmt.Errorf("%w: it is not active", authn.ErrToken)
	}
	if iss, ok := claims["iss"]; ok && iss != i.cfg.Issuer {
		return fmt.Errorf("%w: the issuer says that it is another one's", authn.ErrToken)
	}
	if kind, ok := claims["token_type"]; ok {
		if text, _ := kind.(string); !strings.EqualFold(text, "Bearer") && text != "access_token" {
			return fmt.Errorf("%w: the issuer says that it is no bearer token", authn.ErrToken)
		}
	}
	return nil
}

// user returns the claims of an answer that are about the user.
func user(claims jwt.MapClaims) jwt.MapClaims {
	out := jwt.MapClaims{}
	for name, value := range claims {
		switch {
		case name == "active", name == "token_type", name == "token_use" && value == "access_token":
		default:
			out[name] = value
		}
	}
	return out
}
