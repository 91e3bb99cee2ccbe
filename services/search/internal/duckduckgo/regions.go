package duckduckgo

import "github.com/nanoclaw/nanoclaw/services/search/internal/adapter"

// regions are DuckDuckGo's names for pairs of country and language. The first
// one of a language or of a country is its default.
var regions = adapter.Markets{
	{Language: "en", Region: "US", Code: "us-en"}, {Language: "en", Region: "GB", Code: "uk-en"},
	{Language: "en", Region: "AU", Code: "au-en"}, {Language: "en", Region: "CA", Code: "ca-en"},
	{Language: "en", Region: "IN", Code: "in-en"}, {Language: "en", Region: "IE", Code: "ie-en"},
	{Language: "en", Region: "MY", Code: "my-en"}, {Language: "en", Region: "NZ", Code: "nz-en"},
	{Language: "en", Region: "PH", Code: "ph-en"}, {Language: "en", Region: "SG", Code: "sg-en"},
	{Language: "en", Region: "ZA", Code: "za-en"},
	{Language: "zh", Region: "CN", Code: "cn-zh"}, {Language: "zh", Region: "TW", Code: "tw-tzh"},
	{Language: "zh", Region: "HK", Code: "hk-tzh"},
	{Language: "de", Region: "DE", Code: "de-de"}, {Language: "de", Region: "AT", Code: "at-de"},
	{Language: "de", Region: "CH", Code: "ch-de"},
	{Language: "fr", Region: "FR", Code: "fr-fr"}, {Language: "fr", Region: "BE", Code: "be-fr"},
	{Language: "fr", Region: "CA", Code: "ca-fr"}, {Language: "fr", Region: "CH", Code: "ch-fr"},
	{Language: "es", Region: "ES", Code: "es-es"}, {Language: "es", Region: "AR", Code: "ar-es"},
	{Language: "es", Region: "CL", Code: "cl-es"}, {Language: "es", Region: "CO", Code: "co-es"},
	{Language: "es", Region: "MX", Code: "mx-es"}, {Language: "es", Region: "PE", Code: "pe-es"},
	{Language: "pt", Region: "BR", Code: "br-pt"}, {Language: "pt", Region: "PT", Code: "pt-pt"},
	{Language: "it", Region: "IT", Code: "it-it"}, {Language: "it", Region: "CH", Code: "ch-it"},
	{Language: "nl", Region: "NL", Code: "nl-nl"}, {Language: "nl", Region: "BE", Code: "be-nl"},
	{Language: "ja", Region: "JP", Code: "jp-jp"}, {Language: "ko", Region: "KR", Code: "kr-kr"},
	{Language: "ru", Region: "RU", Code: "ru-ru"}, {Language: "uk", Region: "UA", Code: "ua-uk"},
	{Language: "pl", Region: "PL", Code: "pl-pl"}, {Language: "sv", Region: "SE", Code: "se-sv"},
	{Language: "da", Region: "DK", Code: "dk-da"}, {Language: "fi", Region: "FI", Code: "fi-fi"},
	{Language: "no", Region: "NO", Code: "no-no"}, {Language: "cs", Region: "CZ", Code: "cz-cs"},
	{Language: "hu", Region: "HU", Code: "hu-hu"}, {Language: "ro", Region: "RO", Code: "ro-ro"},
	{Language: "bg", Region: "BG", Code: "bg-bg"}, {Language: "tr", Region: "TR", Code: "tr-tr"},
	{Language: "vi", Region: "VN", Code: "vn-vi"}, {Language: "id", Region: "ID", Code: "id-id"},
	{Language: "ar", Code: "xa-ar"}, {Language: "he", Region: "IL", Code: "il-en"},
	{Language: "th", Region: "TH", Code: "th-th"}, {Language: "el", Region: "GR", Code: "gr-el"},
}

const worldwide = "wt-wt"
