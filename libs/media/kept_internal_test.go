package media

import (
	"context"
	"errors"
	"testing"
)

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
			return answer{refused: &Error{text: "is damaged", Exhausted: exhausted}}, nil
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
