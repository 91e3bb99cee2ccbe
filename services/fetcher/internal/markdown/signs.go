package markdown

// Tables of figures often have columns of nothing but currency signs, per cent
// signs and closing brackets, to line up the digits. Such a column is no column:
// its signs belong to the figures beside it.

// mergeSigns joins the columns of signs with those of their figures.
func (g *grid) mergeSigns() {
	for col := 0; col < g.width; col++ {
		switch {
		case col+1 < g.width && g.onlySigns(col, isCurrency, col+1):
			g.merge(col, col+1, true)
			col--
		case col > 0 && g.onlySigns(col, isUnit, col-1):
			g.merge(col, col-1, false)
			col--
		}
	}
}

// onlySigns says whether all that begins in a column below the heads is a sign,
// and stands beside a figure.
func (g *grid) onlySigns(col int, is func([]byte) bool, figure int) bool {
	signs := 0
	for i := g.header; i < len(g.rows); i++ {
		r := g.rows[i]
		if g.titles[i] || col >= len(r) || !r[col].origin || r[col].from == r[col].to {
			continue
		}
		if !is(g.text(r[col])) || figure >= len(r) || !hasDigit(g.text(r[figure])) {
			return false
		}
		signs++
	}
	return signs > 0
}

// merge joins the signs of a column with their figures and takes the column out.
func (g *grid) merge(col, figure int, before bool) {
	for i, r := range g.rows {
		if col >= len(r) {
			continue
		}
		if i < g.header || g.titles[i] {
			if figure < len(r) && r[figure].from == r[figure].to {
				r[figure] = r[col]
			} else if figure < len(r) && r[col].origin {
				r[figure].origin = true
			}
		} else if r[col].origin && r[col].to > r[col].from {
			a, b := r[col], r[figure]
			if !before {
				a, b = b, a
			}
			from := len(g.w.cells)
			g.w.cells = append(g.w.cells, g.text(a)...)
			g.w.cells = append(g.w.cells, g.text(b)...)
			r[figure].from, r[figure].to = from, len(g.w.cells)
		}
		g.rows[i] = append(r[:col], r[col+1:]...)
	}
	g.width--
}

func isCurrency(s []byte) bool {
	switch string(s) {
	case "$", "€", "£", "¥", "₹", "US$", "C$", "A$", "HK$", "NT$", "S$", "R$", "Fr", "CHF", "₩", "₽", "($", "(€", "(£", "(":
		return true
	}
	return false
}

func isUnit(s []byte) bool {
	switch string(s) {
	case ")", "%", ")%", "%)", "€", "‰":
		return true
	}
	return false
}

func hasDigit(text []byte) bool {
	for _, c := range text {
		if c >= '0' && c <= '9' {
			return true
		}
	}
	return false
}
