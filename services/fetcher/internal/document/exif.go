package document

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"
)

// Tags of EXIF 2.3 that are read.
const (
	exifWidth       = 0x0100
	exifHeight      = 0x0101
	exifDescription = 0x010e
	exifMake        = 0x010f
	exifModel       = 0x0110
	exifOrientation = 0x0112
	exifSoftware    = 0x0131
	exifChanged     = 0x0132
	exifArtist      = 0x013b
	exifCopyright   = 0x8298
	exifMore        = 0x8769 // leads to more tags
	exifLocation    = 0x8825 // leads to where it was taken
	exifTaken       = 0x9003
	exifZone        = 0x9011
)

// exifShown are the texts that are given out, in this order. Serial numbers,
// names of owners and places are not among them.
var exifShown = []struct {
	id   uint16
	name string
}{
	{exifDescription, "description"}, {exifArtist, "artist"}, {exifCopyright, "copyright"}, {exifMake, "camera_make"},
	{exifModel, "camera_model"}, {exifSoftware, "software"}, {exifTaken, "taken"}, {exifChanged, "changed"},
}

// exif is what was read of a picture's EXIF data.
type exif struct {
	text          map[uint16]string
	width, height int
	orientation   int
	location      bool
}

// maxExifTags is how many tags of a picture are looked at.
const maxExifTags = 1000

// exifOf finds the EXIF data of a JPEG, PNG, WebP or TIFF file. Broken data give
// what was read before.
func exifOf(body []byte) exif {
	e := exif{text: map[uint16]string{}}
	data := exifData(body)
	if len(data) < 8 {
		return e
	}
	var order binary.ByteOrder = binary.LittleEndian
	if data[0] == 'M' {
		order = binary.BigEndian
	}
	left := maxExifTags
	e.directory(data, order, order.Uint32(data[4:]), &left, true)
	return e
}

// exifData is the TIFF structure in a picture.
func exifData(body []byte) []byte {
	isTIFF := func(b []byte) bool {
		return bytes.HasPrefix(b, []byte("II*\x00")) || bytes.HasPrefix(b, []byte("MM\x00*"))
	}
	if isTIFF(body) {
		return body
	}
	// In JPEG and WebP it stands behind this mark, in PNG behind the name of its
	// chunk; in all of them near the beginning or the end.
	for _, mark := range []string{"Exif\x00\x00", "eXIf", "EXIF"} {
		for rest := body; ; {
			_, after, found := bytes.Cut(rest, []byte(mark))
			if !found {
				break
			}
			if mark == "EXIF" && len(after) > 4 { // the length of the chunk
				after = after[4:]
			}
			if isTIFF(after) {
				return after
			}
			rest = after
		}
	}
	return nil
}

// directory reads the tags of a directory at an offset, and those it leads to.
func (e *exif) directory(data []byte, order binary.ByteOrder, at uint32, left *int, first bool) {
	if uint64(at)+2 > uint64(len(data)) {
		return
	}
	n := int(order.Uint16(data[at:]))
	entries := data[at+2:]
	for i := 0; i < n && (i+1)*12 <= len(entries) && *left > 0; i++ {
		*left--
		entry := entries[i*12 : i*12+12]
		id, kind, count := order.Uint16(entry), order.Uint16(entry[2:]), order.Uint32(entry[4:])
		switch {
		case id == exifLocation:
			e.location = true
		case id == exifMore && first:
			e.directory(data, order, order.Uint32(entry[8:]), left, false)
		case kind == 2: // text
			if _, known := e.text[id]; !known {
				e.text[id] = exifText(data, order, entry, count)
			}
		case id == exifOrientation && kind == 3:
			e.orientation = int(order.Uint16(entry[8:]))
		case (id == exifWidth || id == exifHeight) && first:
			value := int(order.Uint32(entry[8:]))
			if kind == 3 {
				value = int(order.Uint16(entry[8:]))
			}
			if id == exifWidth {
				e.width = value
			} else {
				e.height = value
			}
		}
	}
}

// exifText reads a text of count bytes: up to four stand in the entry itself.
func exifText(data []byte, order binary.ByteOrder, entry []byte, count uint32) string {
	raw := entry[8:12]
	if count > 4 {
		from := uint64(order.Uint32(entry[8:]))
		if from+uint64(count) > uint64(len(data)) {
			return ""
		}
		raw = data[from : from+uint64(count)]
	} else {
		raw = raw[:count]
	}
	raw, _, _ = bytes.Cut(raw[:min(len(raw), maxProperty)], []byte{0})
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}

// exifTime is when the picture was taken. Cameras know no zone, as a rule; the
// time is then taken as UTC.
func exifTime(text map[uint16]string) string {
	for _, id := range []uint16{exifTaken, exifChanged} {
		t, err := time.Parse("2006:01:02 15:04:05-07:00", strings.TrimSpace(text[id])+zoneOr(text[exifZone]))
		if err == nil && t.Year() > 0 {
			return t.Format(time.RFC3339)
		}
	}
	return ""
}

func zoneOr(zone string) string {
	if zone = strings.TrimSpace(zone); len(zone) == 6 {
		return zone
	}
	return "+00:00"
}
