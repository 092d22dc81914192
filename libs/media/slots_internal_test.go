package media

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// TestWaitingForADecoderIsBounded fills the decoders with slow files: another one is not refused as undecodable, but for now.
func TestWaitingForADecoderIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := New()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		c.ask = func(ctx context.Context, _ request, _ []byte) (answer, error) {
			<-ctx.Done()
			return answer{}, ctx.Err()
		}
		for n := range cap(c.slots) {
			go func() { _, _ = c.PDFText(ctx, fmt.Appendf(nil, "slow %d", n)) }()
		}
		synctest.Wait()
		began := time.Now()
		if _, err := c.PDFText(ctx, []byte("another")); fault.ReasonOf(err) != faultv1.Reason_REASON_UNAVAILABLE || time.Since(began) != maxWait {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		cancel()
	})
}

// TestOnlyRefusalsOfTheChildAreKept: a file that met a busy machine is decoded the next time.
func TestOnlyRefusalsOfTheChildAreKept(t *testing.T) {
	for _, exhausted := range []bool{false, true} {
		c, err := New()
		if err != nil {
			t.Fatal(err)
		}
		asked := 0
		c.ask = func(context.Context, request, []byte) (answer, error) {
			asked++
			return answer{Refused: "is damaged", exhausted: exhausted}, nil
		}
		for range 2 {
			_, err := c.PDFText(t.Context(), []byte("a"))
			if refused, ok := errors.AsType[*Error](err); !ok || refused.Exhausted != exhausted {
				t.Errorf("exhausted %t: %v", exhausted, err)
			}
		}
		if want := 1; (asked == want) == exhausted {
			t.Errorf("exhausted %t: the child was asked %d times", exhausted, asked)
		}
	}
}
