package extract

import "net/url"

// Base is what relative addresses of the page are relative to: its base element,
// else its own address; nil when neither is known.
func (d *Document) Base() *url.URL { return d.base }
