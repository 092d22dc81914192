// Package dense finds vectors that are near another one: by short codes in memory first, and then by the vectors themselves. It knows no
// database, so that all engines find the same.
package dense

import (
	"encoding/binary"
	"math"
)

// minNorm is the length below which a vector has no direction.
const minNorm = 1e-12

// Unit returns a vector of the same direction and of the length 1, and false if it has none: it is zero, or a number is not finite.
func Unit(v []float32) ([]float32, bool) {
	sum := 0.0
	for _, f := range v {
		sum += float64(f) * float64(f)
	}
	norm := math.Sqrt(sum)
	if math.IsNaN(norm) || math.IsInf(norm, 0) || norm < minNorm {
		return nil, false
	}
	out := make([]float32, len(v))
	for i, f := range v {
		out[i] = float32(float64(f) / norm)
	}
	return out, true
}

// Bytes returns a vector as it is stored: little-endian numbers.
func Bytes(v []float32) []byte {
	out := make([]byte, 0, 4*len(v))
	for _, f := range v {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(f))
	}
	return out
}

// Cosine returns the cosine of the angle between a unit vector and a stored one, and false if they have not the same length. The sum has
// the same order on all engines.
func Cosine(v []float32, stored []byte) (float64, bool) {
	if len(stored) != 4*len(v) || len(v) == 0 {
		return 0, false
	}
	sum := 0.0
	for i, f := range v {
		sum += float64(f) * float64(math.Float32frombits(binary.LittleEndian.Uint32(stored[4*i:])))
	}
	return sum, true
}
