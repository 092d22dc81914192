package file

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/windlass-dev/windlass/libs/fault"
	"github.com/windlass-dev/windlass/libs/testmain"
	faultv1 "github.com/windlass-dev/windlass/proto/gen/windlass/fault/v1"
)

func TestMain(m *testing.M) { testmain.Verify(m) }

// picture returns a PNG of so many pixels.
func picture(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestInspect covers what files are said to be and what they are.
func TestInspect(t *testing.T) {
	small := picture(t, 3, 2)
	huge := []byte(small) // its header declares 65,535 × 65,535 pixels
	copy(huge[16:24], "\x00\x00\xff\xff\x00\x00\xff\xff")
	binary.BigEndian.PutUint32(huge[29:], crc32.ChecksumIEEE(huge[12:29]))
	for _, row := range []struct {
		name, data, declared, want string
		width, height              int
		refused                    string // a part of the message
	}{
		{name: "nothing is said", data: small, want: "image/png", width: 3, height: 2},
		{name: "the type is right", data: small, declared: "image/png", want: "image/png", width: 3, height: 2},
		{name: "bytes of any kind", data: small, declared: "application/octet-stream", want: "image/png", width: 3, height: 2},
		{name: "another image", data: small, declared: "image/jpeg", refused: "declared as image/jpeg, but its content is image/png"},
		{name: "an image that is text", data: "hello", declared: "image/png", refused: "its content is text/plain"},
		{name: "text that is an image", data: small, declared: "text/plain", refused: "its content is image/png"},
		{name: "a page that is an image", data: small, declared: "text/html", refused: "its content is image/png"},
		{name: "Markdown", data: "# Title\n", declared: "text/markdown; charset=utf-8", want: "text/markdown"},
		{name: "JSON", data: `{"a":1}`, want: "application/json"},
		{name: "text that is JSON", data: `{"a":1}`, declared: "text/plain", want: "application/json"},
		{name: "JSON that is text", data: `not JSON`, declared: "application/json", want: "application/json"},
		{name: "HTML", data: "<!DOCTYPE html><p>x", want: "text/html"},
		{name: "a PDF", data: "%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", want: "application/pdf"},
		{name: "no PDF", data: "\x01\x02\x03\x04", declared: "application/pdf", refused: "declared as application/pdf"},
		{name: "bytes of a type of their own", data: "\x01\x02\x03\x04", declared: "application/x-thing", want: "application/x-thing"},
		{name: "audio", data: "ID3\x03\x00\x00\x00\x00\x00\x21", declared: "audio/mpeg", want: "audio/mpeg"},
		{name: "an archive", data: "PK\x03\x04\x14\x00\x00\x00\x08\x00", want: "application/zip"},
		{name: "no media type", data: "hello", declared: "picture", refused: `"picture" is not a media type`},
		{name: "an image that is cut off", data: small[:20], declared: "image/png", refused: "damaged image"},
		{name: "an image that would be huge", data: string(huge), refused: "65535 × 65535 pixels"},
		{name: "a GIF without an image", data: "GIF89a\x00\x00\x00\x00\x00\x00\x00", refused: "image"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := inspect([]byte(row.data), row.declared, 1000)
			if row.refused != "" {
				if !fault.Is(err, faultv1.Reason_REASON_INVALID_ARGUMENT) || !strings.Contains(err.Error(), row.refused) {
					t.Errorf("got %+v, %v; want a refusal with %q", got, err, row.refused)
				}
				return
			}
			if want := (content{row.want, row.width, row.height}); err != nil || got != want {
				t.Errorf("got %+v, %v; want %+v", got, err, want)
			}
		})
	}
}

func TestBaseName(t *testing.T) {
	for name, want := range map[string]string{
		"a.png": "a.png", "/etc/passwd": "passwd", `C:\Users\x\cat.png`: "cat.png", "../../x": "x", "": "file", "..": "file", "/": "file",
		"a\x00b\nc": "abc", "\xff.txt": "\uFFFD.txt",
	} {
		if got := baseName(name); got != want {
			t.Errorf("%q is %q, want %q", name, got, want)
		}
	}
}
