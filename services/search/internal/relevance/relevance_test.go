package relevance

import (
	"slices"
	"strings"
	"testing"

	"github.com/nanoclaw/nanoclaw/services/search/internal/adapter"
)

func rows(titles ...string) []adapter.Result {
	var out []adapter.Result
	for _, t := range titles {
		out = append(out, adapter.Result{Title: t, URL: "https://example.com/"})
	}
	return out
}

func TestRowsOfOtherQueriesAreTold(t *testing.T) {
	shoes := rows("Best running shoes", "Weather in Oslo", "How to tie a tie", "Cheap flights", "Bank login",
		"Football scores", "Pizza near me", "Translate text", "Free games", "Movie times")
	cases := []struct {
		name  string
		query string
		rows  []adapter.Result
		kept  int
		decoy bool
	}{
		{"own rows stay", "rust ownership", rows("Ownership in Rust", "The Rust book", "Learn rust"), 3, false},
		{"another form of the word counts", "javascript tutorials", rows("JavaScript Tutorial", "A tutorial"), 2, false},
		{"strangers are a decoy", "chokidar file watcher", shoes, 0, true},
		{"stop words alone do not make a match", "how to use chokidar", rows("How to tie a tie", "How to cook", "What to do", "How to sing"), 0, true},
		{"one row of ten with two words keeps that row", "oslo weather ferry", shoes, 1, false},
		{"one row of ten with one word of many is an accident", "oslo fjord ferry", shoes, 0, true},
		{"one row of ten with the only word keeps that row", "oslo", shoes, 1, false},
		{"words of every text do not count beside others", "best pizza 2026", rows("Best shoes 2026", "Best cars", "Best hats of 2026"), 0, true},
		{"words of every text count alone", "best tutorial", rows("The best tutorial"), 1, false},
		{"Chinese words of every text do not count beside others", "龙井茶 教程", rows("绘画教程", "编程教程", "教程大全"), 0, true},
		{"one word in the boilerplate of every row is no answer to many", "chokidar polling glob watcher", rows("A | watchers", "B | watchers", "C | watchers"), 0, true},
		{"one common word in every row is no answer to three", "berlin beekeeping permit", rows("Berlin hotels", "Berlin weather", "Map of Berlin", "Berlin airport"), 0, true},
		{"one word in every row is no answer to three in Japanese", "東京 養蜂 許可", rows("東京 天気", "東京タワー", "東京 ホテル"), 0, true},
		{"nor in Russian", "москва пчеловодство разрешение", rows("Москва погода", "Карта: Москва", "Москва новости"), 0, true},
		{"one word in some rows may answer three", "highest paid stradivarius", rows("Stradivarius auction", "Stradivarius sold", "Violins", "Cremona", "Strings"), 5, false},
		{"one word in two rows may, too", "berlin beekeeping permit", rows("Berlin city", "Berlin bees"), 2, false},
		{"two of three words in all rows together are an answer", "berlin beekeeping permit", rows("Berlin city", "Berlin bees", "Permits of Berlin"), 3, false},
		{"another ending of a long word counts", "unemployed", rows("Unemployment in Oslo"), 1, false},
		{"a short beginning in common is another word", "internet", rows("International flights", "Interns", "Internal rules"), 0, true},
		{"a Chinese question is answered in English", "React 状态管理方案对比", rows("React state management", "Redux and React", "React hooks"), 3, false},
		{"two rows of ten keep those two", "oslo weather pizza", shoes, 2, false},
		{"one row of eleven is too few even with two words", "oslo weather ferry", append(slices.Clone(shoes), rows("Car rental")...), 0, true},
		{"two rows of eleven keep those two", "oslo weather pizza", append(slices.Clone(shoes), rows("Car rental")...), 2, false},
		{"three rows of eleven keep those three", "oslo pizza flights weather", append(slices.Clone(shoes), rows("Car rental")...), 3, false},
		{"three rows of ten keep all", "oslo pizza flights", shoes, 10, false},
		{"a word in the address counts", "chokidar", []adapter.Result{{Title: "npm", URL: "https://example.com/package/chokidar-cli"}}, 1, false},
		{"a percent-encoded word in the address counts", "茶道", []adapter.Result{{Title: "x", URL: "https://example.com/%E8%8C%B6%E9%81%93"}}, 1, false},
		{"Chinese is compared in pairs", "龙井茶产地", rows("西湖龙井的历史", "绿茶产地排行"), 2, false},
		{"Chinese strangers are a decoy", "龙井茶产地", rows("奥斯陆天气", "跑步鞋推荐", "如何打领带"), 0, true},
		{"Russian words of every sentence do not count", "прогноз для рыбаков на байкале", rows("Скачать игры на андроид", "Фильмы онлайн для детей", "Игры на двоих"), 0, true},
		{"nor do Dutch ones", "hoe maak je stamppot", rows("Hoe laat is het", "Hoe werkt een warmtepomp", "Je vraag"), 0, true},
		{"nor Polish ones", "jak usmażyć pączki", rows("Jak napisać CV", "Pogoda jutro", "Jak zrobić zrzut ekranu"), 0, true},
		{"nor Turkish ones", "mercimek çorbası nasıl yapılır", rows("Nasıl yapılır?", "Hava durumu", "E-devlet şifresi nasıl alınır"), 0, true},
		{"nor Portuguese ones", "como plantar jabuticaba em vaso", rows("Como baixar vídeos em casa", "Como fazer bolo", "Em que dia cai"), 0, true},
		{"nor Arabic ones", "كيف تصنع القهوة", rows("كيف حالك", "كيف اعرف رقمي", "من هو"), 0, true},
		{"nor Korean ones", "김치찌개 만드는 방법", rows("홈페이지 만드는 방법", "종이접기 방법", "이력서 쓰는 방법"), 0, true},
		{"nor Thai ones", "วิธีทำต้มยำกุ้ง", rows("วิธีสมัครงาน", "วิธีลดน้ำหนัก", "วิธีโหลดแอป"), 0, true},
		{"a Thai row has the words of its query", "วิธีทำต้มยำกุ้ง", rows("สูตรต้มยำกุ้งน้ำข้น"), 1, false},
		{"signs of vowels are parts of a word", "दाल मखनी", rows("मौसम दिल्ली", "आज का सोना", "मोबाइल दाम"), 0, true},
		{"a Hindi row has the words of its query", "दाल मखनी", rows("दाल मखनी रेसिपी"), 1, false},
		{"a Tamil stranger is told", "தோசை மாவு", rows("தமிழ் செய்திகள்", "தங்கம் விலை", "மழை நிலவரம்"), 0, true},
		{"Chinese question words do not count", "如何学习乌尔都语", rows("如何打领带", "如何做饭", "如何跑步"), 0, true},
		{"simplified rows answer a traditional query", "機器學習入門", rows("机器学习入门教程", "什么是机器学习", "机器学习"), 3, false},
		{"traditional rows answer a simplified query", "网络安全", rows("網路與網絡安全", "資訊安全"), 2, false},
		{"traditional strangers are a decoy", "機器學習入門", rows("奥斯陆天气", "跑步鞋推荐", "如何打领带"), 0, true},
		{"traditional question words do not count", "如何學習烏爾都語", rows("如何打领带", "如何做饭", "如何跑步"), 0, true},
		{"full width and case fold", "ＲＵＳＴ", rows("rust"), 1, false},
		{"operators alone are not judged", "site:example.com", shoes, 10, false},
		{"an operator's value is no word", "site:oslo.example chokidar", shoes, 0, true},
		{"an excluded word is no word", "chokidar -oslo", shoes, 0, true},
		{"two letters alone are not judged", "go", shoes, 10, false},
		{"two letters among others are", "go chokidar", shoes, 0, true},
		{"one Chinese character is judged", "茶", rows("茶的历史"), 1, false},
		{"stop words alone are not judged", "what is it", shoes, 10, false},
		{"no rows are no decoy", "rust", nil, 0, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			v := Judge(c.query, c.rows)
			if v.Decoy != c.decoy || len(v.Kept) != c.kept {
				t.Errorf("decoy %t with %d rows kept, want %t with %d (share %.2f, words %v)",
					v.Decoy, len(v.Kept), c.decoy, c.kept, v.Share, distinctive(c.query))
			}
		})
	}
}

func TestEveryPairOfVariantsIsOne(t *testing.T) {
	seen := map[rune]bool{}
	for pair := range strings.FieldsSeq(variantPairs) {
		p := []rune(pair)
		if len(p) != 2 || p[0] == p[1] || seen[p[0]] || plainForm(p[0]) != p[1] || plainForm(p[1]) != p[1] {
			t.Errorf("%q is no pair of a traditional and a simplified form, or stands twice", pair)
			continue
		}
		seen[p[0]] = true
	}
}

func FuzzJudge(f *testing.F) {
	f.Add("rust ownership", "Ownership")
	f.Add("site:x 茶道 !g -a", "茶 ー テスト")
	f.Fuzz(func(t *testing.T, query, text string) {
		in := rows(text, query)
		v := Judge(query, in)
		if v.Share < 0 || v.Share > 1 || len(v.Kept) > len(in) || v.Decoy && len(v.Kept) > 0 {
			t.Fatalf("%+v", v)
		}
		// A row that is the query itself always matches.
		if words := distinctive(query); len(words) > 0 && !strings.ContainsAny(query, ":-") && v.Share < 0.5 {
			t.Fatalf("%q does not match itself (words %q)", query, words)
		}
	})
}
