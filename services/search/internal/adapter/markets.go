package adapter

import "slices"

// Market is a language and a country together, as many engines want them, with
// the engine's own word for the pair.
type Market struct{ Language, Region, Code string }

// Markets are those that an engine knows. The first one of a language or of a
// country is taken when the other is not said.
type Markets []Market

// Languages are the base languages of the markets.
func (m Markets) Languages() []string {
	return each(m, func(one Market) string { return one.Language })
}

// Regions are the countries of the markets.
func (m Markets) Regions() []string {
	return each(m, func(one Market) string { return one.Region })
}

func each(m Markets, of func(Market) string) []string {
	var out []string
	for _, one := range m {
		if v := of(one); v != "" && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// Pick gives the market for q and the option that it leaves out. The language
// is that of q or, without one, what its text is written in; a country in its
// tag counts when no region is asked for and there is such a market. When there
// is no market for both language and region, the language stays, and the region
// is left out if it was asked for. It is false when q says nothing of either.
func (m Markets) Pick(c Capabilities, q Query) (market Market, dropped []Option, ok bool) {
	lang, region := c.LanguageOf(q), q.Region
	if region == "" {
		region = m.implied(lang, q.Language)
	}
	switch {
	case lang == "" && region == "":
		return Market{}, nil, false
	case lang == "" || q.Language == "" && region != "":
		// A region that was asked for outweighs a language that was guessed.
		if both, found := m.find(lang, region); found {
			return both, nil, true
		}
		market, ok = m.find("", region)
		return market, nil, ok
	}
	if market, ok = m.find(lang, region); ok {
		return market, nil, true
	}
	market, ok = m.find(lang, "")
	return market, []Option{OptionRegion}, ok
}

// implied is the region that a tag itself tells, where there is a market for it.
func (m Markets) implied(lang, tag string) string {
	region, traditional := RegionOf(tag), lang == "zh" && Traditional(tag)
	// zh-Hans-HK is in the characters of the mainland: they count more.
	if _, ok := m.find(lang, region); ok && region != "" && (lang != "zh" || traditional == WritesTraditional(region)) {
		return region
	}
	if traditional {
		return "TW"
	}
	return ""
}

// WritesTraditional reports whether Chinese is written in traditional
// characters in a region.
func WritesTraditional(region string) bool { return region == "TW" || region == "HK" || region == "MO" }

// find gives the first market with a language and a region, either of which may
// be empty for any.
func (m Markets) find(lang, region string) (Market, bool) {
	for _, one := range m {
		if (lang == "" || one.Language == lang) && (region == "" || one.Region == region) {
			return one, true
		}
	}
	return Market{}, false
}
