//go:build !race

package provider_test

import (
	"bufio"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
	"github.com/windlass-dev/windlass/services/inference"
	"github.com/windlass-dev/windlass/services/inference/inferencetest"
)

// again streams begin, then a part as often as it fits into a size, then end. Each %d in the part is a new number.
func again(begin, part string, size int, end string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		out := bufio.NewWriterSize(w, writeSize)
		defer out.Flush()
		_, err := out.WriteString(begin)
		many, numbered := 1, strings.Contains(part, "%d")
		if !numbered { // several at once, as the race detector makes each write cost
			many = max(writeSize/len(part), 1)
		}
		text := strings.Repeat(part, many)
		for i, sent := 0, 0; sent < size && err == nil; i++ {
			if numbered {
				text = fmt.Sprintf(part, i)
			} else if left := (size - sent + len(part) - 1) / len(part); left < many {
				text = strings.Repeat(part, left)
			}
			sent += len(text)
			_, err = out.WriteString(text)
		}
		if err == nil {
			_, _ = out.WriteString(end)
		}
	}
}

// writeSize is how much again writes at once.
const writeSize = 32 << 10

// bomb compresses the response of another handler.
func bomb(h http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		defer z.Close()
		h(zipped{w, z}, r)
	}
}

type zipped struct {
	http.ResponseWriter
	z io.Writer
}

func (z zipped) Write(b []byte) (int, error) { return z.z.Write(b) }

// typed writes another media type than its handler.
type typed struct {
	http.ResponseWriter
	media string
}

func (w typed) Write(b []byte) (int, error) {
	w.Header().Set("Content-Type", w.media)
	return w.ResponseWriter.Write(b)
}

// Flush implements http.Flusher.
func (w typed) Flush() { http.NewResponseController(w.ResponseWriter).Flush() }

// TestHostileAnswersAreBounded plays hostile responses of a model server. Each ends the call with one failure, and what is read, stored and
// reported is limited.
func TestHostileAnswersAreBounded(t *testing.T) {
	const mib = 1 << 20
	calls := `data: {"choices":[{"delta":{"tool_calls":[`
	for _, row := range []struct {
		name, kind string
		answer     http.HandlerFunc
		says       string // part of the message, "" for an answer that is fine
	}{
		{"a line of 60 MB", "openai", again("data: ", strings.Repeat("x", 1000), 60*mib, "\n\n"), "too long"},
		{"an event without end", "openai", again("", "data: x\n", 60*mib, ""), "too many events"},
		{"an event without data", "openai", again("", "event: x\n", 60*mib, ""), "too many events"},
		{"a million comments", "openai", again("", ":\n", 60*mib, ""), "too many events"},
		{"a million tiny events", "openai", again("", "data:{}\n\n", 60*mib, ""), "too many events"},
		{"a million pieces", "openai", again("", data(says("a")), 60*mib, ""), "too many events"},
		{"line feeds", "openai", again("", "\n", 60*mib, ""), "too many events"},
		{"deep JSON", "openai", again("data: ", `{"a":`, 7*mib, "\n\n"), "more than 100000 values"},
		{"deep JSON, fewer values", "openai", again("data: ", `[`, 90_000, "\n\n"), "no chunk"},
		{"a member again and again", "openai", again("data: {", `"model":"x",`, 7*mib, `"model":"y"}`+"\n\n"), "more than 100000 values"},
		{"choices", "openai", again(`data: {"choices":[`, "{},", 7*mib, "{}]}\n\n"), "more than 100000 values"},
		{"choices, fewer", "openai", again(`data: {"choices":[`, "{},", 140_000, "{}]}\n\n"), "stopped before its end"},
		{"calls without names", "openai", again(calls, `{"index":%d},`, 7*mib, `{}]}}]}`+"\n\n"), "more than 100000 values"},
		{"calls without names, fewer", "openai", again(calls, `{"index":%d},`, mib/2, `{}]}}]}`+"\n\n"), "tool calls at once"},
		{"calls without names in many events", "openai", again("", calls+`{"index":%d}]}}]}`+"\n\n", 60*mib, ""), "tool calls at once"},
		{
			"arguments without a name", "openai", again("", calls+`{"index":0,"function":{"arguments":"0123456789"}}]}}]}`+"\n\n", 60*mib, ""),
			"without naming",
		},
		{"a large number", "openai", again(`data: {"usage":{"prompt_tokens":1`, "0", 7*mib, "}}\n\n"), "no chunk"},
		{"a large exponent", "openai", stream(data(`{"usage":{"prompt_tokens":1e400000000}}`)), "no chunk"},
		{"large numbers that nobody reads", "openai", stream(data(`{"x":1e400000000,"choices":[]}`, says("Hi"), stops("stop"))), ""},
		{"a duplicate key", "openai", stream(data(`{"choices":[{"delta":{"content":"a"}}],"choices":[{"delta":{"content":"b"}}]}`,
			stops("stop"))), ""},
		{"NUL in a text", "openai", stream(data(delta(`{"content":"a\u0000b"}`), stops("stop"))), ""},
		{"NUL in an event", "openai", stream("data: {\"choices\":[\x00]}\n\n"), "no chunk"},
		{"not UTF-8", "openai", stream("data: \xff\xfe\n\n"), "UTF-8"},
		{"a surrogate alone", "openai", stream(data(delta(`{"content":"\ud800"}`), stops("stop"))), ""},
		{"half an event", "openai", stream(data(says("Hi")), `data: {"choices":[{"del`), "no chunk"},
		{"half an event, then nothing", "openai", stream(data(says("Hi")), `data: {"choices":[{"del`, cut), "hung up"},
		{"another content type", "openai", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "image/png")
			_, _ = io.WriteString(w, strings.Repeat("x", 4*mib))
		}, "image/png instead of a stream"},
		{"compressed zeros", "openai", bomb(again("data: ", strings.Repeat("\x00", mib), 2000*mib, "")), "too long"},
		{"compressed events", "openai", bomb(again("", data(says(strings.Repeat("a", 1000))), 2000*mib, "")), "larger than"},
		{"headers without end", "openai", func(w http.ResponseWriter, _ *http.Request) {
			for i := range 200_000 {
				w.Header().Set(fmt.Sprint("X-", i), "x")
			}
		}, "cannot be reached"},
		{
			"a header of 60 MB", "openai", func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("X-Long", strings.Repeat("x", 60*mib)) },
			"cannot be reached",
		},

		{"Anthropic, a line of 60 MB", "anthropic", again("data: ", strings.Repeat("x", 1000), 60*mib, "\n\n"), "too long"},
		{"Anthropic, a million pings", "anthropic", again(events(begin), events(ping), 60*mib, ""), "too many events"},
		{
			"Anthropic, blocks", "anthropic", again(events(begin),
				`data: {"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":"a","name":"b"}}`+"\n\n", 60*mib, ""),
			"128 tool calls",
		},
		{
			"Anthropic, pieces for calls that never began", "anthropic",
			again(events(begin), `data: {"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":"a"}}`+"\n\n",
				60*mib, ""), "too many events",
		},
		{"Anthropic, deep JSON", "anthropic", again("data: ", `{"message":`, 7*mib, "\n\n"), "more than 100000 values"},
		{"Ollama, a line of 60 MB", "ollama", again("", strings.Repeat("x", 1000), 60*mib, "\n"), "too long"},
		{"Ollama, a million empty lines", "ollama", again("", "\n", 60*mib, ""), "too many events"},
		{"Ollama, a million pieces", "ollama", again("", lines(`{"message":{"content":"a"}}`), 60*mib, ""), "too many events"},
		{"Ollama, deep JSON", "ollama", again("", `{"message":`, 7*mib, "\n"), "more than 100000 values"},
		{"Ollama, large numbers", "ollama", again(`{"eval_count":1`, "0", 7*mib, "}\n"), "no piece"},
		{
			"Ollama, calls", "ollama", again(`{"message":{"tool_calls":[`, `{"function":{"name":"x"}},`, mib/2, `{"function":{"name":"x"}}]}}`+"\n"),
			"128 tool calls",
		},
		{"Ollama, compressed zeros", "ollama", bomb(again("", strings.Repeat("\x00", mib), 2000*mib, "")), "too long"},
		{"Gemini, a million events", "gemini", again("", "data:{}\n\n", 60*mib, ""), "too many events"},
		{"Gemini, parts", "gemini", again(`data: {"candidates":[{"content":{"parts":[`, `{"text":"a"},`, 7*mib, "]}}]}\n\n"), "more than 100000 values"},
		{"Gemini, deep JSON", "gemini", again("data: ", `{"candidates":[`, 7*mib, "\n\n"), "more than 100000 values"},
		{"Gemini, a large signature", "gemini", stream(data(parts(`{"text":"a","thoughtSignature":"`+strings.Repeat("x", 4*mib)+`"}`),
			finishes("STOP"))), ""},
		{
			"Gemini, calls", "gemini", again(`data: {"candidates":[{"content":{"parts":[`, `{"functionCall":{"name":"x"}},`, mib/2,
				`{"functionCall":{"name":"x"}}]}}]}`+"\n\n"), "128 tool calls",
		},
		{"Gemini, large numbers", "gemini", again(`data: {"usageMetadata":{"promptTokenCount":1`, "0", 7*mib, "}}\n\n"), "no event"},
		{"Gemini, compressed events", "gemini", bomb(again("", data(saysPart(strings.Repeat("a", 1000))), 2000*mib, "")), "larger than"},
		{"responses, a million events", "openai-responses", again("", "data:{\"type\":\"x\"}\n\n", 60*mib, ""), "too many events"},
		{
			"responses, items", "openai-responses", again("", "data: "+`{"type":"response.output_item.added","output_index":%d,"item":`+
				`{"type":"function_call","call_id":"a","name":"x"}}`+"\n\n", 60*mib, ""), "128 tool calls",
		},
		{
			"responses, items of no type", "openai-responses",
			again("", `data: {"type":"response.output_item.done","output_index":%d,"item":{"type":"x"}}`+"\n\n", 60*mib, ""), "too many",
		},
		{
			"responses, output", "openai-responses", again(`data: {"type":"response.completed","response":{"output":[`, "{},", 7*mib, "{}]}}\n\n"),
			"more than 100000 values",
		},
		{"responses, deep JSON", "openai-responses", again("data: ", `{"item":`, 7*mib, "\n\n"), "more than 100000 values"},
		{"responses, large numbers", "openai-responses", again(`data: {"output_index":1`, "0", 7*mib, "}\n\n"), "no event"},
		{"responses, compressed zeros", "openai-responses", bomb(again("data: ", strings.Repeat("\x00", mib), 2000*mib, "")), "too long"},
		{"Bedrock, a frame of 4 GB", "bedrock", again("\xff\xff\xff\xff", "\x00", mib, ""), "too long"},
		{"Bedrock, a frame of no size", "bedrock", again("", "\x00", mib, ""), "hung up"},
		{"Bedrock, a million frames", "bedrock", again("", frame("x", `{}`), 60*mib, ""), "too many events"},
		{"Bedrock, calls", "bedrock", again("", useFrames(0, "a", "x"), mib, ""), "128 tool calls"},
		{"Bedrock, deep JSON", "bedrock", frames(frame("x", strings.Repeat(`{"delta":`, 700_000))), "more than 100000 values"},
		{"Bedrock, large numbers", "bedrock", frames(frame("metadata", `{"usage":{"inputTokens":1`+strings.Repeat("0", 4*mib)+`}}`)), "no event"},
		{"Bedrock, compressed zeros", "bedrock", bomb(again("", strings.Repeat("\x00", mib), 2000*mib, "")), "hung up"},
		{"Anthropic, large numbers", "anthropic", again(`data: {"index":1`, "0", 7*mib, "}\n\n"), "no event"},
	} {
		t.Run(row.name, func(t *testing.T) {
			answer := row.answer
			if row.kind == "bedrock" {
				row.answer = func(w http.ResponseWriter, r *http.Request) {
					answer(typed{w, "application/vnd.amazon.eventstream"}, r)
				}
			}
			if row.kind == "ollama" {
				row.answer = ollama([]string{"completion"}, func(w http.ResponseWriter, r *http.Request) {
					answer(typed{w, "application/x-ndjson"}, r)
				})
			}
			f := newFake(t, row.answer)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			patient := func(cfg *inference.Config) { cfg.FirstTokenTimeout = 10 * time.Minute } // what is bounded here is work, not time
			_, err := inferencetest.Ask(t.Context(), t, provide(t, row.kind, f.URL, patient), hello())
			runtime.ReadMemStats(&after)
			t.Logf("allocated %d MiB in all, the server's share is in it", (after.TotalAlloc-before.TotalAlloc)>>20)
			switch {
			case row.says == "" && err != nil:
				t.Error(err)
			case row.says != "" && (err == nil || !strings.Contains(fault.From(err).Text(), row.says)):
				t.Errorf("%.300v, want %q", err, row.says)
			case err != nil && !fault.Is(err, faultv1.Reason_REASON_MODEL_STREAM_BROKEN) && !fault.Is(err, faultv1.Reason_REASON_MODEL_UNAVAILABLE):
				t.Errorf("%v", err)
			case err != nil && len(err.Error()) > 4<<10:
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}
