package retrieval

import (
	"context"
	"errors"
	"net/http"

	"github.com/windlass-dev/windlass/services/inference/provider"
)

// ErrNoCount is the cause of the error of a server that does not count tokens.
var ErrNoCount = errors.New("the server does not count tokens")

// maxCountValues bounds the JSON values of an answer that is a number.
const maxCountValues = 1024

// ReadCount reads the answer to a request for a count, or err if there is none, into out. The error of a server without the endpoint has
// the cause ErrNoCount.
func ReadCount(ctx context.Context, id provider.Identity, model string, resp *http.Response, err error, out any) error {
	if refused, ok := errors.AsType[*provider.RefusedError](err); ok && refused.Missing() {
		return id.Fault(model, refused.Failure).Cause(ErrNoCount)
	}
	if err != nil {
		return id.Failed(ctx, model, err)
	}
	_, err = readWhole(ctx, id, resp, maxCountValues, nil, out)
	return err
}

// Counted returns a provider's count; nil stands for none.
func Counted(name string, n *int64) (int64, error) {
	if n == nil || *n < 0 {
		return 0, provider.Broken("%s does not say how many tokens it counts", name)
	}
	return *n, nil
}
