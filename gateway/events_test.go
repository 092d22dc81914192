package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	cloudevents "github.com/cloudevents/sdk-go/v2/event"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/windlass-dev/windlass/libs/fault"
	eventv1 "github.com/windlass-dev/windlass/proto/gen/windlass/event/v1"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

type eventStream = grpc.ServerStreamingServer[sessionsv1.WatchEventsResponse]

func domainEvent() *eventv1.CloudEvent {
	data, _ := structpb.NewStruct(map[string]any{"tool": "notes__add", "latency_ms": 1.5, "is_error": false, "text": "line\nbreak"})
	return &eventv1.CloudEvent{
		Specversion: "1.0", Id: "evt_1", Source: "/windlass/registry", Type: "dev.windlass.tool.called.v1", Subject: "notes__add",
		Time: timestamppb.New(time.Date(2026, 1, 2, 3, 4, 5, 678901000, time.UTC)), Datacontenttype: "application/json", Data: data,
		Cursor: "r2.s1",
	}
}

func (u *upstream) ListEvents(ctx context.Context, r *sessionsv1.ListEventsRequest) (*sessionsv1.ListEventsResponse, error) {
	return &sessionsv1.ListEventsResponse{Events: []*eventv1.CloudEvent{domainEvent()}, NextPageToken: "more"}, u.asked(ctx, r)
}

func (u *upstream) WatchEvents(r *sessionsv1.WatchEventsRequest, stream eventStream) error {
	if err := u.asked(stream.Context(), r); err != nil {
		return err
	}
	u.mu.Lock()
	watch := u.watchEvents
	u.mu.Unlock()
	if watch == nil {
		return nil
	}
	return errors.Join(stream.SendHeader(metadata.MD{}), watch(r, stream))
}

func (u *upstream) onWatchEvents(f func(*sessionsv1.WatchEventsRequest, eventStream) error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.watchEvents = f
}

// checkCloudEvent has the official SDK read an event.
func checkCloudEvent(t *testing.T, data []byte) {
	t.Helper()
	var got cloudevents.Event
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatalf("%s: %v", data, err)
	}
	if err := got.Validate(); err != nil {
		t.Errorf("%s: %v", data, err)
	}
	want := domainEvent()
	if got.ID() != want.GetId() || got.Source() != want.GetSource() || got.Type() != want.GetType() || got.Subject() != want.GetSubject() ||
		!got.Time().Equal(want.GetTime().AsTime()) || got.Extensions()["cursor"] != "r2.s1" {
		t.Errorf("got %s", got)
	}
	var fields map[string]any
	if err := got.DataAs(&fields); err != nil || fields["latency_ms"] != 1.5 || fields["text"] != "line\nbreak" {
		t.Errorf("data %v, %v", fields, err)
	}
}

func TestListedEventsAreCloudEvents(t *testing.T) {
	s := serve(t, nil)
	got := s.do(http.MethodGet, "/v1/events?types=dev.windlass.tool.*&source=/windlass/registry&subject=notes__*&since=2026-01-02T03:04:05Z"+
		"&oldest_first=true&page_size=1", "")
	if got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	var list struct {
		Events        []json.RawMessage `json:"events"`
		NextPageToken string            `json:"next_page_token"`
	}
	if err := json.Unmarshal(got.body, &list); err != nil || len(list.Events) != 1 || list.NextPageToken != "more" {
		t.Fatalf("%s: %v", got.body, err)
	}
	checkCloudEvent(t, list.Events[0])
	r, ok := s.up.request().(*sessionsv1.ListEventsRequest)
	if !ok || r.GetTypes()[0] != "dev.windlass.tool.*" || r.GetSubject() != "notes__*" || !r.GetOldestFirst() || r.GetPageSize() != 1 ||
		r.GetSource() != "/windlass/registry" || r.GetSince().AsTime().Unix() != 1767323045 {
		t.Errorf("request: %v", s.up.request())
	}
}

func TestStreamOfDomainEvents(t *testing.T) {
	s := serve(t, nil)
	s.up.onWatchEvents(func(_ *sessionsv1.WatchEventsRequest, stream eventStream) error {
		return errors.Join(stream.Send(&sessionsv1.WatchEventsResponse{Cursor: "r1.s1"}),
			stream.Send(&sessionsv1.WatchEventsResponse{Event: domainEvent(), Cursor: "r2.s1"}),
			fault.Unavailable(faultv1.Reason_REASON_UNAVAILABLE, "stopping"))
	})
	in := s.open("/v1/events:watch?since=2026-01-02T03:04:05%2B01:00&types=a,b&types=c&source=x&subject=y&after=r9.s9",
		"Last-Event-ID", "r1.s1")
	if in.resp.StatusCode != http.StatusOK || !strings.HasPrefix(in.resp.Header.Get("Content-Type"), "text/event-stream") {
		t.Fatalf("%d %v", in.resp.StatusCode, in.resp.Header)
	}
	r, ok := s.up.request().(*sessionsv1.WatchEventsRequest)
	if !ok || r.GetAfter() != "r1.s1" || r.GetSince().AsTime().Hour() != 2 || strings.Join(r.GetTypes(), ";") != "a,b;c" ||
		r.GetSource() != "x" || r.GetSubject() != "y" {
		t.Errorf("request: %v", s.up.request())
	}
	if f, _ := in.next(); f.retry == "" {
		t.Errorf("first frame %+v", f)
	}
	if f, _ := in.next(); f != (frame{id: "r1.s1"}) {
		t.Errorf("the position is %+v", f)
	}
	f, _ := in.next()
	if f.id != "r2.s1" || f.event != "dev.windlass.tool.called.v1" {
		t.Errorf("frame %+v", f)
	}
	checkCloudEvent(t, []byte(f.data))
	if f, _ := in.next(); f.event != "error-status" || !strings.Contains(f.data, `"code":"unavailable"`) {
		t.Errorf("end %+v", f)
	}
	if f, more := in.next(); more {
		t.Errorf("after the end: %+v", f)
	}

	s.up.onWatchEvents(func(_ *sessionsv1.WatchEventsRequest, stream eventStream) error {
		if err := stream.Send(&sessionsv1.WatchEventsResponse{Event: domainEvent(), Cursor: "r2.s1"}); err != nil {
			return err
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	})
	in = s.open("/v1/events:watch?event=message")
	in.next()
	if f, _ := in.next(); f.event != "" || f.data == "" {
		t.Errorf("frame without a name: %+v", f)
	}
}

func TestRefusedStreamsOfDomainEvents(t *testing.T) {
	s := serve(t, nil)
	for path, code := range map[string]string{
		"since=yesterday": "invalid_argument", "event=all": "invalid_argument", "typ=x": "unknown_field", "after=%FF": "invalid_argument",
	} {
		got := s.do(http.MethodGet, "/v1/events:watch?"+path, "")
		if got.status != http.StatusBadRequest || !strings.Contains(string(got.body), `"code":"`+code+`"`) {
			t.Errorf("%s: %d %s", path, got.status, got.body)
		}
	}
	s.up.fail(fault.New(codes.InvalidArgument, faultv1.Reason_REASON_INVALID_CURSOR, "no cursor"))
	if got := s.do(http.MethodGet, "/v1/events:watch?after=x", ""); got.status != http.StatusBadRequest ||
		!strings.Contains(string(got.body), `"code":"invalid_cursor"`) {
		t.Errorf("%d %s", got.status, got.body)
	}
	if got := s.do(http.MethodPost, "/v1/events:watch", "{}"); got.status != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d %s", got.status, got.body)
	}
}
