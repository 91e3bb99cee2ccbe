package content

// The weights were fitted on the development corpora by logistic regression: a
// page counts by how much better one way is than the other on it. The floors of
// the corpora in package extract guard them.

// articleBias and articleWeights say, above zero, that the article way is
// better than the whole way.
const articleBias = 0.892

var articleWeights = [features]float64{
	fShare: 2.648, fShareSquare: -0.023,
	fProse: 2.158, fWholeProse: -1.525, fLinks: -2.462, fWholeLinks: 0.577,
	fCommas: -1.11, fWholeCommas: 0.778,
	fParas: -0.287, fItems: 0.336, fImgs: 0.119, fAnchors: 0.362, fHeads: 1.299,
	fLetters: -1.048, fWholeLetters: 1.101,
	fCues: -0.272, -1.611, -2.264, -1.94, -3.344, -1.367, 0.974, -1.609,
}

// typeWeights are the scores of the types of pages; the highest wins.
var typeWeights = [...]struct {
	kind    Type
	bias    float64
	weights [features]float64
}{
	{Article, 8.62, [features]float64{0.86, -0.06, 2.31, -1.4, 1.64, -0.01, 0.02, -0.03, -1.16, -0.17, 0.19, -0.17, -4.62, -0.12, -0.33,
		0.26, 0.53, -1.8, -1.78, -2.85, -0.35, -1.27, 1.59, -1.43}},
	{Forum, -1.26, [features]float64{-0.11, 0.02, 0.15, 0.08, 1, -0.26, -0.41, -0.02, 0.09, -0.03, -0.04, 0.05, -2.07, -0.04, -0.02,
		0.09, 0.27, -0.3, 6.66, 0.35, -0.23, -0.6, 0.55, 0.13}},
	{Product, 1.76, [features]float64{-0.29, 0.02, -0.65, -0.84, -3.26, -1.85, 0.24, -0.59, 0.16, 0.35, 0.3, -0.21, -3.38, -0.19, -0.13,
		0.51, -0.03, 5.33, -0.26, 0.28, -0.26, -0.59, 0.92, 0.31}},
	{Collection, -6.83, [features]float64{-0.53, 0.11, -0.15, 0.95, 1.99, -0.63, 0.05, 0.26, 1.13, 0.1, -0.12, 0.46, 3.66, 0.08, 0.24,
		1.18, -1.33, -1.32, 0.31, 3.57, -1.63, -0.66, -0.87, 0.24}},
	{Listing, -0.07, [features]float64{-0.1, 0.05, -0.88, 0.19, 1.92, 2.76, 0.28, 0.32, 0.1, -0.75, -0.26, 0.51, 5.18, -0.07, 0,
		-0.38, -0.18, 0.29, -3.72, 0.77, 0.67, 1.37, 0.06, 0.19}},
	{Documentation, -0.23, [features]float64{0.52, -0.08, 0.45, 0.82, -0.15, -2.32, -0.08, 0.55, -0.34, 0.23, -0.67, 0.16, -3.65, 0.07, -0.06,
		-0.03, 0.62, -0.72, -0.32, -0.82, 4.89, 0.58, -1.52, 0.29}},
	{Service, -1.99, [features]float64{-0.35, -0.07, -1.22, 0.2, -3.15, 2.31, -0.1, -0.5, 0.02, 0.27, 0.6, -0.8, 4.87, 0.27, 0.3,
		-1.62, 0.13, -1.49, -0.9, -1.3, -3.09, 1.17, -0.73, 0.27}},
}
