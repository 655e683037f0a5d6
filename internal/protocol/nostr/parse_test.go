package nostr_test

import (
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

func TestParseEventFields(t *testing.T) {
	e := parsed(t, eventText(map[string]string{
		"tags":    `[["d","a\u0062"],[],["x","","\ud83d\ude00"]]`,
		"content": `"\"\\\/\b\f\n\r\t\u00e9\u2028\uFFFF\u0000` + "\u2029\x7f" + `"`,
	}))
	want := &nostr.Event{CreatedAt: 1700000000, Kind: 1, Tags: nostr.Tags{{"d", "ab"}, {}, {"x", "", "😀"}},
		Content: "\"\\/\b\f\n\r\té\u2028\uffff\x00\u2029\x7f"}
	for i := range 32 {
		want.ID[i], want.PubKey[i], want.Sig[i], want.Sig[i+32] = 0xab, 0xcd, 0xef, 0xef
	}
	if got := e.Clone(); !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	limits := parsed(t, eventText(map[string]string{"created_at": "9223372036854775807", "kind": "65535", "tags": "[]"}))
	if limits.CreatedAt != math.MaxInt64 || limits.Kind != 65535 || len(limits.Tags) != 0 {
		t.Errorf("at the limits: %+v", limits)
	}
}

func TestParseEventRefuses(t *testing.T) {
	hex64 := strings.Repeat("ab", 32)
	field := func(key, value string) string { return eventText(map[string]string{key: value}) }
	tests := []struct{ name, text, want string }{
		{"nothing", "", "'{' expected"},
		{"an array", "[]", "'{' expected"},
		{"cut off", eventText(nil)[:20], "id: string without end"},
		{"data after the end", eventText(nil) + "x", "after the end"},
		{"two objects", eventText(nil) + eventText(nil), "after the end"},
		{"trailing comma", strings.Replace(eventText(nil), "}", ",}", 1), "string expected"},
		{"missing comma", strings.Replace(eventText(nil), `,"kind"`, ` "kind"`, 1), "',' expected"},
		{"missing colon", strings.Replace(eventText(nil), `"kind":`, `"kind"`, 1), "':' expected"},
		{"no id", field("id", ""), "id: missing"},
		{"no pubkey", field("pubkey", ""), "pubkey: missing"},
		{"no created_at", field("created_at", ""), "created_at: missing"},
		{"no kind", field("kind", ""), "kind: missing"},
		{"no tags", field("tags", ""), "tags: missing"},
		{"no content", field("content", ""), "content: missing"},
		{"no sig", field("sig", ""), "sig: missing"},
		{"key twice", strings.Replace(eventText(nil), "{", `{"kind":1,`, 1), "kind: key given twice"},
		{"key twice, once escaped", strings.Replace(eventText(nil), "{", `{"k\u0069nd":1,`, 1), "kind: key given twice"},
		{"upper-case id", field("id", `"`+strings.ToUpper(hex64)+`"`), "id: not lower-case hex"},
		{"upper-case pubkey", field("pubkey", `"`+strings.ToUpper(hex64)+`"`), "pubkey: not lower-case hex"},
		{"upper-case sig", field("sig", `"`+strings.ToUpper(hex64+hex64)+`"`), "sig: not lower-case hex"},
		{"short id", field("id", `"`+hex64[2:]+`"`), "id: not lower-case hex"},
		{"short sig", field("sig", `"`+hex64+`"`), "sig: not lower-case hex"},
		{"long pubkey", field("pubkey", `"`+hex64+`ab"`), "pubkey: not lower-case hex"},
		{"id is null", field("id", "null"), "id: string expected"},
		{"negative time", field("created_at", "-1"), "created_at: negative"},
		{"minus zero", field("created_at", "-0"), "created_at: negative"},
		{"time is a fraction", field("created_at", "1.0"), "created_at: number is not an integer"},
		{"time with an exponent", field("created_at", "1e9"), "created_at: number is not an integer"},
		{"time with an upper-case exponent", field("created_at", "1E9"), "created_at: number is not an integer"},
		{"time in quotes", field("created_at", `"1700000000"`), "created_at: integer expected"},
		{"time is null", field("created_at", "null"), "created_at: integer expected"},
		{"time just beyond int64", field("created_at", "9223372036854775808"), "created_at: number too large"},
		{"time far beyond int64", field("created_at", strings.Repeat("9", 400)), "created_at: number too large"},
		{"time beyond uint64", field("created_at", "18446744073709551617"), "created_at: number too large"},
		{"time with leading zero", field("created_at", "01"), "created_at: number with a leading zero"},
		{"time in hex", field("created_at", "0x10"), "',' expected"},
		{"kind too large", field("kind", "65536"), "kind: number too large"},
		{"negative kind", field("kind", "-1"), "kind: negative"},
		{"kind in quotes", field("kind", `"1"`), "kind: integer expected"},
		{"kind true", field("kind", "true"), "kind: integer expected"},
		{"tags null", field("tags", "null"), "tags: '[' expected"},
		{"tags object", field("tags", "{}"), "tags: '[' expected"},
		{"tag is a string", field("tags", `["a"]`), "tags: '[' expected"},
		{"tag with number", field("tags", `[["a",1]]`), "tags: string expected"},
		{"tag with null", field("tags", `[["a",null]]`), "tags: string expected"},
		{"tag in tag", field("tags", `[[["a"]]]`), "tags: string expected"},
		{"tag with trailing comma", field("tags", `[["a",]]`), "tags: string expected"},
		{"tags with trailing comma", field("tags", `[["a"],]`), "tags: '[' expected"},
		{"tags with leading comma", field("tags", `[,["a"]]`), "tags: '[' expected"},
		{"tags without end", field("tags", `[["a"]`), "expected"},
		{"bad escape in tag", field("tags", `[["\x"]]`), "tags: invalid escape"},
		{"content null", field("content", "null"), "content: string expected"},
		{"content with raw newline", field("content", "\"a\nb\""), "content: control byte"},
		{"content with raw NUL", field("content", "\"a\x00b\""), "content: control byte"},
		{"content with raw 0x1f", field("content", "\"12345678\x1f\""), "content: control byte"},
		{"invalid UTF-8 in content", field("content", "\"\xff\""), "content: invalid UTF-8"},
		{"cut UTF-8 in content", field("content", "\"1234567890\xe2\x82\""), "content: invalid UTF-8"},
		{"overlong UTF-8", field("content", "\"\xc0\x80\""), "content: invalid UTF-8"},
		{"surrogate in UTF-8", field("content", "\"\xed\xa0\x80\""), "content: invalid UTF-8"},
		{"invalid UTF-8 in tag", field("tags", "[[\"\x80\"]]"), "tags: invalid UTF-8"},
		{"invalid UTF-8 in key", strings.Replace(eventText(nil), "{", "{\"\xff\":1,", 1), "invalid UTF-8"},
		{"invalid UTF-8 in unknown value", strings.Replace(eventText(nil), "{", "{\"x\":\"\xff\",", 1), "x: invalid UTF-8"},
		{"invalid UTF-8 after an escape", field("content", "\"\\n\xff\""), "content: invalid UTF-8"},
		{"invalid UTF-8 hidden by a backslash", field("content", "\"\\\xff\""), "content: invalid"},
		{"lone high surrogate", field("content", `"\ud83d"`), "content: half a surrogate pair"},
		{"lone low surrogate", field("content", `"\ude00"`), "content: half a surrogate pair"},
		{"two high surrogates", field("content", `"\ud83d\ud83d"`), "content: half a surrogate pair"},
		{"swapped surrogates", field("content", `"\ude00\ud83d"`), "content: half a surrogate pair"},
		{"high surrogate and text", field("content", `"\ud83dxxxxxx"`), "content: half a surrogate pair"},
		{"high surrogate and another escape", field("content", `"\ud83d\n\n\n"`), "content: half a surrogate pair"},
		{"lone surrogate in tag", field("tags", `[["\udc00"]]`), "tags: half a surrogate pair"},
		{"lone surrogate in unknown value", strings.Replace(eventText(nil), "{", `{"x":"\udc00",`, 1), "x: half a surrogate pair"},
		{"lone surrogate in key", strings.Replace(eventText(nil), "{", `{"\udc00":0,`, 1), "half a surrogate pair"},
		{"short unicode escape", field("content", `"\u12"`), "content: invalid escape"},
		{"unicode escape that is not hex", field("content", `"\u12g4"`), "content: invalid escape"},
		{"upper-case U", field("content", `"\U1234"`), "content: invalid escape"},
		{"unknown escape", field("content", `"\a"`), "content: invalid escape"},
		{"escaped end", field("content", `"\"`), "',' expected"},
		{"bare word", field("content", `hello`), "content: string expected"},
		{"comment", strings.Replace(eventText(nil), "{", "{/**/", 1), "string expected"},
		{"byte order mark", "\ufeff" + eventText(nil), "'{' expected"},
		{"form feed as space", "\f" + eventText(nil), "'{' expected"},
		{"non-breaking space", eventText(nil) + "\u00a0", "after the end"},
		{"unknown value missing", strings.Replace(eventText(nil), "{", `{"x":,`, 1), "x: value expected"},
		{"unknown value is a word", strings.Replace(eventText(nil), "{", `{"x":nil,`, 1), "x: value expected"},
		{"unknown value, word too long", strings.Replace(eventText(nil), "{", `{"x":nullx,`, 1), "',' expected"},
		{"unknown number with plus", strings.Replace(eventText(nil), "{", `{"x":+1,`, 1), "x: value expected"},
		{"unknown number, only minus", strings.Replace(eventText(nil), "{", `{"x":-,`, 1), "x: value expected"},
		{"unknown number with leading zero", strings.Replace(eventText(nil), "{", `{"x":-01,`, 1), "x: number with a leading zero"},
		{"unknown number without fraction", strings.Replace(eventText(nil), "{", `{"x":1.,`, 1), "x: digit expected"},
		{"unknown number without exponent", strings.Replace(eventText(nil), "{", `{"x":1e+,`, 1), "x: digit expected"},
		{"unknown brackets mixed", strings.Replace(eventText(nil), "{", `{"x":[1},`, 1), "x: ',' expected"},
		{"unknown brackets mixed and empty", strings.Replace(eventText(nil), "{", `{"x":[},`, 1), "x: value expected"},
		{"unknown braces mixed and empty", strings.Replace(eventText(nil), "{", `{"x":{],`, 1), "x: string expected"},
		{"100-deep arrays", strings.Replace(eventText(nil), "{", `{"x":`+strings.Repeat("[", 100)+strings.Repeat("]", 100)+",", 1), "x: nested too deep"},
		{"17-deep objects", strings.Replace(eventText(nil), "{", `{"x":`+strings.Repeat(`{"y":`, 17)+"1"+strings.Repeat("}", 17)+",", 1), "x: nested too deep"},
		{"a million brackets", strings.Repeat("[", 1_000_000), "'{' expected"},
		{"a million brackets inside", `{"x":` + strings.Repeat("[", 1_000_000), "nested too deep"},
		{"a million objects inside", strings.Repeat(`{"x":`, 1_000_000), "nested too deep"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := nostr.ParseEvent([]byte(tt.text))
			if err == nil || e != nil {
				t.Fatalf("accepted: %+v", e)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("err = %v, want one with %q", err, tt.want)
			}
			if len(err.Error()) > 500 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
		})
	}
}

// TestReceivedBytesAreKept shows when an event is sent as it came and when it is written anew.
func TestReceivedBytesAreKept(t *testing.T) {
	plain := eventText(nil)
	reordered := `{"kind":1,"sig":"` + strings.Repeat("ef", 64) + `","tags":[["t","\u0078"]],"content":"hell\u006f","created_at":1700000000,` +
		`"pubkey":"` + strings.Repeat("cd", 32) + `","id":"` + strings.Repeat("ab", 32) + `"}`
	tests := []struct{ name, text, want string }{
		{"plain", plain, plain},
		{"any order, any escapes", reordered, reordered},
		{"space around", " \n" + plain + "\r\n\t", plain},
		{"space after a colon", strings.Replace(plain, `"kind":`, `"kind": `, 1), plain},
		{"lines", strings.ReplaceAll(plain, ",\"", ",\n\t\""), plain},
		{"space in the tags", strings.Replace(plain, `[["t","x"]]`, `[ ["t" ,"x"]]`, 1), plain},
		{"space before the end", plain[:len(plain)-1] + " }", plain},
		{"escaped key", strings.Replace(plain, `"kind"`, `"\u006bind"`, 1), plain},
		{"unknown key", strings.Replace(plain, "{", `{"relays":["wss://x",{"a":[1.5e3,true,false,null,-0.1]}],`, 1), plain},
		{"unknown key last", plain[:len(plain)-1] + `,"x":1}`, plain},
		{"unknown empty key", strings.Replace(plain, "{", `{"":{},`, 1), plain},
		{"unknown key twice", strings.Replace(plain, "{", `{"x":1,"x":2,`, 1), plain},
		{"key in another case", strings.Replace(plain, "{", `{"Kind":7,`, 1), plain},
		{"unknown value 16 deep", strings.Replace(plain, "{", `{"x":`+strings.Repeat("[", 16)+strings.Repeat("]", 16)+",", 1), plain},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := parsed(t, tt.text)
			if got := string(e.AppendJSON([]byte("x"))); got != "x"+tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if e.Size() != len(tt.want) {
				t.Errorf("Size = %d, want %d", e.Size(), len(tt.want))
			}
			if !reflect.DeepEqual(e.Clone(), parsed(t, plain).Clone()) {
				t.Errorf("read as %+v", e)
			}
		})
	}
}

// TestReceivedBytesAreKeptInAFrame has space around the event and none in it.
func TestReceivedBytesAreKeptInAFrame(t *testing.T) {
	text := eventText(map[string]string{"content": `"\u0078"`})
	m, err := nostr.ParseClient([]byte(` [ "EVENT" , ` + text + " ]\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(m.(nostr.EventMsg).Event.AppendJSON(nil)); got != text {
		t.Errorf("\n got %s\nwant %s", got, text)
	}
}

// TestParsedSharesNoMemory overwrites the buffers that messages were parsed from.
func TestParsedSharesNoMemory(t *testing.T) {
	event := eventText(map[string]string{"tags": `[["t","x"],["p","a\nb"]]`, "content": `"some\ttext"`})
	filter := `{"ids":["` + strings.Repeat("ab", 32) + `"],"#t":["value","esc\naped"],"search":"words"}`
	client := []string{`["EVENT",` + event + `]`, `["REQ","sub",` + filter + `]`, `["CLOSE","sub"]`,
		`["NEG-OPEN","sub",` + filter + `,"6161"]`, `["NEG-MSG","sub","6161"]`}
	relay := []string{`["EVENT","sub",` + event + `]`, `["OK","` + strings.Repeat("ab", 32) + `",true,"reason"]`, `["NOTICE","text"]`,
		`["CLOSED","sub","reason"]`, `["NEG-ERR","sub","reason"]`, `["NEG-ERROR","sub","raw "reason""]`, `["AUTH","challenge"]`,
		`["NEG-MSG","sub","6161"]`, `["EOSE","sub"]`, `["COUNT","sub",{"count":7}]`}
	check := func(text string, parse func([]byte) (any, error)) {
		t.Helper()
		want, err := parse([]byte(text))
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		buf := []byte(text)
		got, err := parse(buf)
		if err != nil {
			t.Fatal(err)
		}
		copy(buf, slices.Repeat([]byte{'Z'}, len(buf)))
		if !reflect.DeepEqual(got, want) {
			t.Errorf("changed with its buffer: %s", text)
		}
	}
	check(event, func(b []byte) (any, error) { return nostr.ParseEvent(b) })
	check(filter, func(b []byte) (any, error) { return nostr.ParseFilter(b) })
	for _, text := range client {
		check(text, func(b []byte) (any, error) { return nostr.ParseClient(b) })
	}
	for _, text := range relay {
		check(text, func(b []byte) (any, error) { return nostr.ParseRelay(b) })
	}
}

// TestTagsAreApart appends to a tag, which must not reach into the next.
func TestTagsAreApart(t *testing.T) {
	e := parsed(t, eventText(map[string]string{"tags": `[["a","1"],["b","2"]]`}))
	if longer := append(e.Tags[0], "x"); e.Tags[1][0] != "b" || len(longer) != 3 {
		t.Errorf("the second tag is %q", e.Tags[1])
	}
}

// TestSmallValuesKeepNoLargeFrame holds on to what large frames contained and looks at what stays in memory.
func TestSmallValuesKeepNoLargeFrame(t *testing.T) {
	pad := strings.Repeat(" ", 1<<20)
	tests := []struct {
		name  string
		parse func() (any, error)
	}{
		{"event", func() (any, error) { return nostr.ParseEvent([]byte(pad + eventText(nil))) }},
		{"event with an unknown key", func() (any, error) {
			return nostr.ParseEvent([]byte(strings.Replace(eventText(nil), "{", `{"x":"`+pad+`",`, 1)))
		}},
		{"client event", func() (any, error) { return nostr.ParseClient([]byte(`["EVENT",` + eventText(nil) + pad + "]")) }},
		{"relay event", func() (any, error) { return nostr.ParseRelay([]byte(`["EVENT","s",` + pad + eventText(nil) + "]")) }},
		{"filter", func() (any, error) { return nostr.ParseFilter([]byte(pad + `{"#d":["x"],"search":"y"}`)) }},
		{"request", func() (any, error) { return nostr.ParseClient([]byte(`["REQ","s",{"#d":["x"]}` + pad + `]`)) }},
		{"close", func() (any, error) { return nostr.ParseClient([]byte(`["CLOSE","s"` + pad + `]`)) }},
		{"error", func() (any, error) {
			_, err := nostr.ParseClient([]byte(`["CLOSE",` + pad + `"s"x]`))
			return err, nil
		}},
		{"notice", func() (any, error) { return nostr.ParseRelay([]byte(`["NOTICE",` + pad + `"s"]`)) }},
		{"closed", func() (any, error) { return nostr.ParseRelay([]byte(`["CLOSED",` + pad + `"s","r"]`)) }},
		{"negentropy error", func() (any, error) { return nostr.ParseRelay([]byte(`["NEG-ERROR",` + pad + `"s",""r""]`)) }},
		{"not a string", func() (any, error) { return nostr.ParseRelay([]byte(`["NOTICE",` + pad + `7]`)) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const n = 8
			before := heap()
			var kept [n]any
			for i := range kept {
				v, err := tt.parse()
				if err != nil {
					t.Fatal(err)
				}
				kept[i] = v
			}
			if grown := heap() - before; grown > n<<20/4 {
				t.Errorf("%d bytes stay for each of %d values", grown/n, n)
			}
			runtime.KeepAlive(kept)
		})
	}
}

// heap is the number of bytes in use after a collection.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
