//go:build !race

package infer

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"image"
	"image/png"
	"math/rand/v2"
	"testing"

	turnv1 "github.com/windlass-dev/windlass/proto/gen/windlass/turn/v1"
)

// TestScaledImagesAreNotReadAgain: the image of an earlier call is found by its sum. There is no journal to read it from.
func TestScaledImagesAreNotReadAgain(t *testing.T) {
	i := newInfer(t)
	noise := image.NewNRGBA(image.Rect(0, 0, 1200, 900))
	random := rand.New(rand.NewPCG(1, 2))
	for n := range noise.Pix {
		noise.Pix[n] = byte(random.Uint32()) | 1
	}
	var data bytes.Buffer
	if err := png.Encode(&data, noise); err != nil {
		t.Fatal(err)
	}
	small, err := i.Media.Image(t.Context(), data.Bytes(), smallImage)
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data.Bytes())
	f := &turnv1.FileRef{FileId: "fil_1", MediaType: "image/png", Size: int64(data.Len()), Sha256: hex.EncodeToString(sum[:])}
	blob, err := i.readFile(t.Context(), f, int64(smallImage.MaxBytes))
	if err != nil || !bytes.Equal(blob.GetData(), small.Data) {
		t.Errorf("%v, %d bytes", err, len(blob.GetData()))
	}
}
