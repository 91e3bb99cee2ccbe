package correction

// role is what the words before a query say about it.
type role int

const (
	// unsaid: nothing before it that we know.
	unsaid role = iota
	// searched: the results are for it.
	searched
	// perhaps: the results are for it if the notice offers another one instead.
	perhaps
	// refused: it is the one asked, or a mere suggestion.
	refused
)

// words are what engines put before a query, in lower case. Where two end at the
// same place the later role counts: "only results for" is refused although
// "results for" is in it.
var words = map[role][]string{
	searched: {
		"including results for", "showing results for", "showing results from", "displaying results for",
		"results are included for", "included results for", "results shown for", "these are results for", "these are the results for",
		"einschließlich ergebnisse für", "einschliesslich ergebnisse für", "es werden ergebnisse für", "ergebnisse werden angezeigt für",
		"zeige ergebnisse für", "enthält ergebnisse für", "ergebnisse enthalten für", "ergebnisse einbezogen für",
		"résultats inclus pour", "y compris les résultats pour", "inclut les résultats pour", "inclut des résultats pour",
		"résultats affichés pour", "affichage des résultats pour", "voici les résultats pour", "incluant les résultats pour",
		"se incluyen resultados de", "se incluyen resultados para", "incluidos los resultados de", "incluye resultados de",
		"mostrando resultados de", "mostrando resultados para", "se muestran resultados de", "se muestran resultados para",
		"incluindo resultados para", "sono inclusi i risultati per", "risultati inclusi per", "inclusief resultaten voor",
		"包括以下内容的结果", "包含以下内容的结果", "已显示以下内容的结果", "显示的是以下内容的结果", "正在显示以下内容的结果", "包含下列內容的結果",
		"已显示", "已顯示", "已包含", "为您显示", "以下包含", "正在显示", "正在顯示", "次の検索結果を表示しています",
	},
	perhaps: {"results for", "ergebnisse für", "résultats pour", "resultados de", "resultados para", "risultati per", "resultaten voor"},
	refused: {
		"search instead for", "search instead", "instead search for", "search only for", "results only for", "results just for", "only for", "show only",
		"only results for", "just results for", "do you want", "did you mean", "perhaps you meant", "you searched for",
		"no results found for", "no results for",
		"stattdessen nach", "stattdessen suchen", "suchen sie stattdessen", "nur nach", "nur für", "nur ergebnisse für", "ergebnisse nur für",
		"möchten sie", "meinten sie", "meintest du", "keine ergebnisse für", "keine ergebnisse gefunden für",
		"rechercher plutôt", "essayer plutôt", "plutôt avec", "uniquement pour", "résultats uniquement", "seulement pour", "que des résultats pour", "voulez-vous", "essayez avec", "essayer avec", "vouliez-vous dire", "aucun résultat pour",
		"buscar en su lugar", "solo para", "solo de", "solo por", "sólo para", "sólo de", "únicamente para", "únicamente de", "quieres resultados", "quisiste decir", "quiso decir", "no hay resultados para", "no se encontraron resultados para",
		"cerca invece", "apenas por", "apenas para", "somente por", "somente para", "alleen voor", "alleen zoeken",
		"仅搜索", "只搜索", "仍然搜索", "仍搜索", "仍要搜索", "继续搜索", "改为搜索", "仅显示", "只显示", "仅显示以下内容的结果", "只显示以下内容的结果",
		"是否只", "是否仅", "只需要", "仅需要", "只想", "仅想", "您要找的是不是", "您是不是要找", "你是不是要找", "您是不是想找", "您是否要搜索",
		"没有找到", "未找到", "仍然搜尋", "仍要搜尋", "僅搜尋", "只搜尋", "僅顯示", "您是不是要查", "代わりに", "もしかして",
	},
}
