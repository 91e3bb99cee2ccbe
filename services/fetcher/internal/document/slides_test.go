package document

import (
	"testing"

	"github.com/nanoclaw/nanoclaw/services/fetcher/internal/contenttype"
)

func TestSlides(t *testing.T) {
	table := `<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tr><a:tc>` + slidePara("", "Name") + `</a:tc><a:tc gridSpan="1">` + slidePara("", "Age") +
		`</a:tc></a:tr><a:tr><a:tc>` + slidePara("", "Ann") + `</a:tc><a:tc>` + slidePara("", "7") + `</a:tc></a:tr></a:tbl></a:graphicData></a:graphic></p:graphicFrame>`
	file := slidesOf(t, shapeOf("sldImg")+shapeOf("body", slidePara("", "Speak slowly."))+shapeOf("sldNum", slidePara("", "1")),
		shapeOf("ctrTitle", slidePara("", "The boats"))+shapeOf("subTitle", slidePara("", "of the harbour"))+shapeOf("sldNum", `<a:p><a:fld type="slidenum"><a:t>1</a:t></a:fld></a:p>`),
		shapeOf("title", slidePara("", "Facts"))+shapeOf("body", slidePara("", "First"), slidePara(`<a:pPr lvl="1"/>`, "Inner"), slidePara(`<a:pPr><a:buNone/></a:pPr>`, "Plain"))+
			shapeOf("", slidePara("", "A text box"))+table+`<p:graphicFrame><c:chart r:id="rId5"/></p:graphicFrame>`,
		`<p:sld show="0">`+shapeOf("", slidePara("", "Secret"))+`</p:sld>`)
	d := read(t, request(file, contenttype.PPTX))
	want := "## Slide 1: The boats\n\nof the harbour\n\nNotes:\n\nSpeak slowly.\n\n" +
		"## Slide 2: Facts\n\n- First\n    - Inner\n\nPlain\n\nA text box\n\n| Name | Age |\n| --- | --- |\n| Ann | 7 |\n\n" +
		"## Slide 3 (hidden slide)\n\nSecret"
	if got := d.Markdown(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if d.Pages != 3 || d.Kind != KindPresentation || !warned(d, "charts") || d.About.Title != "The plan" {
		t.Errorf("%d pages, %s, %q, %+v", d.Pages, d.Kind, d.Warnings, d.About)
	}
}

func TestSlidesWhoseListIsEmptyHaveNoText(t *testing.T) {
	d := read(t, request(slidesOf(t, ""), contenttype.PPTX))
	if d.Pages != 0 || d.Text() != "" {
		t.Errorf("%d pages, %q", d.Pages, d.Text())
	}
}
