package bing

import "github.com/nanoclaw/nanoclaw/services/search/internal/adapter"

// markets are the market codes that Microsoft lists for Bing, and those of
// languages with a script of their own. The first one of a language or of a
// country is its default.
var markets = adapter.Markets{
	{Language: "en", Region: "US", Code: "en-US"}, {Language: "en", Region: "GB", Code: "en-GB"},
	{Language: "en", Region: "AU", Code: "en-AU"}, {Language: "en", Region: "CA", Code: "en-CA"},
	{Language: "en", Region: "IN", Code: "en-IN"}, {Language: "en", Region: "IE", Code: "en-IE"},
	{Language: "en", Region: "ID", Code: "en-ID"}, {Language: "en", Region: "MY", Code: "en-MY"},
	{Language: "en", Region: "NZ", Code: "en-NZ"}, {Language: "en", Region: "PH", Code: "en-PH"},
	{Language: "en", Region: "SG", Code: "en-SG"}, {Language: "en", Region: "ZA", Code: "en-ZA"},
	{Language: "zh", Region: "CN", Code: "zh-CN"}, {Language: "zh", Region: "TW", Code: "zh-TW"},
	{Language: "zh", Region: "HK", Code: "zh-HK"},
	{Language: "de", Region: "DE", Code: "de-DE"}, {Language: "de", Region: "AT", Code: "de-AT"},
	{Language: "de", Region: "CH", Code: "de-CH"},
	{Language: "fr", Region: "FR", Code: "fr-FR"}, {Language: "fr", Region: "BE", Code: "fr-BE"},
	{Language: "fr", Region: "CA", Code: "fr-CA"}, {Language: "fr", Region: "CH", Code: "fr-CH"},
	{Language: "es", Region: "ES", Code: "es-ES"}, {Language: "es", Region: "AR", Code: "es-AR"},
	{Language: "es", Region: "CL", Code: "es-CL"}, {Language: "es", Region: "MX", Code: "es-MX"},
	{Language: "es", Region: "US", Code: "es-US"},
	{Language: "pt", Region: "BR", Code: "pt-BR"}, {Language: "pt", Region: "PT", Code: "pt-PT"},
	{Language: "nl", Region: "NL", Code: "nl-NL"}, {Language: "nl", Region: "BE", Code: "nl-BE"},
	{Language: "it", Region: "IT", Code: "it-IT"}, {Language: "ja", Region: "JP", Code: "ja-JP"},
	{Language: "ko", Region: "KR", Code: "ko-KR"}, {Language: "ru", Region: "RU", Code: "ru-RU"},
	{Language: "pl", Region: "PL", Code: "pl-PL"}, {Language: "sv", Region: "SE", Code: "sv-SE"},
	{Language: "da", Region: "DK", Code: "da-DK"}, {Language: "fi", Region: "FI", Code: "fi-FI"},
	{Language: "no", Region: "NO", Code: "no-NO"}, {Language: "tr", Region: "TR", Code: "tr-TR"},
	{Language: "ar", Region: "SA", Code: "ar-SA"}, {Language: "he", Region: "IL", Code: "he-IL"},
	{Language: "th", Region: "TH", Code: "th-TH"}, {Language: "el", Region: "GR", Code: "el-GR"},
}
