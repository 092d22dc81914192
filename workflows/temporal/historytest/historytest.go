// Package historytest keeps histories of workflows as files, and has a later version of the code replay them.
package historytest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/windlass-dev/windlass/workflows/temporal"
)

// Write keeps a history as the file NAME.json of a folder, which is made where it is missing. The name of this machine is left out.
func Write(t testing.TB, folder, name string, h *history.History) {
	t.Helper()
	raw, err := protojson.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	if host, err := os.Hostname(); err == nil { // it is in the names of sticky queues
		raw = bytes.ReplaceAll(raw, []byte(`"`+host+`:`), []byte(`"host:`))
	}
	var text bytes.Buffer
	if err := json.Indent(&text, raw, "", " "); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name+".json"), append(text.Bytes(), '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

// Replay has each history of a folder replayed by the workflows that register adds. A folder without histories is a mistake.
func Replay(t *testing.T, folder string, register func(worker.WorkflowReplayer)) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no histories found in %s: %v", folder, err)
	}
	for _, name := range files {
		t.Run(filepath.Base(name), func(t *testing.T) {
			replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
				DataConverter: (*temporal.Codec)(nil).DataConverter(),
			})
			if err != nil {
				t.Fatal(err)
			}
			register(replayer)
			file, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			h, err := client.HistoryFromJSON(file, client.HistoryJSONOptions{})
			if err == nil {
				err = replayer.ReplayWorkflowHistoryWithOptions(nil, h, Original(h))
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// Original has a history replayed under the id of its workflow, as by a worker.
func Original(h *history.History) worker.ReplayWorkflowHistoryOptions {
	began := h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	return worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: began.GetWorkflowId(), RunID: began.GetOriginalExecutionRunId()},
	}
}
