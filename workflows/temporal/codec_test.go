package temporal_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	sdktemporal "go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/secret"
	"github.com/windlass-dev/windlass/libs/testpoll"
	"github.com/windlass-dev/windlass/libs/testtemporal"
	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/workflows/temporal"
)

const queue = "codec"

func key(letter string) secret.Value { return secret.New(strings.Repeat(letter, 32)) }

func codec(t testing.TB, cfg temporal.CodecConfig) *temporal.Codec {
	t.Helper()
	c, err := temporal.NewCodec(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func dial(t testing.TB, address string, c *temporal.Codec) client.Client {
	t.Helper()
	cl, err := temporal.Dial(t.Context(), temporal.Config{Address: address, Codec: c, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

// work starts a worker, and returns what stops it.
func work(t testing.TB, c client.Client) (stop func()) {
	t.Helper()
	w := worker.New(c, queue, worker.Options{})
	w.RegisterWorkflow(tell)
	w.RegisterActivity(fail)
	w.RegisterActivity(repeat)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	return w.Stop
}

// tell passes its input through everything that a history can hold, and waits for a signal in between.
func tell(ctx workflow.Context, word string) (string, error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 10 * time.Second, Summary: "summary " + word, RetryPolicy: &sdktemporal.RetryPolicy{MaximumAttempts: 1},
	})
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Second, Summary: word})
	if err := workflow.SetUpdateHandler(ctx, "update", func(_ workflow.Context, s string) (string, error) { return s, nil }); err != nil {
		return "", err
	}
	if err := workflow.ExecuteActivity(ctx, fail, word).Get(ctx, nil); err == nil || !strings.Contains(err.Error(), word) {
		return "", errors.New("the activity did not fail as it should")
	}
	var once, twice, said string
	if err := workflow.ExecuteActivity(ctx, repeat, word).Get(ctx, &once); err != nil {
		return "", err
	}
	if err := workflow.ExecuteLocalActivity(ctx, repeat, word).Get(ctx, &twice); err != nil {
		return "", err
	}
	workflow.GetSignalChannel(ctx, "signal").Receive(ctx, &said)
	told := sdktemporal.NewApplicationErrorWithOptions(said, "told", sdktemporal.ApplicationErrorOptions{Details: []any{once}})
	return once + twice + said, told
}

func fail(ctx context.Context, word string) error { return errors.New("failed: " + word) }

func repeat(_ context.Context, word string) (string, error) { return word, nil }

func start(t testing.TB, c client.Client, id, word string) client.WorkflowRun {
	t.Helper()
	run, err := c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: id, TaskQueue: queue, StaticSummary: "summary " + word, StaticDetails: word, Memo: map[string]any{"memo": word},
	}, tell, word)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// historyText renders a history as the server stores it, or as the codec decodes it.
func historyText(t testing.TB, c client.Client, id string, through *temporal.Codec) string {
	t.Helper()
	var out strings.Builder
	for it := c.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		if through != nil {
			e = proto.CloneOf(e)
			err := proxy.VisitPayloads(t.Context(), e, proxy.VisitPayloadsOptions{
				SkipSearchAttributes: true,
				Visitor: func(_ *proxy.VisitPayloadsContext, p []*commonpb.Payload) ([]*commonpb.Payload, error) {
					return through.Decode(p)
				},
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		out.WriteString(prototext.Format(e))
	}
	return out.String()
}

func TestS18HistoriesHoldCiphertext(t *testing.T) {
	t.Parallel()
	const word = "canary-7c1d0e"
	address := testtemporal.Server(t)
	codec := codec(t, temporal.CodecConfig{Key: key("a")})
	c, raw := dial(t, address, codec), dial(t, address, nil)
	defer work(t, c)()
	run := start(t, c, "secretive", word)
	update, err := c.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: "secretive", UpdateName: "update", Args: []any{word}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	var answer string
	if err == nil {
		err = update.Get(t.Context(), &answer)
	}
	if err != nil || answer != word {
		t.Fatalf("update: %q, %v; %v", answer, err, run.Get(t.Context(), nil))
	}
	if err := c.SignalWorkflow(t.Context(), "secretive", "", "signal", word); err != nil {
		t.Fatal(err)
	}
	var failed *sdktemporal.ApplicationError
	if err := run.Get(t.Context(), nil); !errors.As(err, &failed) || failed.Type() != "told" || !strings.Contains(failed.Error(), word) {
		t.Errorf("the workflow ended with %v", err)
	}
	d, err := c.DescribeWorkflow(t.Context(), "secretive", "")
	if err != nil {
		t.Fatal(err)
	}
	if s, err := d.GetStaticSummary(); err != nil || s != "summary "+word {
		t.Errorf("summary: %q, %v", s, err)
	}
	hidden, decoded := historyText(t, raw, "secretive", nil), historyText(t, raw, "secretive", codec)
	listed, err := raw.DescribeWorkflowExecution(t.Context(), "secretive", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{hidden, prototext.Format(listed)} {
		if strings.Contains(text, word) || strings.Contains(text, "Y2FuYXJ5") {
			t.Errorf("in clear: %s", text)
		}
	}
	if n := strings.Count(decoded, word); n < 15 {
		t.Errorf("decoded, the history has the word %d times: %s", n, decoded)
	}
}

// TestOldHistoriesAndKeysAreRead: a workflow begun in clear goes on encrypted; one whose key is missing waits for a worker that has it.
func TestOldHistoriesAndKeysAreRead(t *testing.T) {
	t.Parallel()
	address := testtemporal.Server(t)
	plain, first := dial(t, address, nil), dial(t, address, codec(t, temporal.CodecConfig{Key: key("a")}))
	both := dial(t, address, codec(t, temporal.CodecConfig{Key: key("b"), OldKeys: []secret.Value{key("a")}, AcceptClear: true}))
	other := dial(t, address, codec(t, temporal.CodecConfig{Key: key("c")}))

	stop := work(t, plain)
	start(t, plain, "clear", "one")
	waitFor(t, plain, "clear", enums.EVENT_TYPE_MARKER_RECORDED)
	stop()
	stop = work(t, first)
	start(t, first, "first", "two")
	waitFor(t, plain, "first", enums.EVENT_TYPE_MARKER_RECORDED)
	stop()

	stop = work(t, other)
	if err := other.SignalWorkflow(t.Context(), "first", "", "signal", "x"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, plain, "first", enums.EVENT_TYPE_WORKFLOW_TASK_FAILED)
	if d, err := plain.DescribeWorkflow(t.Context(), "first", ""); err != nil || d.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("without its key the workflow is %v, %v", d.Status, err)
	}
	stop()
	if err := plain.TerminateWorkflow(t.Context(), "first", "", "its signal has a third key"); err != nil {
		t.Fatal(err)
	}

	stop = work(t, first)
	start(t, first, "second", "two")
	waitFor(t, plain, "second", enums.EVENT_TYPE_MARKER_RECORDED)
	stop()
	defer work(t, both)()
	for id, want := range map[string]string{"clear": "three", "second": "three"} {
		if err := both.SignalWorkflow(t.Context(), id, "", "signal", want); err != nil {
			t.Fatal(err)
		}
		var failed *sdktemporal.ApplicationError
		if err := both.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil); !errors.As(err, &failed) || failed.Message() != want {
			t.Errorf("%s ended with %v", id, err)
		}
	}
}

// TestS18WhatIsInClearIsRefused: a workflow that somebody without a key starts does nothing, and one that a clear payload reaches waits.
func TestS18WhatIsInClearIsRefused(t *testing.T) {
	t.Parallel()
	address := testtemporal.Server(t)
	stranger, ours := dial(t, address, nil), dial(t, address, codec(t, temporal.CodecConfig{Key: key("a")}))
	defer work(t, ours)()
	start(t, stranger, "forged", "word")
	waitFor(t, stranger, "forged", enums.EVENT_TYPE_WORKFLOW_TASK_FAILED)
	// The failure says why to holders of the key only, as all failures do.
	if text := historyText(t, stranger, "forged", nil); strings.Contains(text, "EVENT_TYPE_ACTIVITY") {
		t.Errorf("what the stranger's workflow did: %s", text)
	}

	start(t, ours, "ours", "word")
	waitFor(t, stranger, "ours", enums.EVENT_TYPE_MARKER_RECORDED)
	if err := stranger.SignalWorkflow(t.Context(), "ours", "", "signal", "forged"); err != nil {
		t.Fatal(err)
	}
	waitFor(t, stranger, "ours", enums.EVENT_TYPE_WORKFLOW_TASK_FAILED)
	if d, err := stranger.DescribeWorkflow(t.Context(), "ours", ""); err != nil || d.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		t.Errorf("a signal in clear was read: %v, %v", d, err)
	}
}

func TestPayloadsInClear(t *testing.T) {
	plain, err := converter.GetDefaultDataConverter().ToPayload("hello")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name   string
		cfg    temporal.CodecConfig
		refuse bool
	}{
		{name: "are refused", refuse: true},
		{name: "are read where that is configured", cfg: temporal.CodecConfig{AcceptClear: true}},
		{name: "are read without encryption", cfg: temporal.CodecConfig{Clear: true}},
	} {
		row.cfg.Key = key("a")
		var got string
		err := codec(t, row.cfg).DataConverter().FromPayload(plain, &got)
		if row.refuse != errors.Is(err, temporal.ErrClear) || (got == "hello") == row.refuse {
			t.Errorf("%s: %q, %v", row.name, got, err)
		}
	}
}

// waitFor waits until a history has an event of a type.
func waitFor(t testing.TB, c client.Client, id string, kind enums.EventType) {
	t.Helper()
	testpoll.Until(t, id+" has "+kind.String(), func() bool {
		for it := c.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
			if e, err := it.Next(); err == nil && e.GetEventType() == kind {
				return true
			}
		}
		return false
	})
}

func TestEncryptionCanBeOff(t *testing.T) {
	on, off := codec(t, temporal.CodecConfig{Key: key("a")}), codec(t, temporal.CodecConfig{Key: key("a"), Clear: true})
	p, err := on.DataConverter().ToPayload("hello")
	if err != nil || strings.Contains(string(p.GetData()), "hello") ||
		string(p.GetMetadata()[converter.MetadataEncoding]) != "binary/encrypted" {
		t.Fatalf("encrypted: %v, %v", p, err)
	}
	var got string
	if err := off.DataConverter().FromPayload(p, &got); err != nil || got != "hello" {
		t.Errorf("read with encryption off: %q, %v", got, err)
	}
	if p, err := off.DataConverter().ToPayload("hello"); err != nil || string(p.GetData()) != `"hello"` {
		t.Errorf("written with encryption off: %v, %v", p, err)
	}
}

func BenchmarkCodec(b *testing.B) {
	c := codec(b, temporal.CodecConfig{Key: key("a")})
	for name, size := range map[string]int{"200B": 200, "1500B": 1500, "64KiB": 64 << 10} {
		b.Run(name, func(b *testing.B) {
			p := []*commonpb.Payload{{Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: make([]byte, size)}}
			for b.Loop() {
				sealed, err := c.Encode(p)
				if err == nil {
					_, err = c.Decode(sealed)
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestALaterVersionMayHaveMoreFields: what its workers stored is read without them, so that turns under way continue after a step back.
func TestALaterVersionMayHaveMoreFields(t *testing.T) {
	for name, c := range map[string]*temporal.Codec{
		"clear": nil, "encrypted": codec(t, temporal.CodecConfig{Key: key("a"), AcceptClear: true}),
	} {
		var got turnv1.Progress
		err := c.DataConverter().FromPayload(&commonpb.Payload{
			Metadata: map[string][]byte{converter.MetadataEncoding: []byte(converter.MetadataEncodingProtoJSON)},
			Data:     []byte(`{"nowMicros": "7", "outcomes": [{"key": "begin", "laterField": 1}]}`),
		}, &got)
		if err != nil || got.GetNowMicros() != 7 || got.GetOutcomes()[0].GetKey() != "begin" {
			t.Errorf("%s: %v, %v", name, &got, err)
		}
	}
}
