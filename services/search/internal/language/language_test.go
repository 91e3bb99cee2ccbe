package language

import "testing"

func TestOf(t *testing.T) {
	cases := map[string]string{
		"tea ceremony": "", "": "", "42 + 1": "", "杭州龙井茶": "zh", "React 教程": "zh", "茶": "zh", "抹茶の点て方": "ja", "カメラ": "ja",
		"녹차 만들기": "ko", "рецепт борща": "ru", "α decay": "", "πίτσα": "el", "ชาเขียว": "th", "شاي أخضر": "ar", "תה ירוק": "he",
	}
	for query, want := range cases {
		if got := Of(query); got != want {
			t.Errorf("%q is %q, want %q", query, got, want)
		}
	}
}
