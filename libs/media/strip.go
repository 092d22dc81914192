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
			return start, out, rest, true
		}
		if n < 4 || n > len(rest) {
			break
		}
		out = append(out, part{string(rest[1:2]), rest[:n], rest[4:n]})
		rest = rest[n:]
	}
	return nil, nil, nil, false
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

// metadata lists the kinds of parts that say something about the person, place or program of an image. Profiles of colours stay.
func metadata(mediaType string) []string {
	switch mediaType {
	case typeJPEG:
		kinds := []string{"\xFE"} // comments
		for k := byte(0xE1); k <= 0xEF; k++ {
			if k != 0xE2 && k != 0xEE { // profiles, and Adobe's, which says how colours are stored
				kinds = append(kinds, string([]byte{k}))
			}
		}
		return kinds
	case typePNG:
		return []string{"tEXt", "zTXt", "iTXt", "eXIf", "tIME"}
	}
	return []string{"EXIF", "XMP "}
}

// strip returns an image without metadata. A file that it does not understand stays as it is.
func strip(mediaType string, data []byte) []byte {
	start, found, rest, ok := parts(mediaType, data)
	drop := metadata(mediaType)
	isMetadata := func(p part) bool { return slices.Contains(drop, p.kind) }
	if !ok || !slices.ContainsFunc(found, isMetadata) {
		return data
	}
	out := slices.Clone(start)
	for _, p := range found {
		if !isMetadata(p) {
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
	return out
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
