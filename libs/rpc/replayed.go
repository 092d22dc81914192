package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// ReplayedMetadata is in the metadata of an answer that an earlier request with the same idempotency key has had.
const ReplayedMetadata = "windlass-replayed"

// Replayed marks the answer of this handler as that of an earlier request.
func Replayed(ctx context.Context) {
	_ = grpc.SetHeader(ctx, metadata.Pairs(ReplayedMetadata, "true")) // fails only outside of a handler, or after the answer began
}
