package content

import (
	"math"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/clean"
)

// Type is the type of a page.
type Type string

// Types of pages.
const (
	Article       Type = "article"
	Forum         Type = "forum"
	Product       Type = "product"
	Collection    Type = "collection"
	Listing       Type = "listing"
	Documentation Type = "documentation"
	Service       Type = "service"
)

// features are the figures that decide, by their place.
const (
	fShare       = iota // logarithm of the article's share of the whole
	fShareSquare        // its square
	fProse              // share of prose in the article, in the whole
	fWholeProse
	fLinks // share of links
	fWholeLinks
	fCommas // commas a hundred letters
	fWholeCommas
	fParas // logarithms, a thousand letters of the whole
	fItems
	fImgs
	fAnchors
	fHeads   // share of headings in the whole
	fLetters // logarithms of letters
	fWholeLetters
	fPrices  // logarithm, a thousand letters of the whole
	fCues    // from here on one for each Cue
	features = fCues + cues
)

// figures are those of a page.
func figures(p Page, article, whole clean.Mass) [features]float64 {
	var f [features]float64
	f[fShare] = math.Log(float64(article.Letters+50) / float64(whole.Letters+50))
	f[fShareSquare] = f[fShare] * f[fShare]
	f[fProse], f[fWholeProse] = share(article.Prose, article.Letters), share(whole.Prose, whole.Letters)
	f[fLinks], f[fWholeLinks] = share(article.Links, article.Letters), share(whole.Links, whole.Letters)
	f[fCommas] = min(100*share(article.Commas, article.Letters), 5)
	f[fWholeCommas] = min(100*share(whole.Commas, whole.Letters), 5)
	for i, n := range [...]int32{whole.Paras, whole.Items, whole.Imgs, whole.Anchors} {
		f[fParas+i] = math.Log1p(1000 * share(n, whole.Letters))
	}
	f[fHeads] = share(whole.Heads, whole.Letters)
	f[fLetters], f[fWholeLetters] = math.Log1p(float64(article.Letters)), math.Log1p(float64(whole.Letters))
	f[fPrices] = math.Log1p(1000 * share(whole.Prices, whole.Letters))
	for i := range cues {
		if p.Cues&(1<<i) != 0 {
			f[fCues+i] = 1
		}
	}
	return f
}

func share(n, of int32) float64 { return float64(n) / float64(of+1) }

// isArticle says whether the article way is better.
func isArticle(f *[features]float64) bool { return dot(articleBias, &articleWeights, f) > 0 }

// confidence is how likely the better way is the right one: 0.5 where both are
// as likely.
func confidence(f *[features]float64) float64 {
	return 1 / (1 + math.Exp(-math.Abs(dot(articleBias, &articleWeights, f))))
}

// articlePrior is what articles are ahead of other types before a page is looked
// at: the pages that the weights were fitted on have as many of every type, the
// web has mostly articles.
const articlePrior = 1.0

// typeOf says what a page is taken for.
func typeOf(f *[features]float64) Type {
	best, most := Article, math.Inf(-1)
	for i := range typeWeights {
		t := &typeWeights[i]
		s := dot(t.bias, &t.weights, f)
		if t.kind == Article {
			s += articlePrior
		}
		if s > most {
			best, most = t.kind, s
		}
	}
	return best
}

func dot(bias float64, weights, f *[features]float64) float64 {
	for i, w := range weights {
		bias += w * f[i]
	}
	return bias
}
