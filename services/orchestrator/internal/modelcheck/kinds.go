package modelcheck

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/nanoclaw/nanoclaw/services/orchestrator/internal/provider"
)

// Words that the cases are made of.
var (
	people = []string{"Ada Lovelace", "Grace Hopper", "Alan Turing", "Edsger Dijkstra", "Barbara Liskov", "Donald Knuth"}
	cities = []string{"Lisbon", "Osaka", "Nairobi", "Bergen", "Quito", "Tallinn", "Perth"}
	things = []string{"rope", "lantern", "compass", "anchor", "chart", "sextant", "barrel"}
	colour = []string{"red", "amber", "green", "blue", "violet"}
)

func (m *maker) person() string { return m.pick(people...) }
func (m *maker) city() string   { return m.pick(cities...) }
func (m *maker) thing() string  { return m.pick(things...) }

func flat(m *maker) {
	m.offer("set_reminder", "Sets a reminder.", `"title":{"type":"string"},"minutes":{"type":"integer","minimum":1,"maximum":10000},"urgent":{"type":"boolean"}`, "title", "minutes", "urgent")
	m.want("Set a reminder.", "set_reminder", object{{"title", "call " + m.person()}, {"minutes", m.between(1, 600)}, {"urgent", m.IntN(2) == 0}})
}

func nested(m *maker) {
	m.offer("create_contact", "Creates a contact.", `"person":{"type":"object","properties":{"name":{"type":"object","properties":{"first":{"type":"string"},"last":{"type":"string"}},"required":["first","last"]},`+
		`"address":{"type":"object","properties":{"city":{"type":"string"},"position":{"type":"object","properties":{"floor":{"type":"integer"},"room":{"type":"string"}},"required":["floor","room"]}},"required":["city","position"]}},"required":["name","address"]}`, "person")
	first, last, _ := strings.Cut(m.person(), " ")
	m.want("Add somebody to the contacts.", "create_contact", object{{"person", object{
		{"name", object{{"first", first}, {"last", last}}},
		{"address", object{{"city", m.city()}, {"position", object{{"floor", m.between(-2, 40)}, {"room", fmt.Sprintf("%c-%d", 'A'+rune(m.IntN(6)), m.between(1, 99))}}}}},
	}}})
}

func list(m *maker) {
	m.offer("tag_document", "Puts tags on a document.", `"document":{"type":"string"},"tags":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":10},"scores":{"type":"array","items":{"type":"integer"}}`, "document", "tags", "scores")
	scores := make([]any, 2+m.IntN(4))
	for i := range scores {
		scores[i] = m.between(0, 100)
	}
	m.want("Put tags on a document.", "tag_document", object{{"document", fmt.Sprintf("doc-%d", m.between(100, 999))}, {"tags", m.some(2+m.IntN(4), things...)}, {"scores", scores}})
}

func objects(m *maker) {
	m.offer("place_order", "Orders things.", `"items":{"type":"array","minItems":1,"items":{"type":"object","properties":{"name":{"type":"string"},"quantity":{"type":"integer","minimum":1},"gift":{"type":"boolean"}},"required":["name","quantity","gift"]}},"to":{"type":"string"}`, "items", "to")
	items := m.some(2+m.IntN(3), things...)
	for i, name := range items {
		items[i] = object{{"name", name}, {"quantity", m.between(1, 20)}, {"gift", m.IntN(2) == 0}}
	}
	m.want("Order some things.", "place_order", object{{"items", items}, {"to", m.person()}})
}

func enums(m *maker) {
	m.offer("set_light", "Sets a light.", `"room":{"type":"string","enum":["bridge","galley","hold","cabin"]},"colour":{"type":"string","enum":["red","amber","green","blue","violet"]},"level":{"type":"integer","enum":[0,25,50,75,100]}`, "room", "colour", "level")
	m.want("Set a light.", "set_light", object{{"room", m.pick("bridge", "galley", "hold", "cabin")}, {"colour", m.pick(colour...)}, {"level", 25 * m.between(0, 4)}})
}

func limits(m *maker) {
	const largest = 1<<53 - 1 // a double holds no larger one exactly
	m.offer("store_counters", "Stores counters.", fmt.Sprintf(`"least":{"type":"integer","minimum":%d,"maximum":0},"most":{"type":"integer","minimum":0,"maximum":%d},"zero":{"type":"integer"},"large":{"type":"integer","maximum":%d}`, math.MinInt32, math.MaxInt32, int64(largest)),
		"least", "most", "zero", "large")
	m.want("Store four counters.", "store_counters", object{{"least", int64(math.MinInt32)}, {"most", int64(math.MaxInt32)}, {"zero", int64(0)}, {"large", largest - m.between(0, 9)}})
}

func numbers(m *maker) {
	m.offer("record_measure", "Records a measurement.", `"celsius":{"type":"number"},"ratio":{"type":"number"},"share":{"type":"number","minimum":0,"maximum":1},"valid":{"type":"boolean"}`, "celsius", "ratio", "share", "valid")
	m.want("Record a measurement.", "record_measure", object{
		{"celsius", json.Number(fmt.Sprintf("-%d.%d5", m.between(1, 273), m.between(1, 9)))},
		{"ratio", json.Number(fmt.Sprintf("0.0000%d", m.between(1, 9)))},
		{"share", json.Number(m.pick("0", "1", "0.5", "0.125"))}, {"valid", m.IntN(2) == 0},
	})
}

func optional(m *maker) {
	m.offer("book_room", "Books a room. Leave out what the guest did not ask for.", `"guest":{"type":"string"},"nights":{"type":"integer","minimum":1},"breakfast":{"type":"boolean"},"floor":{"type":"integer"},"note":{"type":"string"}`, "guest", "nights")
	args := object{{"guest", m.person()}, {"nights", m.between(1, 14)}}
	if m.IntN(2) == 0 {
		args = append(args, member{"floor", m.between(1, 9)})
	}
	m.want("Book a room.", "book_room", args)
}

func defaulted(m *maker) {
	m.offer("search_catalogue", "Searches the catalogue. What is left out has its default.", `"query":{"type":"string"},"limit":{"type":"integer","minimum":1,"maximum":50,"default":10},"order":{"type":"string","enum":["relevance","newest","cheapest"],"default":"relevance"}`, "query")
	args := object{{"query", m.thing() + " from " + m.city()}}
	if m.IntN(2) == 0 {
		args = append(args, member{"order", m.pick("newest", "cheapest")})
	}
	m.want("Search the catalogue.", "search_catalogue", args)
}

const noteSchema = `"title":{"type":"string"},"text":{"type":"string"}`

func quotes(m *maker) {
	m.offer("save_note", "Saves a note.", noteSchema, "title", "text")
	m.want("Save a note.", "save_note", object{
		{"title", fmt.Sprintf(`the "%s" of %s`, m.thing(), m.city())},
		{"text", m.pick(
			`She said "it's 5 o'clock", then: 'no, 6'.`,
			`C:\new\table\"quoted path"\file.txt`,
			`regular expression \d+\.\d{2} and a slash / and a backslash \`,
			`{"looks": "like JSON", "but": ["is", "a text"]}`,
			`an unpaired " and a comma, and a brace }`,
		)},
	})
}

func lines(m *maker) {
	m.offer("save_note", "Saves a note.", noteSchema, "title", "text")
	m.want("Save a note. Its text has several lines.", "save_note", object{
		{"title", "list of " + m.city()},
		{"text", fmt.Sprintf("1. %s\n2. %s\n\n\tindented: %s\nlast line", m.thing(), m.thing(), m.thing())},
	})
}

func cjk(m *maker) {
	m.offer("send_message", "Sends a message.", `"to":{"type":"string"},"text":{"type":"string"}`, "to", "text")
	m.want("Send a message.", "send_message", object{
		{"to", m.pick("王小明", "山田太郎", "김민수", "Łukasz Żółć")},
		{"text", m.pick(
			"明天下午三点，在“码头”见面！🚢⚓️", "会議は10時から。資料：第３版（最終）👩‍💻", "내일 오후 3시에 만나요 🎉🎉", "Grüße aus Zürich – 20 € für 🧀, naïve café ✅", "全角：ＡＢＣ　１２３；半角:abc 123",
		)},
	})
}

func code(m *maker) {
	m.offer("run_snippet", "Runs a program.", `"language":{"type":"string","enum":["python","javascript","bash"]},"code":{"type":"string"}`, "language", "code")
	language := m.pick("python", "javascript", "bash")
	program := map[string]string{
		"python":     "def f(x):\n    return {\"n\": x, 'twice': [x, x * 2]}\n\nprint(f\"{f(%d)}\\n\")\n",
		"javascript": "const f = (x) => `${x}: \"${x * 2}\"`;\nconsole.log(f(%d), /\\d+\\/\\w/.test('a\\\\b'));\n",
		"bash":       "for i in 1 2 %d; do\n\techo \"n=$i\" | sed 's/\\(n\\)=/\\1: /'\ndone\n",
	}[language]
	m.want("Run a program.", "run_snippet", object{{"language", language}, {"code", fmt.Sprintf(program, m.between(3, 99))}})
}

func choice(m *maker) {
	account := `"account":{"type":"string"}`
	m.offer("open_account", "Opens an account.", account, "account")
	m.offer("close_account", "Closes an account for good.", account, "account")
	m.offer("freeze_account", "Freezes an account until it is unfrozen.", account, "account")
	m.offer("list_accounts", "Lists all accounts.", "")
	m.offer("rename_account", "Gives an account another name.", account+`,"name":{"type":"string"}`, "account", "name")
	id := fmt.Sprintf("ACC-%d", m.between(1000, 9999))
	tool, words := "close_account", "The account %s is not needed any more and never will be. Do the one thing that ends it."
	switch m.IntN(3) {
	case 1:
		tool, words = "freeze_account", "Nobody is to use the account %s until we have looked into it; it will be used again later. Do the one thing that stops it for now."
	case 2:
		tool, words = "open_account", "There is no account %s yet. Do the one thing that makes it."
	}
	m.expect(tool, object{{"account", id}})
	m.say(fmt.Sprintf(words, id))
}

func noArguments(m *maker) {
	m.offer("read_clock", "Tells the time.", "")
	m.offer("set_clock", "Sets the clock.", `"hour":{"type":"integer"}`, "hour")
	m.expect("read_clock", object{})
	m.say(m.pick("What time is it now? Ask the clock.", "Read the clock.", "Find out what time it is."))
}

func parallel(m *maker) {
	m.offer("get_weather", "Tells the weather of one city.", `"city":{"type":"string"},"unit":{"type":"string","enum":["celsius","fahrenheit"]}`, "city", "unit")
	unit := m.pick("celsius", "fahrenheit")
	var names []string
	for _, city := range m.some(2+m.IntN(2), cities...) {
		m.expect("get_weather", object{{"city", city}, {"unit", unit}})
		names = append(names, city.(string))
	}
	m.say(fmt.Sprintf("Get the weather of %s in %s: one call of get_weather for each city, all of them now, in this one answer.", strings.Join(names, " and of "), unit))
}

// history is a conversation that another provider began: its id is in none of the
// forms that strict endpoints ask for.
func history(m *maker) {
	m.offer("find_booking", "Finds the code of a booking.", `"guest":{"type":"string"}`, "guest")
	m.offer("cancel_booking", "Cancels a booking by its code.", `"code":{"type":"string"}`, "code")
	guest, booking := m.person(), fmt.Sprintf("BK%d-%c", m.between(10_000, 99_999), 'A'+rune(m.IntN(26)))
	m.say("Cancel the booking of " + guest + ".")
	id := fmt.Sprintf("call_%016x", m.Uint64())
	m.out.Request.Messages = append(m.out.Request.Messages,
		provider.Message{Role: provider.RoleAssistant, Calls: []provider.Call{{ID: id, Name: "find_booking", Arguments: string(object{{"guest", guest}}.json())}}},
		provider.Message{Role: provider.RoleTool, CallID: id, Name: "find_booking", Content: string(object{{"guest", guest}, {"code", booking}, {"nights", m.between(1, 9)}}.json())})
	m.expect("cancel_booking", object{{"code", booking}})
}

func noTool(m *maker) {
	m.offer("get_weather", "Tells the weather of one city.", `"city":{"type":"string"}`, "city")
	m.offer("save_note", "Saves a note.", noteSchema, "title", "text")
	a, b := m.between(2, 9), m.between(2, 9)
	m.say(fmt.Sprintf("What is %d plus %d? Answer with the number alone.", a, b))
}
