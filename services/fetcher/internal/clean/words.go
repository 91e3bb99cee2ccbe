package clean

// The meanings that words of a class or an id hint at. The words of Unlikely,
// Maybe, Positive, Negative, Share and Byline are those that Mozilla's
// Readability found on many pages; the others are ours.
const (
	// HintUnlikely names what is seldom content.
	HintUnlikely Hint = 1 << iota
	// HintMaybe names what may be content for all that.
	HintMaybe
	// HintPositive names content.
	HintPositive
	// HintNegative names what is not.
	HintNegative
	// HintShare names buttons to share a page.
	HintShare
	// HintByline names who wrote the page, and when.
	HintByline
	// HintAuthorBox names a portrait of who wrote it.
	HintAuthorBox
	// HintRelated names other pages.
	HintRelated
	// HintTags names the keywords of a page.
	HintTags
	// HintCaption names the words to a picture.
	HintCaption
	// HintAd names advertisements.
	HintAd
	// HintForm names newsletters and the like that want an address.
	HintForm
	// HintNav names navigation.
	HintNav
	// HintCrumb names the path to a page.
	HintCrumb
	// HintOverlay names what lies over the page when it is asked for.
	HintOverlay
	// HintFilter names what orders a list and leafs through it.
	HintFilter
	// HintConsent names questions for consent.
	HintConsent
	// HintScreenReader names what is not seen.
	HintScreenReader
)

// hintWords are found anywhere in a class or id, in any case. A space stands
// for white space or an end of the attribute.
var hintWords = map[Hint][]string{
	HintUnlikely: {"-ad-", "ai2html", "banner", "breadcrumbs", "combx", "comment", "community", "cover-wrap", "disqus", "extra",
		"footer", "gdpr", "header", "legends", "menu", "related", "remark", "replies", "rss", "shoutbox", "sidebar", "skyscraper",
		"social", "sponsor", "supplemental", "ad-break", "agegate", "pagination", "pager", "popup", "yom-remote"},
	HintMaybe: {"and", "article", "body", "column", "content", "main", "mathjax", "shadow"},
	HintPositive: {"article", "body", "content", "entry", "hentry", "h-entry", "main", "page", "pagination", "post", "text", "blog",
		"story"},
	HintNegative: {"-ad-", "hidden", " hid ", "banner", "combx", "comment", "com-", "contact", "footer", "gdpr", "masthead", "media",
		"meta", "outbrain", "promo", "related", "scroll", "share", "shoutbox", "sidebar", "skyscraper", "sponsor", "shopping", "tags",
		"widget"},
	HintShare: {" share ", " share_", " share-", "_share ", "-share ", "_share_", "-share-", "-share_", "_share-", " sharedaddy ",
		"sharing", "share-button", "sharebar", "social-share", "share-tools", "sharetools", "addthis", "addtoany"},
	HintByline: {"byline", "author", "dateline", "writtenby", "p-author"},
	HintAuthorBox: {"author-bio", "authorbio", "author-box", "authorbox", "about-author", "about-the-author", "author-info",
		"author_info", "author-desc", "bio-box", "author-profile"},
	HintRelated: {"related", "recommend", "read-more", "readmore", "more-stories", "morestories", "also-like", "you-may", "see-also",
		"further-reading", "read-next", "readnext", "more-from", "suggested", "upsell", "cross-sell", "crosssell"},
	HintTags:    {" tags ", " tags-", "-tags ", "-tags-", "tag-list", "taglist", "tagcloud", "tag-links", "keywords"},
	HintCaption: {"caption", "credit"},
	HintAd: {"advert", "adsbygoogle", "sponsor", " ad ", " ads ", " ad-", "-ad-", "-ads ", "dfp", "google-ad", "ad-slot", "ad_slot",
		"adunit", "ad-unit", "ad-container"},
	HintForm:  {"newsletter", "subscribe", "signup", "sign-up", "mailchimp", "mc_embed", "optin", "opt-in"},
	HintNav:   {" nav ", "nav-", "-nav", "_nav", "navbar", "navigation", "menu", "topbar", "pagination", "skip-link", "skiplink", "toc "},
	HintCrumb: {"breadcrumb", "crumbs"},
	HintOverlay: {"modal", "drawer", "popup", "pop-up", "offcanvas", "off-canvas", "minicart", "mini-cart", "cart-", "tooltip", "toast",
		"lightbox", "dropdown", "flyout"},
	HintFilter:  {"filter", "facet", "sort", "refine", "pagination", "pager", "paging"},
	HintConsent: {"cookie", "consent", "gdpr", "onetrust", "didomi", "usercentrics", "privacy-"},
	HintScreenReader: {"visually-hidden", "visuallyhidden", "sr-only", "screen-reader", "screenreader", "hidden-print", "u-hidden",
		"is-hidden", " hidden "},
}
