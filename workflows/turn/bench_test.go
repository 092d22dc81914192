package turn_test

import (
	"fmt"
	"testing"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
	"github.com/windlass-dev/windlass/workflows/turn/turntest"
)

// BenchmarkTurn is a turn from its start to the workflow's end, one after the other: with a model and tools that take no time and a
// journal in memory it is what the walk costs.
func BenchmarkTurn(b *testing.B) {
	for _, row := range []struct {
		name  string
		model turntest.Generate
	}{
		{name: "answer", model: turntest.Say("ok")},
		{name: "tools=2", model: turntest.CallTools("x__echo", 2)},
		{name: "rounds=4", model: turntest.CallTools("x__echo", 1, 1, 1, 1)},
	} {
		b.Run(row.name, func(b *testing.B) {
			l := newLive(b, turntest.New(b, turntest.Tool("x__echo")))
			l.Model(row.model)
			for i := range 3 { // caches and pollers warm up
				l.end(l.begin(fmt.Sprintf("trn_warm_%d", i), &sessionsv1.Agent{Tools: []string{"*"}}))
			}
			n := 0
			for b.Loop() {
				n++
				l.end(l.begin(fmt.Sprintf("trn_%d", n), &sessionsv1.Agent{Tools: []string{"*"}}))
			}
		})
	}
}
