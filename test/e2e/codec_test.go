package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/proxy"
	tclient "go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/windlass-dev/windlass/test/harness"
)

// TestS18TurnsAreStoredAsCiphertext: all payloads of a turn's history are encrypted, and the codec endpoint decodes them for
// the Temporal UI.
func TestS18TurnsAreStoredAsCiphertext(t *testing.T) {
	t.Parallel()
	up := harness.Up(t, t.TempDir(), []string{"WINDLASS_TEMPORAL_PARK_AFTER=1ms"})
	c := up.Client
	guarded(c, "careful", 0)
	turn, failed := c.Turn(c.Session("careful"), "call:mesh__uuid {} then say:done"), c.Turn(c.Session("careful"), "fail:always")
	asked(c, turn, "approval.requested", 1)
	ids, _ := c.Must("GET", "/v1/turns/"+turn, nil)["waiting_for"].([]any)
	c.Must("POST", "/v1/approvals/"+ids[0].(string)+":decide", harness.JSON{"decision": "approve"})
	o := newOperator(t, up)
	o.status(turn, "Completed")
	o.status(failed, "Failed")

	payloads, text := stored(t, up.RawTemporal(t), turn)
	if _, failure := stored(t, up.RawTemporal(t), failed); !strings.Contains(failure, "Encoded failure") {
		t.Errorf("the failure is in clear: %s", failure)
	}
	for _, p := range payloads {
		if string(p.GetMetadata()["encoding"]) != "binary/encrypted" {
			t.Errorf("in clear: %v", p)
		}
	}
	if len(payloads) < 5 {
		t.Errorf("%d payloads: %s", len(payloads), text)
	}
	ui, _ := up.Ready["temporal_ui"].(string)
	if status, body := decode(t, c.Base, payloads, "Origin", ui); status != 200 || !strings.Contains(body, turn) {
		t.Errorf("decoded for the UI: %d %s", status, body)
	}
	for want, headers := range map[int][]string{
		401: {"Origin", ui, "X-Forwarded-For", "203.0.113.9"},
		403: {"Origin", "http://evil.example.com", "Sec-Fetch-Site", "cross-site"},
	} {
		if status, body := decode(t, c.Base, payloads, headers...); status != want || strings.Contains(body, turn) {
			t.Errorf("%v: %d %s", headers, status, body)
		}
	}
	settings := up.UI().Must("GET", "/api/v1/settings", nil)
	if !strings.Contains(fmt.Sprint(settings), c.Base+"/temporal/codec") {
		t.Errorf("settings of the UI: %v", settings)
	}
}

// stored returns the payloads of a workflow's newest run, and its history as text.
func stored(t *testing.T, raw tclient.Client, id string) (payloads []*commonpb.Payload, text string) {
	t.Helper()
	for it := raw.GetWorkflowHistory(t.Context(), id, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); it.HasNext(); {
		e, err := it.Next()
		if err != nil {
			t.Fatal(err)
		}
		text += prototext.Format(e)
		err = proxy.VisitPayloads(t.Context(), e, proxy.VisitPayloadsOptions{
			SkipSearchAttributes: true, // indexed by the server: ids, names and the status of the turn
			Visitor: func(_ *proxy.VisitPayloadsContext, p []*commonpb.Payload) ([]*commonpb.Payload, error) {
				payloads = append(payloads, p...)
				return p, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return payloads, text
}

// decode asks the codec endpoint as the Temporal UI does, and returns the data of the payloads.
func decode(t *testing.T, base string, payloads []*commonpb.Payload, headers ...string) (int, string) {
	t.Helper()
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: payloads})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/temporal/codec/decode", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Payloads []struct{ Data []byte } `json:"payloads"`
	}
	if resp.StatusCode != http.StatusOK || json.Unmarshal(answer, &got) != nil {
		return resp.StatusCode, string(answer)
	}
	var out strings.Builder
	for _, p := range got.Payloads {
		out.Write(p.Data)
	}
	return resp.StatusCode, out.String()
}
