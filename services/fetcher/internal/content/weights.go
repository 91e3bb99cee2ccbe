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
	{Article, 11.65, [features]float64{1.46, -0.03, 3.69, -2.52, 3.65, 0.03, 0.01, -0.12, -1.6, -0.26, 0.34, -0.18, -6.47, -0.13, -0.52,
		0.64, -1.57, -2.09, -4.04, 0.47, -1.6, 2.14, -1.52}},
	{Forum, -1.25, [features]float64{0.04, 0.01, 0.23, 0.12, 1.72, 0.17, -0.33, 0.15, 0.04, -0.03, -0.03, 0.09, -1.96, -0.04, -0.09,
		0.5, -0.19, 7.96, 0.38, -0.15, -0.8, 0.83, 0.03}},
	{Product, 2.13, [features]float64{-0.5, 0.09, -1.14, -0.77, -4.68, -2.66, 0.16, -0.68, 0.21, 0.53, 0.52, -0.2, -5.85, -0.24, -0.14,
		-0.14, 6.43, -0.05, 0.92, -0.43, -0.36, 1.45, 0.23}},
	{Collection, -12.52, [features]float64{-0.85, 0.18, -0.74, 1.16, 0.86, -1.11, 0.01, 0.37, 1.91, 0.26, -0.01, 0.61, 6.29, 0.11, 0.7,
		-1.68, -1.59, -0.03, 4.93, -3.33, -0.38, -1.37, 0.02}},
	{Listing, -1.09, [features]float64{-0.23, 0.05, -1.81, 0.55, 2.48, 3.79, 0.36, 0.23, 0.43, -1.06, -0.48, 0.7, 6.17, 0.07, -0.03,
		-0.72, 0.09, -4.29, 0.96, 1.14, 1.13, 0.16, 0.19}},
	{Documentation, 1.46, [features]float64{0.87, -0.1, 0.85, 1.24, -0.45, -3.61, -0.19, 1.04, -0.73, 0.28, -1.05, 0.32, -5.78, 0.01, -0.22,
		1.2, -0.67, -0.35, -1.18, 6.65, 0.59, -2.33, 0.79}},
	{Service, -0.38, [features]float64{-0.8, -0.21, -1.07, 0.22, -3.57, 3.4, -0.03, -0.99, -0.25, 0.28, 0.71, -1.34, 7.61, 0.21, 0.29,
		0.2, -2.51, -1.14, -1.97, -4.36, 1.42, -0.88, 0.26}},
}
