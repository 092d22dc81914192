package workflow

import (
	"errors"
	"strings"
	"testing"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"

	"github.com/windlass-dev/windlass/services/registry/source"
	"github.com/windlass-dev/windlass/services/registry/store"
)

// TestEndsThatSayNothing: a result that cannot be read is an error of a workflow that completed, and an event that is not known leaves open
// what became of the workflow.
func TestEndsThatSayNothing(t *testing.T) {
	a := &attempt{Call: Call{Source: store.Source{Name: "shop"}, Hide: strings.Clone}}
	sealed := &history.HistoryEvent{
		EventType: enums.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
		Attributes: &history.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
			WorkflowExecutionCompletedEventAttributes: &history.WorkflowExecutionCompletedEventAttributes{
				Result: &common.Payloads{Payloads: []*common.Payload{{
					Metadata: map[string][]byte{encoding: []byte("binary/encrypted")}, Data: []byte("x"),
				}}},
			},
		},
	}
	for name, read := range map[string]func(*history.HistoryEvent) (string, bool, error){
		"awaited": func(e *history.HistoryEvent) (string, bool, error) {
			r, err := a.outcome("w", e)
			return r.GetContent()[0].GetText(), r.GetIsError(), err
		},
		"polled": func(e *history.HistoryEvent) (string, bool, error) {
			r, err := a.polled("w", e)
			return r.GetContent()[0].GetText(), r.GetIsError(), err
		},
	} {
		if text, isError, err := read(sealed); err != nil || !isError || !strings.Contains(text, "do not start it again") {
			t.Errorf("%s: %q, %t, %v", name, text, isError, err)
		}
	}
	for name, read := range map[string]func(*history.HistoryEvent) error{
		"awaited": func(e *history.HistoryEvent) error { _, err := a.outcome("w", e); return err },
		"polled":  func(e *history.HistoryEvent) error { _, err := a.polled("w", e); return err },
	} {
		err := read(&history.HistoryEvent{EventType: 9999})
		if failure, ok := errors.AsType[*source.Error](err); !ok || failure.Outcome != source.InDoubt {
			t.Errorf("%s: an event that is not known: %v", name, err)
		}
	}
}
