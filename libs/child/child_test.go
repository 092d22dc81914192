package child_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/child"
	"github.com/windlass-dev/windlass/libs/testmain"
)

func TestMain(m *testing.M) {
	child.Main(echo())
	testmain.Verify(m)
}

// echo is work that does what the request says.
func echo() child.Work {
	return child.Work{
		Name: "echo", Memory: 256 << 20, SoftMemory: 128 << 20, CPU: 5 * time.Second, Time: time.Minute, MaxAnswer: 1 << 20,
		Do: func(request json.RawMessage, data []byte) (child.Answer, error) {
			var what string
			if err := json.Unmarshal(request, &what); err != nil {
				return child.Answer{}, err
			}
			switch what {
			case "refuse":
				return child.Answer{}, child.Refuse("is %s", data)
			case "panic":
				panic(what)
			case "fail":
				return child.Answer{}, errors.New("failed")
			case "overflow":
				return child.Answer{Body: []byte{byte(deep(1))}}, nil
			case "much":
				return child.Answer{Body: make([]byte, 2<<20)}, nil
			case "memory":
				kept := make([][]byte, 0, 1024)
				for range cap(kept) {
					kept = append(kept, []byte(strings.Repeat("a", 1<<20)))
				}
				return child.Answer{Head: len(kept)}, nil
			}
			return child.Answer{Head: what, Body: data}, nil
		},
	}
}

// deep calls itself until the stack is full.
func deep(n int) int {
	if n < 0 {
		return 0
	}
	return deep(n+1) + n
}

func TestDo(t *testing.T) {
	r := child.New(echo(), 2)
	for _, row := range []struct {
		request, data, refused string
		exhausted              bool
	}{
		{request: "echo", data: ""},
		{request: "echo", data: "a\nb"},
		{request: "echo", data: "\x00\xff\n\n"},
		{request: "refuse", data: "odd", refused: "is odd"},
		{request: "panic", refused: "is damaged"},
		{request: "fail", refused: "cannot be decoded", exhausted: true},
		{request: "overflow", refused: "cannot be decoded", exhausted: true},
		{request: "much", refused: "cannot be decoded", exhausted: true},
		{request: "memory", refused: "cannot be decoded", exhausted: true},
	} {
		t.Run(row.request, func(t *testing.T) {
			release, err := r.Acquire(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			var head string
			body, err := r.Do(t.Context(), row.request, []byte(row.data), &head)
			refused, ok := errors.AsType[*child.Error](err)
			switch {
			case row.refused != "" && (!ok || !strings.Contains(err.Error(), row.refused) || refused.Exhausted != row.exhausted):
				t.Errorf("%+v, want %q", err, row.refused)
			case row.refused == "" && (err != nil || head != row.request || string(body) != row.data):
				t.Errorf("%q, %q, %v", head, body, err)
			}
		})
	}
}

func TestACancelledCallIsNoRefusal(t *testing.T) {
	r := child.New(echo(), 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Do(ctx, "echo", nil, new(string)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
