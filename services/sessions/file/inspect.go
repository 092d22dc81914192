package file

import (
	"bytes"
	"image"
	_ "image/gif" // decoders of image.DecodeConfig
	_ "image/jpeg"
	_ "image/png"
	"mime"
	"strings"

	"github.com/gabriel-vasile/mimetype"
	_ "golang.org/x/image/bmp" // decoders of image.DecodeConfig
	_ "golang.org/x/image/tiff"
	_ "golang.org/x/image/webp"

	"github.com/windlass-dev/windlass/libs/fault"
)

// unknownType is the media type of bytes of which nothing is known.
const unknownType = "application/octet-stream"

// content is what is known of a file's bytes.
type content struct {
	mediaType     string
	width, height int
}

// inspect finds out what bytes are. It refuses those that are not what the caller says, and images that nothing can show. Of an image only
// the header is decoded, so a small file cannot make it allocate a large image.
func inspect(data []byte, declared string, maxPixels int) (content, error) {
	media, err := mediaType(data, declared)
	if err != nil {
		return content{}, err
	}
	c := content{mediaType: media}
	if !isRaster(media) {
		return c, nil
	}
	header, _, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return c, fault.Invalid("file", "is a damaged image of type %s: %v", media, err)
	case header.Width <= 0 || header.Height <= 0:
		return c, fault.Invalid("file", "is an image without pixels")
	case header.Width > maxPixels/header.Height:
		return c, fault.Invalid("file", "is an image of %d × %d pixels, more than the %d allowed", header.Width, header.Height, maxPixels)
	}
	c.width, c.height = header.Width, header.Height
	return c, nil
}

// isRaster reports whether a media type is an image whose header can be decoded.
func isRaster(media string) bool {
	switch media {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/tiff":
		return true
	}
	return false
}

// mediaType returns the type of bytes: what is found in them, or the declared type where that is a kind of what is found, as Markdown is
// text. Types whose beginning is always recognized must be found.
func mediaType(data []byte, declared string) (string, error) {
	found := mimetype.Detect(data)
	is, _, err := mime.ParseMediaType(found.String())
	if err != nil {
		is = unknownType
	}
	if declared == "" {
		return is, nil
	}
	says, _, err := mime.ParseMediaType(declared)
	if err != nil || !strings.Contains(says, "/") {
		return "", fault.Invalid("media_type", "%q is not a media type", declared)
	}
	switch {
	case says == unknownType, found.Is(says):
		return is, nil
	case is == "text/plain" && isText(says), is == unknownType && !recognized(says), descends(says, is):
		return says, nil
	}
	for parent := found.Parent(); parent != nil; parent = parent.Parent() {
		if parent.Is(says) && !parent.Is(unknownType) {
			return is, nil
		}
	}
	return "", fault.Invalid("file", "is declared as %s, but its content is %s", says, is)
}

// isText reports whether files of a type are text.
func isText(media string) bool {
	switch media {
	case "application/json", "application/xml", "application/yaml", "application/x-yaml", "application/toml", "application/javascript",
		"application/x-ndjson", "application/sql":
		return true
	}
	return strings.HasPrefix(media, "text/") || strings.HasSuffix(media, "+json") || strings.HasSuffix(media, "+xml")
}

// recognized reports whether a file of a type cannot be without the beginning that identifies it.
func recognized(media string) bool {
	for _, prefix := range []string{"image/", "audio/", "video/", "text/"} {
		if strings.HasPrefix(media, prefix) {
			return true
		}
	}
	return isText(media) || mimetype.Lookup(media) != nil
}

// descends reports whether a type is a special case of another, as that of a spreadsheet is of a ZIP archive.
func descends(media, of string) bool {
	if of == unknownType {
		return false
	}
	for m := mimetype.Lookup(media); m != nil; m = m.Parent() {
		if m.Is(of) {
			return true
		}
	}
	return false
}
