package ingest_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/services/knowledge/ingest"
)

// TestWorkflowsAreStartedOnce: those that wait longest first, no more than there is room for, and again only after a while.
func TestWorkflowsAreStartedOnce(t *testing.T) {
	t.Parallel()
	k := newKit(t, 1)
	var want []string
	for i := range 10 {
		want = append(want, k.put(fmt.Sprint(i), fmt.Sprint(i)).LatestVersion)
	}
	k.run()
	started := func(versions []string) func() bool {
		return func() bool {
			got, _ := k.engine.calls()
			return slices.Equal(got, versions)
		}
	}
	testpoll.Until(t, "as many are started as there is room for", started(want[:8]))
	k.ingest(want[3], ingest.Ready)
	testpoll.Until(t, "the next is started", started(want[:9]))
	k.advance(2 * time.Minute)
	k.Trigger()
	again := slices.Concat(want[:9], want[:3], want[4:9])
	testpoll.Until(t, "those without an outcome are started again", started(again))
}

// TestAStartIsRepeatedWhenTheEngineIsBack: a document that was stored while the engine was away is not lost.
func TestAStartIsRepeatedWhenTheEngineIsBack(t *testing.T) {
	t.Parallel()
	k := newKit(t, 1)
	k.engine.fail(errAway)
	d := k.put("a.md", "one")
	k.run()
	k.Trigger()
	k.engine.fail(nil)
	testpoll.Until(t, "the workflow is started", func() bool {
		k.Trigger()
		got, _ := k.engine.calls()
		return slices.Equal(got, []string{d.LatestVersion})
	})
}
