package provider_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
	"github.com/windlass-dev/windlass/services/inference/provider"
	"github.com/windlass-dev/windlass/services/inference/provider/anthropic"
	"github.com/windlass-dev/windlass/services/inference/provider/openai"
)

// sameAnswer is a server that reads requests and answers all with the same.
type sameAnswer string

// RoundTrip implements http.RoundTripper.
func (a sameAnswer) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(string(a))),
	}, nil
}

// longTalk returns n turns with a call each, of ten ids: some providers count the calls of each answer only.
func longTalk(n int) (out []*turnv1.Message) {
	for i := range n {
		call := &turnv1.ToolCall{
			CallId: fmt.Sprintf("call_%d", i%10), Tool: "calc__evaluate", ArgumentsJson: fmt.Sprintf(`{"expression":"%d + 1"}`, i),
		}
		out = append(out, inferencetest.User(fmt.Sprintf("What is %d + 1?", i)))
		out = append(out, inferencetest.Called(fmt.Sprint(i+1), call)...)
		out = append(out, &turnv1.Message{
			Role: turnv1.Role_ROLE_ASSISTANT, Content: []*turnv1.ContentPart{inferencetest.Text(fmt.Sprintf("It is %d.", i+1))},
		})
	}
	return append(out, inferencetest.User("And now?"))
}

// BenchmarkConversation is what it takes to write a conversation for a provider.
func BenchmarkConversation(b *testing.B) {
	openAI, err := openai.Kind{}.New(provider.Config{
		Identity: provider.Identity{Name: "x"}, BaseURL: "http://model.test/v1",
		HTTP: &http.Client{Transport: sameAnswer(data(says("Hi"), stops("stop"), done))},
	})
	if err != nil {
		b.Fatal(err)
	}
	claude, err := anthropic.Kind{}.New(provider.Config{
		Identity: provider.Identity{Name: "x"}, BaseURL: "http://model.test",
		HTTP: &http.Client{Transport: sameAnswer(events(begin, textBlock, writes("Hi"), stop0, ends("end_turn"), over))},
	})
	if err != nil {
		b.Fatal(err)
	}
	for name, p := range map[string]provider.Provider{"openai": openAI, "anthropic": claude} {
		for _, turns := range []int{10, 500} {
			b.Run(fmt.Sprintf("%s/turns=%d", name, turns), func(b *testing.B) {
				messages := longTalk(turns)
				b.ReportAllocs()
				for b.Loop() {
					req := provider.Request{Model: "m", Messages: messages}
					if _, err := p.Generate(b.Context(), req, func(provider.Delta) error { return nil }); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
