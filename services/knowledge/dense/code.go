package dense

import (
	"encoding/binary"
	"math/bits"
)

// minBits is the smallest number of bits of a code. Short vectors are rotated several times, each into bits of their own.
const minBits = 1024

// Code returns the code of a vector: the signs of its numbers after random rotations, which are the same for all vectors of a length. The
// share of bits in which two codes differ estimates the angle between the vectors (Charikar, "Similarity Estimation Techniques from
// Rounding Algorithms", 2002), whatever the model: without the rotation, it would not for vectors with many zeros or with a common mean.
func Code(v []float32) []byte {
	size := 1
	for size < len(v) {
		size *= 2
	}
	rounds := max(1, minBits/size)
	words := make([]uint64, max(1, rounds*size/64))
	buffer := make([]float64, size)
	for round := range rounds {
		clear(buffer)
		for i, f := range v {
			buffer[i] = float64(f)
		}
		for turn := range 2 {
			flip(buffer, uint64(2*round+turn))
			hadamard(buffer)
		}
		for i, f := range buffer {
			if f > 0 {
				at := round*size + i
				words[at/64] |= 1 << (at % 64)
			}
		}
	}
	out := make([]byte, 0, 8*len(words))
	for _, w := range words {
		out = binary.LittleEndian.AppendUint64(out, w)
	}
	return out
}

// flip changes random signs, the same for each seed.
func flip(v []float64, seed uint64) {
	state := seed*0x9e3779b97f4a7c15 + 0x1234567
	for i := range v {
		state += 0x9e3779b97f4a7c15 // SplitMix64
		z := (state ^ state>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		if (z^z>>31)&1 == 1 {
			v[i] = -v[i]
		}
	}
}

// hadamard multiplies a vector, whose length is a power of two, by Hadamard's matrix.
func hadamard(v []float64) {
	for step := 1; step < len(v); step *= 2 {
		for i := 0; i < len(v); i += 2 * step {
			for j := i; j < i+step; j++ {
				v[j], v[j+step] = v[j]+v[j+step], v[j]-v[j+step]
			}
		}
	}
}

// words returns a code as words.
func words(code []byte) []uint64 {
	out := make([]uint64, len(code)/8)
	for i := range out {
		out[i] = binary.LittleEndian.Uint64(code[8*i:])
	}
	return out
}

// distance counts the bits in which codes of the same length differ.
func distance(a, b []uint64) (n int) {
	for i, w := range a {
		n += bits.OnesCount64(w ^ b[i])
	}
	return n
}
