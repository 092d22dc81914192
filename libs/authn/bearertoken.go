package authn

import "github.com/windlass-dev/windlass/libs/secret"

// Token returns the bearer token of the values of an Authorization header; zero if there is none. It is not verified.
func Token(authorization []string) secret.Value {
	if len(authorization) == 0 {
		return secret.Value{}
	}
	token, err := bearerToken(authorization)
	if err != nil {
		return secret.Value{}
	}
	return secret.New(token)
}
