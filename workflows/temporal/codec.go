package temporal

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/windlass-dev/windlass/libs/keyset"
	"github.com/windlass-dev/windlass/libs/secret"
)

const (
	// encrypted is the encoding of encrypted payloads, by which the UI and Temporal's tools know that a codec decodes them.
	encrypted = "binary/encrypted"
	// purpose names the keys that are derived from a secret, and place binds ciphertexts to their use.
	purpose = "temporal payloads v1"
	place   = "temporal payload"
)

// ErrClear means that a payload is not encrypted, although all of this mesh are: another program wrote it, or this mesh before it
// encrypted.
var ErrClear = errors.New("a payload in Temporal is not encrypted, so it may not be of this mesh: if it is, from a time without " +
	"temporal.encrypt, set temporal.accept_clear until the workflows of that time have ended")

// Codec encrypts what Windlass stores in Temporal: inputs, results, signals, queries, memos, summaries, failures. It decrypts what it
// encrypted. What is in clear it refuses, unless it is configured to accept that. It is safe for concurrent use.
type Codec struct {
	keys        *keyset.Set
	clear       bool
	acceptClear bool
}

// Refused reports whether an error means that a payload was refused because it is not encrypted.
func Refused(err error) bool { return errors.Is(err, ErrClear) }

// CodecConfig configures a Codec.
type CodecConfig struct {
	// Key is the secret that the encrypting key is derived from, of at least 32 bytes. Required.
	Key secret.Value
	// OldKeys are secrets whose keys only decrypt.
	OldKeys []secret.Value
	// Clear leaves new payloads in clear, and implies AcceptClear.
	Clear bool
	// AcceptClear reads payloads in clear too.
	AcceptClear bool
}

// NewCodec returns a codec.
func NewCodec(cfg CodecConfig) (*Codec, error) {
	keys, err := keyset.Derive(purpose, cfg.Key, cfg.OldKeys...)
	if err != nil {
		return nil, fmt.Errorf("temporal: %w", err)
	}
	return &Codec{keys: keys, clear: cfg.Clear, acceptClear: cfg.Clear || cfg.AcceptClear}, nil
}

// Encode implements converter.PayloadCodec.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if c.clear {
		return payloads, nil
	}
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		plain, err := proto.Marshal(p)
		if err != nil {
			return payloads, fmt.Errorf("encode a payload: %w", err)
		}
		sealed, err := c.keys.Seal(plain, place)
		if err != nil {
			return payloads, fmt.Errorf("payload for temporal: %w", err)
		}
		out[i] = &commonpb.Payload{Metadata: map[string][]byte{converter.MetadataEncoding: []byte(encrypted)}, Data: sealed}
	}
	return out, nil
}

// Decode implements converter.PayloadCodec.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, p := range payloads {
		if string(p.GetMetadata()[converter.MetadataEncoding]) != encrypted {
			if !c.acceptClear {
				return payloads, ErrClear
			}
			out[i] = p
			continue
		}
		plain, err := c.keys.Open(p.GetData(), place)
		if err != nil {
			return payloads, fmt.Errorf("payload from temporal: %w", err)
		}
		out[i] = &commonpb.Payload{}
		if err := proto.Unmarshal(plain, out[i]); err != nil {
			return payloads, fmt.Errorf("decode a payload: %w", err)
		}
	}
	return out, nil
}

// Handler serves the codec to the Temporal UI, at paths that end in /decode and /encode. It shows what is in clear as it is. It
// does not authenticate.
func (c *Codec) Handler() http.Handler {
	return converter.NewPayloadCodecHTTPHandler(&Codec{keys: c.keys, clear: c.clear, acceptClear: true})
}

// DataConverter is the converter of clients and workers. A nil codec means payloads in clear.
func (c *Codec) DataConverter() converter.DataConverter {
	// The default one but for messages with fields that this version does not have: workers of a later version wrote them.
	plain := converter.NewCompositeDataConverter(
		converter.NewNilPayloadConverter(), converter.NewByteSlicePayloadConverter(),
		converter.NewProtoJSONPayloadConverterWithOptions(converter.ProtoJSONPayloadConverterOptions{AllowUnknownFields: true}),
		converter.NewProtoPayloadConverter(), converter.NewJSONPayloadConverter(),
	)
	if c == nil {
		return plain
	}
	return dataConverter{
		DataConverter: converter.NewCodecDataConverter(plain, c),
		inWorkflow:    converter.NewCodecDataConverter(plain, blocking{c}),
	}
}

// dataConverter converts differently in workflow code.
type dataConverter struct {
	converter.DataConverter
	inWorkflow converter.DataConverter
}

var _ converter.ContextAware = dataConverter{}

// WithWorkflowContext implements converter.ContextAware.
func (d dataConverter) WithWorkflowContext(converter.WorkflowContext) converter.DataConverter {
	return d.inWorkflow
}

// WithContext implements converter.ContextAware.
func (d dataConverter) WithContext(context.Context) converter.DataConverter { return d }

// blocking is the codec in workflow code. There an error would end the workflow, while a panic only fails its task, which Temporal gives to
// a worker again until one has the key, or accepts what is in clear.
type blocking struct{ *Codec }

// Decode implements converter.PayloadCodec.
func (b blocking) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out, err := b.Codec.Decode(payloads)
	if errors.Is(err, keyset.ErrUnknownKey) || errors.Is(err, ErrClear) {
		panic(err)
	}
	return out, err
}
