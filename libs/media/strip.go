package media

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// A file of these formats is a sequence of parts, some of which are metadata. They are found without decoding the image.
var (
	pngStart  = []byte("\x89PNG\r\n\x1a\n")
	exifStart = []byte("Exif\x00\x00")
)

// part is a piece of a file with its own kind and content.
type part struct {
	kind string
	// whole is the part as it is in the file, content is what it holds.
	whole, content []byte
}

// parts splits a file up to its pixels, which are in rest. It reports false for files that it does not understand.
func parts(mediaType string, data []byte) (start []byte, out []part, rest []byte, ok bool) {
	switch mediaType {
	case typeJPEG:
		return segments(data)
	case typePNG:
		return chunks(data, len(pngStart), func(b []byte) (string, int, int) {
			return string(b[4:8]), int(binary.BigEndian.Uint32(b)), 12
		})
	case "image/webp":
		return chunks(data, 12, func(b []byte) (string, int, int) {
			n := int(binary.LittleEndian.Uint32(b[4:]))
			return string(b[:4]), n, 8 + n%2
		})
	}
	return nil, nil, nil, false
}

// segments splits a JPEG file up to its scans.
func segments(data []byte) (start []byte, out []part, rest []byte, ok bool) {
	if len(data) < 2 {
		return nil, nil, nil, false
	}
	start, rest = data[:2], data[2:]
	for len(rest) >= 4 && rest[0] == 0xFF {
		marker, n := rest[1], int(binary.BigEndian.Uint16(rest[2:]))+2
		if marker == 0xDA { // the pixels
			return start, out, rest, onlyScans(rest)
		}
		if n < 4 || n > len(rest) {
			break
		}
		out = append(out, part{string(rest[1:2]), rest[:n], rest[4:n]})
		rest = rest[n:]
	}
	return nil, nil, nil, false
}

// onlyScans reports whether what follows the start of a JPEG file's scans ends with the image, and has no metadata between scans. Within
// pixels, 0xFF is never followed by these bytes.
func onlyScans(rest []byte) bool {
	for i := range len(rest) - 1 {
		if rest[i] != 0xFF {
			continue
		}
		switch next := rest[i+1]; {
		case next >= 0xE0 && next <= 0xEF, next == 0xFE, next == 0xD9 && i+2 < len(rest):
			return false
		}
	}
	return true
}

// chunks splits a PNG or WebP file. head returns the kind of a chunk, the size of its content, and what is around it; 8 bytes before it.
func chunks(data []byte, at int, head func([]byte) (string, int, int)) (start []byte, out []part, rest []byte, ok bool) {
	if len(data) < at {
		return nil, nil, nil, false
	}
	start, rest = data[:at], data[at:]
	for len(rest) >= 8 {
		kind, n, around := head(rest)
		if n < 0 || n > len(rest)-8 {
			break
		}
		end := min(n+around, len(rest)) // the last padding may be missing
		out = append(out, part{kind, rest[:end], rest[8 : 8+n]})
		rest = rest[end:]
	}
	return start, out, rest, len(out) > 0 && len(rest) == 0
}

// shown are the kinds of parts that matter for what an image looks like, besides those of PNG that are critical, and of JPEG that are no
// application data: all others may say something about the person, place or program of an image.
var shown = map[string][]string{
	typePNG:      {"tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "cICP", "sBIT", "bKGD", "pHYs", "acTL", "fcTL", "fdAT"},
	"image/webp": {"VP8 ", "VP8L", "VP8X", "ALPH", "ANIM", "ANMF", "ICCP"},
}

// isMetadata reports whether an image looks the same without a part.
func isMetadata(mediaType string, p part) bool {
	switch k := p.kind[0]; {
	case mediaType == typePNG && 'A' <= k && k <= 'Z':
		return false
	case mediaType != typeJPEG:
		return !slices.Contains(shown[mediaType], p.kind)
	case k == 0xE2:
		return !bytes.HasPrefix(p.content, []byte("ICC_PROFILE\x00")) // profiles of colours stay
	default:
		return k == 0xFE || k >= 0xE1 && k <= 0xEF && k != 0xEE // Adobe's say how colours are stored
	}
}

// strip returns an image without metadata; false for a file that it does not understand, or that has more behind the image.
func strip(mediaType string, data []byte) ([]byte, bool) {
	start, found, rest, ok := parts(mediaType, data)
	if !ok || !slices.ContainsFunc(found, func(p part) bool { return isMetadata(mediaType, p) }) {
		return data, ok
	}
	out := slices.Clone(start)
	for _, p := range found {
		if !isMetadata(mediaType, p) {
			out = append(out, p.whole...)
		}
	}
	out = append(out, rest...)
	if mediaType == "image/webp" {
		binary.LittleEndian.PutUint32(out[4:], uint32(len(out)-8))
		if len(out) > 20 && string(out[12:16]) == "VP8X" {
			out[20] &^= 1<<3 | 1<<2 // there is no EXIF and no XMP
		}
	}
	return out, true
}

// orientation returns how an image must be turned, as EXIF counts: 1 is as it is.
func orientation(mediaType string, data []byte) int {
	_, found, _, _ := parts(mediaType, data)
	for _, p := range found {
		switch p.kind {
		case "\xE1", "eXIf", "EXIF":
			if exif, ok := bytes.CutPrefix(p.content, exifStart); ok || p.kind != "\xE1" {
				return turnOf(exif)
			}
		}
	}
	return 1
}

// orientationTag is the tag of the orientation in the first directory of a TIFF structure.
const orientationTag = 0x0112

func turnOf(exif []byte) int {
	if len(exif) < 8 {
		return 1
	}
	var order binary.ByteOrder = binary.LittleEndian
	if exif[0] == 'M' {
		order = binary.BigEndian
	}
	at := int64(order.Uint32(exif[4:]))
	if at+2 > int64(len(exif)) {
		return 1
	}
	entries := exif[at+2:]
	for range order.Uint16(exif[at:]) {
		if len(entries) < 12 {
			break
		}
		if order.Uint16(entries) == orientationTag {
			if turn := int(order.Uint16(entries[8:])); turn >= 1 && turn <= 8 {
				return turn
			}
			break
		}
		entries = entries[12:]
	}
	return 1
}
