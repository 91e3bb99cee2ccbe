package relevance

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// operator is a search operator with its value; the value names a place to
// look, not a thing to find.
var operator = regexp.MustCompile(`(?i)(?:^|\s)-?(?:site|filetype|ext|inurl|intitle|inbody|lang|language|loc|location|ip|domain|url|cache|related|contains|prefer|feed|before|after):\S*`)

// excluded is a word that results must not have.
var excluded = regexp.MustCompile(`(?:^|\s)-\S+`)

// Words, and pairs of characters, that say nothing about what a text is about.
const (
	stopWords = `a an and any are as at be been but by can could did do does for from get got had has have how i if in
		into is it its me my no not of off on or our out so than that the their them then there these they this to up us
		use used using vs was we were what when where which who whom whose why will with would you your
		der die das den dem des ein eine einer und oder ist sind von zu mit auf im am für wie was wer wo
		le la les un une des du de et ou est sont en au aux avec pour par sur dans que qui
		el los las una unos y o es son con por para del al como que
		il lo gli di da con su per tra fra che chi cosa come quando perché sono non della dei delle nel nella alla uno si
		os as um uma do dos das em na nos nas por com sem quem onde porque são não se ao
		de het een en of zijn voor met op aan bij naar om te dat wat wie waar wanneer waarom hoe je ik mijn niet ook als kan
		och att ett det den är som för på av hur vad vem när varför jag inte og er et hvordan hva hvad hvor når hvorfor fra
		na za po dla jak co kto gdzie kiedy dlaczego czy jest są się nie ile jaki jaka jakie przez oraz kdo kde kdy proč pro jsou ako čo
		ve ile bir bu şu için mi mı mu mü ne nedir nasıl neden nerede hangi kaç yapılır olur și cu în pe din pentru ce cum unde când este nu
		az és egy hogy hol mikor miért hogyan milyen ja ei miten mikä kuka missä milloin miksi là gì ở và của cho có không các những
		ke dari yang untuk apa bagaimana mengapa adalah
		и в во на с со к ко о об от до за по из у для при что как кто где когда почему зачем какой какая какие сколько это не ли или а но
		і й та що як хто де коли чому який яка про від
		και το τα η ο οι του της των σε με για από που πώς τι ποιος πότε γιατί είναι στο στη
		في من على إلى الى عن مع ما ماذا هو هي كيف كيفية متى أين اين لماذا هل كم هذا هذه التي الذي أو و در از به با که چیست چگونه چطور چه کجا برای را است
		של על את עם איך מה מי איפה מתי למה זה הוא היא לא או का के की में से को और है हैं क्या कैसे कब कहाँ क्यों कौन पर`
	stopPairs = `的 是 在 了 和 有 我 你 他 不 这 那 の に は を が と で も 如何 怎么 怎样 什么 为什 哪些 哪个 哪里 多少 是否 可以 一个 我们 他们 你们 这个 那个 以及 或者 没有 不是 就是 的是 是什 么是 是不 有什 有哪 
		です ます した して する ある いる こと から まで とは 方法
		에서 으로 입니 니다 합니 무엇 어떻 떻게 언제 어디 하는 하기`
)

// Words, and pairs of characters, that stand in texts about anything.
const (
	weakWords = `best top new latest list lists guide guides tutorial tutorials review reviews price prices cost cheap free
		online home time times minute minutes hour hours day days week weeks month months year years one two three than rate rates record records example examples tips explained difference
		meaning definition official website site page download help find read make work works need good better more
		first last full open start using near today tomorrow now many much people way ways thing things want know
		get getting keep keeps ever still also video pdf
		beste besten preis preise kosten kostenlos machen meilleur meilleurs prix gratuit faire maison mejor mejores precio precios hacer casa
		migliore migliori prezzo fare melhor melhores preço preços fazer grátis beste prijs maken zrobić cena najlepszy fiyat fiyatı yapımı tarifi
		лучший лучшие купить цена цены отзывы скачать бесплатно онлайн рецепт рецепты дома сделать приготовить правильно сайт официальный видео фото`
	weakPairs = `教程 攻略 推荐 排行 排名 行榜 最新 大全 官网 下载 免费 时间 价格 多少 区别 解析 技巧 意思 介绍 查询 流程 入门 详解 对比 
		哪家 哪种 好吃 好用 使用 问题 解决 办法 一览 分析 学习 中国 おす すめ 一覧 ランキ ンキン キング 使い い方 比較
		만드 드는 방법 추천 가격 순위 후기 비교 วิ ิธ ธี`
)

func setOf(lists ...string) map[string]bool {
	m := map[string]bool{}
	for _, list := range lists {
		for _, w := range strings.Fields(list) {
			m[strings.Map(plainForm, w)] = true
		}
	}
	return m
}

var (
	stops = setOf(stopWords, stopPairs)
	weak  = setOf(weakWords, weakPairs)
)

// year is a number that dates a text rather than says what it is about.
var year = regexp.MustCompile(`^(?:19|20)\d\d年?$`)

func isWeak(word string) bool { return weak[word] || year.MatchString(word) }

// minAlone is how many letters a query's only word needs to be judged by.
const minAlone = 3

// distinctive gives the words of a query that its results should have, or none
// when the query has nothing to go by.
func distinctive(query string) []string {
	plain := excluded.ReplaceAllString(operator.ReplaceAllString(query, " "), " ")
	var words, strong []string
	set, _ := split(plain, false)
	for w := range set {
		if stops[w] {
			continue
		}
		words = append(words, w)
		if !isWeak(w) {
			strong = append(strong, w)
		}
	}
	if len(strong) > 0 {
		words = strong
	}
	if len(words) == 1 && utf8.RuneCountInString(words[0]) < minAlone && !wide(firstRune(words[0])) {
		return nil
	}
	slices.Sort(words)
	return words
}

// terms is the set of words of a text.
type terms struct {
	set     map[string]bool
	sorted  []string
	scripts script
}

func termsOf(text string) terms {
	var t terms
	t.set, t.scripts = split(text, true)
	for w := range t.set {
		t.sorted = append(t.sorted, w)
	}
	slices.Sort(t.sorted)
	return t
}

// minStem is how many letters must agree for two forms of a word to count as
// one ("tutorial", "tutorials").
const minStem = 4

// has reports whether the text has the word, or another form of it: one that
// begins with the word, with which the word begins, or that has a long stem in
// common with it ("unemployed", "unemployment").
func (t terms) has(word string) bool {
	if t.set[word] {
		return true
	}
	if wide(firstRune(word)) || utf8.RuneCountInString(word) < minStem {
		return false
	}
	at, _ := slices.BinarySearch(t.sorted, word)
	for _, neighbour := range t.sorted[max(at-1, 0):min(at+1, len(t.sorted))] {
		if strings.HasPrefix(neighbour, word) || sameStem(neighbour, word) {
			return true
		}
	}
	for n := len(word) - 1; n >= minStem; n-- {
		if utf8.RuneStart(word[n]) && t.set[word[:n]] && len(word)-n <= 3 {
			return true
		}
	}
	return false
}

// longStem is how many letters must agree for two words that end differently,
// and so much of the shorter one, in tenths.
const (
	longStem   = 7
	stemTenths = 7
)

func sameStem(a, b string) bool {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return utf8.RuneCountInString(a[:n]) >= longStem && n*10 >= min(len(a), len(b))*stemTenths
}

// split gives the words of a text: runs of letters and digits, and for scripts
// without spaces every pair of neighbours; on wish each character of those
// scripts too, for queries that have one standing alone. Characters of Chinese are
// given in one form, whichever way they are written. It also gives the
// scripts that the text is written in.
func split(text string, singles bool) (set map[string]bool, scripts script) {
	set = map[string]bool{}
	text = strings.ToLower(norm.NFKC.String(text))
	var run []rune
	flush := func() {
		if len(run) == 0 {
			return
		}
		if !wide(run[0]) || len(run) == 1 {
			set[string(run)] = true
		} else {
			for i := range len(run) - 1 {
				set[string(run[i:i+2])] = true
			}
		}
		run = run[:0]
	}
	for _, r := range text {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.IsMark(r) && r != '+' && r != '#' {
			flush()
			continue
		}
		if len(run) > 0 && wide(run[len(run)-1]) != wide(r) {
			flush()
		}
		r = plainForm(r)
		run = append(run, r)
		scripts |= scriptOf(r)
		if singles && wide(r) {
			set[string(r)] = true
		}
	}
	flush()
	return set, scripts
}

// script is a set of groups of writing systems.
type script uint

const (
	alphabetic script = 1 << iota // Latin, digits and what is like them
	cyrillic
	eastAsian
	other
)

func scriptOf(r rune) script {
	switch {
	case wide(r):
		return eastAsian
	case unicode.Is(unicode.Cyrillic, r):
		return cyrillic
	case unicode.IsDigit(r), unicode.Is(unicode.Latin, r), r == '+', r == '#':
		return alphabetic
	}
	return other
}

// wide reports whether a script writes words without spaces between them.
// Korean does put spaces, but hangs its endings onto words, so pairs serve it
// better too.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer) || r == 'ー'
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}
