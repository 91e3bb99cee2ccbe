package document

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	_ "image/gif"  // its header
	_ "image/jpeg" // its header
	_ "image/png"  // its header
	"strings"
)

// readImage reads what can be told of a picture without looking at it: its kind,
// its size and what its EXIF data say, but not where it was taken.
func readImage(_ context.Context, in *Request) (*Document, error) {
	name := strings.ToUpper(strings.TrimPrefix(in.Type, "image/"))
	d := &Document{Kind: KindImage, Blocks: []Block{}}
	tags := exifOf(in.Body)
	width, height := imageSize(in.Body, tags)
	if width <= 0 || height <= 0 || width > maxPixels || height > maxPixels {
		return nil, damaged(nil, "the picture is damaged: it does not say how large it is")
	}
	d.About.set("width", fmt.Sprint(width))
	d.About.set("height", fmt.Sprint(height))
	d.About.set("format", name)
	lines := []string{fmt.Sprintf("%s image, %d x %d pixels", name, width, height)}
	for _, tag := range exifShown {
		value := oneLine(tags.text[tag.id], maxProperty)
		if value == "" {
			continue
		}
		d.About.set(tag.name, value)
		lines = append(lines, tag.name+": "+value)
	}
	if tags.orientation > 1 {
		d.About.set("orientation", fmt.Sprint(tags.orientation))
	}
	d.About.Title = oneLine(tags.text[exifDescription], maxProperty)
	d.About.Byline = oneLine(tags.text[exifArtist], maxProperty)
	d.About.Published = exifTime(tags.text)
	if tags.location {
		d.warn("location: the picture says where it was taken; that is not given out")
	}
	d.warn("no_text: what the picture shows is not read")
	w := writer{doc: d, left: in.MaxText}
	w.add(plainBlock(Lines, 0, strings.Join(lines, "\n")))
	return d, nil
}

// imageSize reads the header of a picture; 0 when there is none.
func imageSize(body []byte, tags exif) (width, height int) {
	if c, _, err := image.DecodeConfig(bytes.NewReader(body)); err == nil {
		return c.Width, c.Height
	}
	switch {
	case bytes.HasPrefix(body, []byte("BM")) && len(body) >= 26:
		w, h := int32(binary.LittleEndian.Uint32(body[18:])), int32(binary.LittleEndian.Uint32(body[22:]))
		if h < 0 { // its rows go from the top down
			h = -h
		}
		return int(w), int(h)
	case bytes.HasPrefix(body, []byte("RIFF")) && len(body) >= 30 && string(body[8:12]) == "WEBP":
		return webpSize(body)
	}
	return tags.width, tags.height
}

// webpSize reads the first chunk of a WebP file (RFC 9649).
func webpSize(body []byte) (width, height int) {
	data := body[20:]
	u24 := func(b []byte) int { return int(b[0]) | int(b[1])<<8 | int(b[2])<<16 }
	switch string(body[12:16]) {
	case "VP8X":
		return u24(data[4:]) + 1, u24(data[7:]) + 1
	case "VP8L":
		bits := binary.LittleEndian.Uint32(data[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1
	case "VP8 ":
		return int(binary.LittleEndian.Uint16(data[6:]) & 0x3fff), int(binary.LittleEndian.Uint16(data[8:]) & 0x3fff)
	}
	return 0, 0
}
