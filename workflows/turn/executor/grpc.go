package executor

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/windlass-dev/windlass/libs/egress"
	executorv1 "github.com/windlass-dev/windlass/proto/gen/windlass/executor/v1"
)

// grpcLink is a stream on a connection of its own.
type grpcLink struct {
	spec   *spec
	conn   *grpc.ClientConn
	stream grpc.BidiStreamingClient[executorv1.RunRequest, executorv1.RunResponse]
	cancel context.CancelFunc
	once   sync.Once
}

// openGRPC dials the executor and sends the invocation.
func (h *Host) openGRPC(ctx context.Context, s *spec, in *executorv1.Invocation) (link, error) {
	u, err := url.Parse(s.url)
	if err != nil {
		return nil, failed("the executor's address is not valid")
	}
	conn, err := h.egress.GRPC(u.Host, u.Scheme == "grpcs", maxLine)
	if err != nil {
		return nil, failed("the executor's address is not valid: %s", s.redact(err.Error()))
	}
	live, cancel := context.WithCancel(context.WithoutCancel(ctx)) // a link may be kept for the next round
	l := &grpcLink{spec: s, conn: conn, cancel: cancel}
	live = metadata.NewOutgoingContext(live, metadata.New(s.headers))
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	if l.stream, err = executorv1.NewExecutorServiceClient(conn).Run(live); err == nil {
		err = l.stream.Send(first(in))
	}
	if err != nil && !errors.Is(err, io.EOF) { // EOF: recv says why
		l.cut()
		return nil, l.sort(err)
	}
	return l, nil
}

func (l *grpcLink) send(req *executorv1.RunRequest) error {
	if err := l.stream.Send(req); err != nil && !errors.Is(err, io.EOF) {
		return l.sort(err)
	}
	return nil
}

func (l *grpcLink) recv() (*executorv1.RunResponse, error) {
	e, err := l.stream.Recv()
	if err != nil && !errors.Is(err, io.EOF) {
		err = l.sort(err)
	}
	return e, err
}

// sort converts an error of the stream.
func (l *grpcLink) sort(err error) error {
	text := l.spec.redact(status.Convert(err).Message())
	if errors.Is(err, egress.ErrDenied) || strings.Contains(text, egress.ErrDenied.Error()) {
		return failed("the executor cannot be reached: %s", text)
	}
	switch status.Code(err) {
	case codes.Unavailable, codes.ResourceExhausted, codes.Aborted, codes.DeadlineExceeded, codes.Canceled, codes.Unknown, codes.Internal:
		return away("the executor's stream broke off: %s", text)
	default:
		return failed("the executor refuses the round: %s", text)
	}
}

func (l *grpcLink) finish() { l.cut() }

func (l *grpcLink) cut() {
	l.once.Do(func() {
		l.cancel()
		_ = l.conn.Close() // unused from here on
	})
}
