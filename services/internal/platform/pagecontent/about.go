package pagecontent

import (
	"math"

	fetcherv1 "github.com/nanoclaw/nanoclaw/gen/go/nanoclaw/fetcher/v1"
)

// About is what a model is told of a page or document beside its content; what
// is empty costs it nothing.
type About struct {
	Byline     string  `json:"byline,omitempty"`
	Published  string  `json:"published,omitempty"`
	Modified   string  `json:"modified,omitempty"`
	Language   string  `json:"language,omitempty"`
	PageType   string  `json:"page_type,omitempty"`
	Confidence float64 `json:"confidence,omitempty"`
	Pages      int32   `json:"pages,omitempty"`

	// These come when metadata is what was asked for.
	Canonical   string            `json:"canonical,omitempty"`
	SiteName    string            `json:"site_name,omitempty"`
	Description string            `json:"description,omitempty"`
	Properties  map[string]string `json:"properties,omitempty"`
}

// AboutOf picks from the metadata what an extract type is told.
func AboutOf(extract string, m *fetcherv1.PageMetadata) About {
	a := About{
		Byline: m.GetByline(), Published: m.GetPublished(), Modified: m.GetModified(), Language: m.GetLanguage(),
		PageType: m.GetPageType(), Confidence: math.Round(m.GetConfidence()*100) / 100, Pages: m.GetPages(),
	}
	if extract == Metadata {
		a.Canonical, a.SiteName, a.Description, a.Properties = m.GetCanonical(), m.GetSiteName(), m.GetDescription(), m.GetProperties()
	}
	return a
}
