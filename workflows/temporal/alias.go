package temporal

import (
	"context"
	"fmt"

	"go.temporal.io/sdk/client"
)

// Client is the SDK's client, so that those who only hand it on need not know the SDK.
type Client = client.Client

// Check asks whether Temporal answers.
func Check(ctx context.Context, c Client) error {
	if err := healthy(ctx, c); err != nil {
		return fmt.Errorf("temporal does not answer: %w", err)
	}
	return nil
}
