package telemetry

import (
	"errors"
	"fmt"

	"github.com/windlass-dev/windlass/libs/secret"
)

// minScrapeToken is the least length of a token for metrics, in bytes.
const minScrapeToken = 16

// ScrapeConfig says how monitoring reads /metrics without being a user. Users need the permission metrics.get.
type ScrapeConfig struct {
	Token secret.Value `yaml:"token" doc:"Token that reads /metrics as \"Authorization: Bearer TOKEN\" and is accepted nowhere else, at least 16 characters. Empty: none."`
	// TokenFile is read again for each request, so that the token can be replaced.
	TokenFile string `yaml:"token_file" doc:"File with such a token, instead of token; only its owner may read it (mode 0600 or less). A new content is accepted at once."`
	Addr      string `yaml:"addr" doc:"Address that serves /metrics, and nothing else, to everyone who can reach it. Empty: none."`
}

// Check reports settings that cannot be used.
func (c ScrapeConfig) Check() error {
	switch {
	case !c.Token.IsZero() && c.TokenFile != "":
		return errors.New("telemetry.metrics: set token or token_file, not both")
	case !c.Token.IsZero() && len(c.Token.Reveal()) < minScrapeToken:
		return fmt.Errorf("telemetry.metrics.token is too short: use at least %d random characters", minScrapeToken)
	}
	if c.TokenFile == "" {
		return nil
	}
	_, err := c.token()
	return err
}

func (c ScrapeConfig) token() (secret.Value, error) {
	if c.TokenFile == "" {
		return c.Token, nil
	}
	v, err := secret.ReadFile(c.TokenFile)
	switch {
	case err != nil:
		return v, fmt.Errorf("telemetry.metrics.token_file: %w", err)
	case len(v.Reveal()) < minScrapeToken:
		return v, fmt.Errorf("telemetry.metrics.token_file: the token is too short: use at least %d random characters", minScrapeToken)
	}
	return v, nil
}

// Accepts reports whether a token is that for metrics. It fails if the file with the token cannot be read.
func (c ScrapeConfig) Accepts(token string) (bool, error) {
	want, err := c.token()
	if err != nil || want.IsZero() {
		return false, err
	}
	return want.Equal(secret.New(token)), nil
}
