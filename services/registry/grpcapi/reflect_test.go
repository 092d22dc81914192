package grpcapi_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	reflectionv1 "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/windlass-dev/windlass/libs/egress"
	"github.com/windlass-dev/windlass/services/registry/grpcapi"
	"github.com/windlass-dev/windlass/services/registry/grpcapi/grpctest"
)

func connect(t *testing.T, address string) grpc.ClientConnInterface {
	t.Helper()
	out, err := egress.New(egress.Config{Profile: egress.Local})
	if err != nil {
		t.Fatal(err)
	}
	conn, release, err := out.GRPCConn(address, false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { release(); out.CloseIdle() })
	return conn
}

func TestServersAreAskedForTheirServices(t *testing.T) {
	for _, version := range []string{"v1", "v1alpha"} {
		s := grpctest.Serve(t, grpctest.Options{Reflection: version})
		conn := connect(t, s.Address)
		set, skipped, err := grpcapi.Reflect(t.Context(), conn, 16<<20)
		if err != nil || len(skipped) > 0 {
			t.Fatalf("%s: %v, %q", version, err, skipped)
		}
		again, _, err := grpcapi.Reflect(t.Context(), conn, 16<<20)
		if err != nil || string(again) != string(set) {
			t.Errorf("%s: the second answer differs: %v", version, err)
		}
		api, err := grpcapi.Read(t.Context(), set, options())
		if err != nil || len(api.Tools) != 9 { // without reflection's own
			t.Errorf("%s: %d tools, %v", version, len(api.Tools), err)
		}
		if err := grpcapi.Ping(t.Context(), conn, 1<<20); err != nil {
			t.Errorf("%s: %v", version, err)
		}
	}
	s := grpctest.Serve(t, grpctest.Options{})
	if _, _, err := grpcapi.Reflect(t.Context(), connect(t, s.Address), 16<<20); err == nil ||
		!strings.HasPrefix(err.Error(), "the server has no reflection; enable it there, or give a descriptor set") {
		t.Errorf("without reflection: %v", err)
	}
}

type (
	request  = reflectionv1.ServerReflectionRequest
	response = reflectionv1.ServerReflectionResponse
)

// liar is a reflection server.
type liar struct {
	reflectionv1.UnimplementedServerReflectionServer
	services []string
	answer   func(*reflectionv1.ServerReflectionRequest) (*reflectionv1.ServerReflectionResponse, error)
}

func (l liar) ServerReflectionInfo(stream grpc.BidiStreamingServer[reflectionv1.ServerReflectionRequest,
	reflectionv1.ServerReflectionResponse],
) error {
	for {
		req, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		resp := &reflectionv1.ServerReflectionResponse{}
		if req.GetMessageRequest() != nil && req.GetListServices() != "" && l.services != nil {
			list := &reflectionv1.ListServiceResponse{}
			for _, s := range l.services {
				list.Service = append(list.Service, &reflectionv1.ServiceResponse{Name: s})
			}
			resp.MessageResponse = &reflectionv1.ServerReflectionResponse_ListServicesResponse{ListServicesResponse: list}
		} else if resp, err = l.answer(req); err != nil {
			return err
		}
		if resp == nil { // silence
			<-stream.Context().Done()
			return stream.Context().Err()
		}
		if err := stream.Send(resp); err != nil {
			return err
		}
	}
}

func sent(files ...*descriptorpb.FileDescriptorProto) *reflectionv1.ServerReflectionResponse {
	out := &reflectionv1.FileDescriptorResponse{}
	for _, f := range files {
		text, err := proto.Marshal(f)
		if err != nil {
			panic(err)
		}
		out.FileDescriptorProto = append(out.FileDescriptorProto, text)
	}
	return &reflectionv1.ServerReflectionResponse{
		MessageResponse: &reflectionv1.ServerReflectionResponse_FileDescriptorResponse{FileDescriptorResponse: out},
	}
}

func refusal(text string) *reflectionv1.ServerReflectionResponse {
	return &reflectionv1.ServerReflectionResponse{MessageResponse: &reflectionv1.ServerReflectionResponse_ErrorResponse{
		ErrorResponse: &reflectionv1.ErrorResponse{ErrorCode: 5, ErrorMessage: text},
	}}
}

// TestReflectionServersAreNotBelieved: each row is a server that lies, and what is said about it. None takes longer than its time.
func TestReflectionServersAreNotBelieved(t *testing.T) {
	n := 0
	type answer func(*request) (*response, error)
	always := func(r *reflectionv1.ServerReflectionResponse) answer {
		return func(*request) (*response, error) {
			return r, nil
		}
	}
	named := func(name string, deps ...string) *descriptorpb.FileDescriptorProto {
		return &descriptorpb.FileDescriptorProto{Name: new(name), Syntax: new("proto3"), Dependency: deps}
	}
	many := make([]string, 10_001)
	for i := range many {
		many[i] = fmt.Sprintf("s%d.S", i)
	}
	for _, row := range []struct {
		name     string
		services []string
		answer   answer
		want     string
		skipped  string
	}{
		{name: "no list", answer: always(&response{}), want: "did not answer the question for its services"},
		{name: "an error instead of the list", answer: always(refusal(strings.Repeat("x", 5000))), want: "the server answered: xxx"},
		{name: "silence", answer: always(nil), want: "DeadlineExceeded"},
		{name: "silence later", services: []string{"a.A"}, answer: always(nil), want: "DeadlineExceeded"},
		{name: "too many services", services: many, want: "more than 10000 services"},
		{name: "refused services", services: []string{"a.A"}, answer: always(refusal("no")), skipped: "service a.A: the server answered: no"},
		{name: "a file without the service", services: []string{"a.A"}, answer: always(sent(named("x"))), skipped: "does not describe it"},
		{name: "no file", services: []string{"a.A"}, answer: always(&response{}), skipped: "does not describe it"},
		{name: "bytes that are no file", services: []string{"a.A"}, answer: always(&response{
			MessageResponse: &reflectionv1.ServerReflectionResponse_FileDescriptorResponse{
				FileDescriptorResponse: &reflectionv1.FileDescriptorResponse{FileDescriptorProto: [][]byte{{0xff, 0xff}}},
			},
		}), want: "no file descriptor"},
		{name: "imports without end", services: []string{"a.A"}, answer: func(*request) (*response, error) {
			n++
			return sent(named(fmt.Sprint(n), fmt.Sprint(n+1))), nil
		}, want: "more than 10000 files"},
		{name: "many imports of one file", services: []string{"a.A"}, answer: func(*request) (*response, error) {
			n++
			deps := make([]string, 6000)
			for i := range deps {
				deps[i] = fmt.Sprint(n, "/", i)
			}
			return sent(named(fmt.Sprint("f", n), deps...)), nil
		}, want: "more than 10000 files"},
		{name: "files without end", services: []string{"a.A"}, answer: func(*request) (*response, error) {
			n++
			f := named(fmt.Sprint("f", n), fmt.Sprint("f", n+1))
			f.Package = new(strings.Repeat("a", 900_000))
			return sent(f), nil
		}, want: "more than 1048576 bytes"},
		{name: "a file over the limit", services: []string{"a.A"}, answer: func(*request) (*response, error) {
			f := named("f")
			f.Package = new(strings.Repeat("a", 2<<20))
			return sent(f), nil
		}, want: "larger than max"},
		{name: "a broken stream", services: []string{"a.A"}, answer: func(*request) (*response, error) {
			return nil, status.Error(codes.Internal, "it broke")
		}, want: "it broke"},
	} {
		t.Run(row.name, func(t *testing.T) {
			g := grpc.NewServer()
			reflectionv1.RegisterServerReflectionServer(g, liar{services: row.services, answer: row.answer})
			var config net.ListenConfig
			l, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- g.Serve(l) }()
			t.Cleanup(func() {
				g.Stop()
				if err := <-done; err != nil {
					t.Error(err)
				}
			})
			limit := time.Minute
			if strings.HasPrefix(row.name, "silence") {
				limit = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			_, skipped, err := grpcapi.Reflect(ctx, connect(t, l.Addr().String()), 1<<20)
			switch {
			case row.want == "" && (err != nil || len(skipped) != 1 || !strings.Contains(skipped[0], row.skipped)):
				t.Errorf("skipped %q, %v", skipped, err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want) || len(err.Error()) > 600):
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}
