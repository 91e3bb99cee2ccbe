package cleanse

import (
	"strconv"
	"strings"
)

// number reads the number that a value begins with.
func number(val string) (float64, bool) {
	end := 0
	for end < len(val) && (val[end] >= '0' && val[end] <= '9' || val[end] == '.' || val[end] == '-' && end == 0) {
		end++
	}
	v, err := strconv.ParseFloat(val[:end], 64)
	return v, err == nil
}

// outside is how far off a page nothing of it is seen: in pixels, and in units
// that are several pixels or a share of the screen.
const (
	outside      = -500
	outsideUnits = -50
)

// far says whether a length moves an element out of the page.
func far(val string) bool {
	v, ok := number(val)
	if !ok || v >= 0 {
		return false
	}
	if has(val, "em") || has(val, "vw") || has(val, "vh") {
		return v <= outsideUnits
	}
	return v <= outside
}

// farInside says whether a function moves an element out of the page.
func farInside(val string) bool {
	for val != "" {
		at := strings.IndexByte(val, '-')
		if at < 0 {
			return false
		}
		if val = val[at:]; far(val) {
			return true
		}
		val = val[1:]
	}
	return false
}

// emptyRect says whether a clip leaves at most a pixel.
func emptyRect(val string) bool {
	if !has(val, "rect(") {
		return false
	}
	for i := strings.IndexByte(val, '(') + 1; i < len(val); i++ {
		if c := val[i]; c >= '2' && c <= '9' || c == '%' || c == '0' && i > 0 && val[i-1] == '1' {
			return false
		}
	}
	return !has(val, "auto")
}

// noInk says whether a color is no color.
func noInk(val string) bool {
	if is(val, "transparent") {
		return true
	}
	if !has(val, "rgba(") && !has(val, "hsla(") && !(has(val, "rgb(") && strings.Contains(val, "/")) {
		return len(val) == 5 && val[0] == '#' && val[4] == '0' || len(val) == 9 && val[0] == '#' && val[7:] == "00"
	}
	at := strings.LastIndexAny(val, ",/")
	v, ok := number(strings.TrimSpace(val[at+1:]))
	return ok && v <= 0.02
}

// parseColor reads a color as 0xrrggbb: a hex value, rgb(), or one of the names
// that are used to hide text. It is false for every other.
func parseColor(val string) (int, bool) {
	val = strings.TrimSpace(val)
	switch {
	case is(val, "white"):
		return 0xffffff, true
	case is(val, "black"):
		return 0, true
	case is(val, "snow"), is(val, "ivory"), is(val, "ghostwhite"), is(val, "whitesmoke"):
		return 0xfafafa, true
	}
	if hex, ok := strings.CutPrefix(val, "#"); ok {
		v, err := strconv.ParseUint(hex, 16, 32)
		switch {
		case err != nil:
			return 0, false
		case len(hex) == 3:
			r, g, b := v>>8, v>>4&15, v&15
			return int(r*17<<16 | g*17<<8 | b*17), true
		case len(hex) == 6:
			return int(v), true
		}
		return 0, false
	}
	if !has(val, "rgb") {
		return 0, false
	}
	out, parts := 0, 0
	for i := 0; i < len(val) && parts < 3; {
		if val[i] < '0' || val[i] > '9' {
			i++
			continue
		}
		v := 0
		for i < len(val) && val[i] >= '0' && val[i] <= '9' && v < 1000 {
			v = v*10 + int(val[i]-'0')
			i++
		}
		out = out<<8 | min(v, 255)
		parts++
	}
	return out, parts == 3
}

// near says whether nobody tells two colors apart.
func near(a, b int) bool {
	for shift := 0; shift <= 16; shift += 8 {
		if d := a>>shift&0xff - b>>shift&0xff; d > 8 || d < -8 {
			return false
		}
	}
	return true
}
