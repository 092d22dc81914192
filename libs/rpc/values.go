package rpc

import (
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/windlass-dev/windlass/libs/fault"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

// Limits of a message from a caller outside the mesh: two bytes on the wire can take up to 150 bytes once decoded. Messages smaller than
// counted are not checked.
const (
	maxValues  = 100_000
	maxNesting = 1000
	counted    = 64 << 10
)

func tooManyValues() error {
	return fault.New(codes.InvalidArgument, faultv1.Reason_REASON_TOO_LARGE, "the message has more than %d values", maxValues).
		Hint("Send less in one request.")
}

// values counts down from left for each field and element in a message's wire form, and stops at 0. Malformed input ends the count early;
// decoding will report it.
func values(b []byte, md protoreflect.MessageDescriptor, left, depth int) int {
	if depth > maxNesting {
		return 0
	}
	for len(b) > 0 && left > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return left
		}
		b = b[n:]
		if n = protowire.ConsumeFieldValue(number, kind, b); n < 0 {
			return left
		}
		left--
		if fd := md.Fields().ByNumber(number); fd != nil && kind == protowire.BytesType {
			inner, _ := protowire.ConsumeBytes(b)
			switch {
			case fd.Message() != nil:
				left = values(inner, fd.Message(), left, depth+1)
			case fd.IsList() && fd.Kind() != protoreflect.StringKind && fd.Kind() != protoreflect.BytesKind: // packed
				left -= len(inner)
			}
		}
		b = b[n:]
	}
	return max(left, 0)
}
