package sessions_test

import (
	"errors"
	"io"
	"testing"

	sessionsv1 "github.com/windlass-dev/windlass/proto/gen/windlass/sessions/v1"
)

// drain reads a watch until it ends.
func drain(t testing.TB, turns sessionsv1.TurnServiceClient, req *sessionsv1.WatchRequest) ([]*sessionsv1.WatchResponse, error) {
	t.Helper()
	stream, err := turns.Watch(t.Context(), req)
	if err != nil {
		return nil, err
	}
	var got []*sessionsv1.WatchResponse
	for {
		r, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return got, nil
		}
		if err != nil {
			return got, err
		}
		got = append(got, r)
	}
}
