package linear

import (
	"fmt"

	"github.com/anishathalye/porcupine"
)

// idempotencyConflict is the code of another request with a used key.
const idempotencyConflict = "idempotency_conflict"

// keyState is what is known of one idempotency key. result is "" while no answer has told it.
type keyState struct {
	used         bool
	body, result string
}

// keyModel is one idempotency key: the first request that is accepted takes it, the same request is answered alike from then on,
// another one is refused, and a refused request takes no key.
func keyModel() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{keyState{}} },
		Step: func(state, in, out any) []any { return stepKey(state.(keyState), in.(Input), out.(Output)) },
		DescribeOperation: func(in, out any) string {
			o := out.(Output)
			return fmt.Sprintf("%s %s -> %s %s", in.(Input).Kind, in.(Input).body(), o.Code, o.result(in.(Input).Kind))
		},
		DescribeState: func(state any) string { return fmt.Sprintf("%+v", state) },
	}
	return m.ToModel()
}

// body is what makes a request with a key the same request.
func (in Input) body() string {
	return fmt.Sprintf("%s/%s/%s/%s", in.Session, in.Turn, in.Mode, in.Text)
}

// result is what a request with a key made.
func (o Output) result(k Kind) string {
	switch k {
	case Steer:
		return o.Message
	case Fork:
		return o.Session
	}
	return o.Turn
}

func stepKey(s keyState, in Input, out Output) []any {
	mine := s.used && s.body == in.body()
	switch out.Code {
	case OK:
		result := out.result(in.Kind)
		if result == "" || s.used && (!mine || s.result != "" && s.result != result) {
			return nil
		}
		return []any{keyState{used: true, body: in.body(), result: result}}
	case Unknown:
		if s.used {
			return []any{s}
		}
		return []any{s, keyState{used: true, body: in.body()}}
	case idempotencyConflict:
		if s.used && !mine {
			return []any{s}
		}
		return nil
	}
	if s.used {
		return nil
	}
	return []any{s}
}
