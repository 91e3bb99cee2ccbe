package document

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

// tiffOf is the TIFF structure of EXIF data with texts by tag; location adds a
// directory of places.
func tiffOf(order binary.AppendByteOrder, texts map[uint16]string, location bool) string {
	head := "II*\x00"
	if order.String() == binary.BigEndian.String() {
		head = "MM\x00*"
	}
	n := len(texts) + 1
	if location {
		n++
	}
	out := order.AppendUint32([]byte(head), 8)
	out = order.AppendUint16(out, uint16(n))
	values := 8 + 2 + n*12
	var tail []byte
	entry := func(id, kind uint16, count, value uint32) {
		out = order.AppendUint16(out, id)
		out = order.AppendUint16(out, kind)
		out = order.AppendUint32(out, count)
		out = order.AppendUint32(out, value)
	}
	for _, id := range []uint16{exifDescription, exifMake, exifModel, exifChanged, exifArtist, exifTaken} {
		text, has := texts[id]
		if has && len(text) < 4 { // short ones stand in the entry
			entry(id, 2, uint32(len(text)+1), 0)
			copy(out[len(out)-4:], text)
		} else if has {
			entry(id, 2, uint32(len(text)+1), uint32(values+len(tail)))
			tail = append(append(tail, text...), 0)
		}
	}
	out = order.AppendUint16(order.AppendUint16(out, exifOrientation), 3)
	out = order.AppendUint32(out, 1)
	out = order.AppendUint16(order.AppendUint16(out, 6), 0)
	if location {
		entry(exifLocation, 4, 1, 0)
	}
	return string(append(out, tail...))
}

// withExif puts EXIF data behind the first mark of a JPEG.
func withExif(jpg, tiff string) string {
	segment := "Exif\x00\x00" + tiff
	size := binary.BigEndian.AppendUint16(nil, uint16(len(segment)+2))
	return jpg[:2] + "\xff\xe1" + string(size) + segment + jpg[2:]
}

func TestImages(t *testing.T) {
	pixels := image.NewPaletted(image.Rect(0, 0, 8, 5), color.Palette{color.Black, color.White})
	encode := func(to func(*bytes.Buffer) error) string {
		var b bytes.Buffer
		if err := to(&b); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	jpg := encode(func(b *bytes.Buffer) error { return jpeg.Encode(b, pixels, nil) })
	texts := map[uint16]string{exifMake: "Canon", exifModel: "EOS", exifTaken: "2024:02:29 12:30:00", exifArtist: "Ann"}
	tests := []struct {
		name, mediaType, body string
		text                  string
		taken                 string
		location              bool
	}{
		{"PNG", "image/png", encode(func(b *bytes.Buffer) error { return png.Encode(b, pixels) }), "PNG image, 8 x 5 pixels", "", false},
		{"GIF", "image/gif", encode(func(b *bytes.Buffer) error { return gif.Encode(b, pixels, nil) }), "GIF image, 8 x 5 pixels", "", false},
		{"JPEG", "image/jpeg", jpg, "JPEG image, 8 x 5 pixels", "", false},
		{"JPEG of a camera", "image/jpeg", withExif(jpg, tiffOf(binary.LittleEndian, texts, true)),
			"JPEG image, 8 x 5 pixels\nartist: Ann\ncamera_make: Canon\ncamera_model: EOS\ntaken: 2024:02:29 12:30:00", "2024-02-29T12:30:00Z", true},
		{"JPEG of another camera", "image/jpeg", withExif(jpg, tiffOf(binary.BigEndian, map[uint16]string{exifMake: "N\xff"}, false)),
			"JPEG image, 8 x 5 pixels\ncamera_make: N\uFFFD", "", false},
		{"WebP", "image/webp", "RIFF\x00\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x04\x00\x00", "WEBP image, 8 x 5 pixels", "", false},
		{"WebP without losses", "image/webp", "RIFF\x00\x00\x00\x00WEBPVP8L\x05\x00\x00\x00\x2f\x07\x00\x01\x00" + "     ", "WEBP image, 8 x 5 pixels", "", false},
		{"BMP from the top down", "image/bmp", "BM" + strings.Repeat("\x00", 16) + "\x08\x00\x00\x00\xfb\xff\xff\xff", "BMP image, 8 x 5 pixels", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := read(t, request(tt.body, tt.mediaType))
			if d.Text() != tt.text || d.About.Published != tt.taken || warned(d, "location") != tt.location {
				t.Errorf("text %q, taken %q, warnings %q", d.Text(), d.About.Published, d.Warnings)
			}
			if d.About.Properties["width"] != "8" || d.About.Properties["height"] != "5" {
				t.Errorf("properties %v", d.About.Properties)
			}
		})
	}
}
