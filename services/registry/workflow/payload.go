package workflow

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.temporal.io/api/common/v1"

	"github.com/windlass-dev/windlass/libs/canon"
	"github.com/windlass-dev/windlass/libs/truncate"
)

// Encodings of payloads, in their metadata.
const (
	encoding      = "encoding"
	plainJSON     = "json/plain"
	protobufJSON  = "json/protobuf"
	nothing       = "binary/null"
	longestResult = 1 << 10 // results, which are several only if the workflow returns several
)

// parameters returns the parameters of a workflow.
func parameters(a Action, args canon.Object) (*common.Payloads, error) {
	if len(a.Positional) == 0 {
		return &common.Payloads{Payloads: []*common.Payload{jsonPayload(args.JSON())}}, nil
	}
	out := &common.Payloads{}
	for _, name := range a.Positional {
		value, ok := args[name]
		if !ok {
			out.Payloads = append(out.Payloads, &common.Payload{Metadata: map[string][]byte{encoding: []byte(nothing)}})
			continue
		}
		text, err := json.Marshal(value)
		if err != nil {
			return nil, fmt.Errorf("encode argument %q: %w", name, err)
		}
		out.Payloads = append(out.Payloads, jsonPayload(text))
	}
	return out, nil
}

func jsonPayload(text []byte) *common.Payload {
	return &common.Payload{Metadata: map[string][]byte{encoding: []byte(plainJSON)}, Data: text}
}

// quoted returns a text without special characters as a payload.
func quoted(text string) *common.Payload { return jsonPayload([]byte(`"` + text + `"`)) }

func unquoted(p *common.Payload) string { return strings.Trim(string(p.GetData()), `"`) }

// resultText returns the result of a workflow as JSON text: null for none, an array for several.
func resultText(all *common.Payloads) (string, error) {
	list := all.GetPayloads()
	if len(list) > longestResult {
		return "", fmt.Errorf("it has %d values", len(list))
	}
	texts := make([]string, len(list))
	for i, p := range list {
		var err error
		if texts[i], err = valueText(p); err != nil {
			return "", err
		}
	}
	switch len(texts) {
	case 0:
		return "null", nil
	case 1:
		return texts[0], nil
	default:
		return "[" + strings.Join(texts, ",") + "]", nil
	}
}

func valueText(p *common.Payload) (string, error) {
	switch e := string(p.GetMetadata()[encoding]); e {
	case nothing:
		return "null", nil
	case plainJSON, protobufJSON:
		text := bytes.TrimSpace(p.GetData())
		if !json.Valid(text) || !utf8.Valid(text) {
			return "", errors.New("it is not valid JSON")
		}
		return string(text), nil
	default:
		return "", fmt.Errorf("its encoding is %q, and only JSON can be read", truncate.Bytes(strings.ToValidUTF8(e, "\uFFFD"), 100))
	}
}
