package content

// Page is what a page says about itself, as far as that helps to find its
// content.
type Page struct {
	// Title is the title of the article, without the name of the site.
	Title string
	// HasByline says that it is known who wrote the page.
	HasByline bool
	// Cues are what address and metadata say about the type of the page.
	Cues Cue
}

// Cue is a set of signs of a page's type.
type Cue uint16

// Signs of a page's type.
const (
	CueArticle Cue = 1 << iota // says that it is an article
	CueProduct                 // says that it is a product
	CueForum                   // says that it is a thread, or is made by a forum's software
	CueList                    // says that it is a list or a category
	CueDocs                    // says that it is documentation
	CueHome                    // has an address without a path worth the name
	CueSlug                    // has an address that ends in a title
	CueSite                    // says no more than that it is part of a site
	cues       = iota
)
