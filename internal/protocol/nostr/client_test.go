package nostr_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
	"github.com/graspd/graspd/internal/test/testkit"
)

// writeClient is the frame of a client's message.
func writeClient(m nostr.ClientMessage) []byte {
	switch m := m.(type) {
	case nostr.EventMsg:
		return nostr.AppendEventMsg(nil, m.Event)
	case nostr.Auth:
		return nostr.AppendAuth(nil, m.Event)
	case nostr.Req:
		return nostr.AppendReq(nil, m.Sub, m.Filters...)
	case nostr.Count:
		return testkit.Count(m.Sub, m.Filters...)
	case nostr.Close:
		return nostr.AppendClose(nil, m.Sub)
	case nostr.NegOpen:
		return nostr.AppendNegOpen(nil, m.Sub, m.Filter, m.Msg)
	case nostr.NegMsg:
		return nostr.AppendNegMsg(nil, m.Sub, m.Msg)
	case nostr.NegClose:
		return nostr.AppendNegClose(nil, m.Sub)
	}
	return nil
}

func TestClientFrames(t *testing.T) {
	event := eventText(nil)
	e := parsed(t, event)
	one, two := nostr.Filter{Kinds: []nostr.Kind{1}}, nostr.Filter{Limit: new(0)}
	tests := []struct {
		name, frame string
		want        nostr.ClientMessage
	}{
		{"event", `["EVENT",` + event + `]`, nostr.EventMsg{Event: e}},
		{"auth", `["AUTH",` + event + `]`, nostr.Auth{Event: e}},
		{"req", `["REQ","a\"b",{"kinds":[1]},{"limit":0}]`, nostr.Req{Sub: `a"b`, Filters: []nostr.Filter{one, two}}},
		{"count", `["COUNT","s",{"kinds":[1]}]`, nostr.Count{Sub: "s", Filters: []nostr.Filter{one}}},
		{"close", `["CLOSE","s"]`, nostr.Close{Sub: "s"}},
		{"neg-open", `["NEG-OPEN","s",{"kinds":[1]},"6100000200"]`, nostr.NegOpen{Sub: "s", Filter: one, Msg: []byte{0x61, 0, 0, 2, 0}}},
		{"neg-msg", `["NEG-MSG","s","61ff"]`, nostr.NegMsg{Sub: "s", Msg: []byte{0x61, 0xff}}},
		{"neg-close", `["NEG-CLOSE","s"]`, nostr.NegClose{Sub: "s"}},
		{"longest sub", `["CLOSE","` + strings.Repeat("é", 64) + `"]`, nostr.Close{Sub: strings.Repeat("é", 64)}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(writeClient(tt.want)); got != tt.frame {
				t.Errorf("written\n%s, want\n%s", got, tt.frame)
			}
			got, err := nostr.ParseClient([]byte(tt.frame))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("read %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
	tolerated := map[string]nostr.ClientMessage{
		" [ \"CLOSE\" ,\n\t\"s\" ] \r\n":                              nostr.Close{Sub: "s"},
		`["CLOSE","s",null,{"x":[1]}]`:                                nostr.Close{Sub: "s"},
		`["NEG-CLOSE","s",1]`:                                         nostr.NegClose{Sub: "s"},
		`["NEG-MSG","s","61FF"]`:                                      nostr.NegMsg{Sub: "s", Msg: []byte{0x61, 0xff}},
		`["EVENT",` + event + `,"wss://x"]`:                           nostr.EventMsg{Event: e},
		`["\u0045VENT",` + strings.Replace(event, ":", ": ", 1) + `]`: nostr.EventMsg{Event: e},
	}
	for frame, want := range tolerated {
		if got, err := nostr.ParseClient([]byte(frame)); err != nil || !reflect.DeepEqual(writeClient(got), writeClient(want)) {
			t.Errorf("%s: %+v, %v", frame, got, err)
		}
	}
}

func TestClientFramesRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	for range 2000 {
		sub := "s" + randomText(r)
		msg := make([]byte, r.IntN(5))
		fill(r, msg)
		filters := []nostr.Filter{randomFilter(r), randomFilter(r)}[:1+r.IntN(2)]
		event := parsed(t, string(randomEvent(r).AppendJSON(nil)))
		for _, want := range []nostr.ClientMessage{
			nostr.EventMsg{Event: event}, nostr.Auth{Event: event}, nostr.Req{Sub: sub, Filters: filters}, nostr.Count{Sub: sub, Filters: filters},
			nostr.Close{Sub: sub}, nostr.NegOpen{Sub: sub, Filter: filters[0], Msg: msg}, nostr.NegMsg{Sub: sub, Msg: msg}, nostr.NegClose{Sub: sub},
		} {
			frame := writeClient(want)
			if got, err := nostr.ParseClient(frame); len(sub) <= 64 && (err != nil || !reflect.DeepEqual(got, want)) {
				t.Fatalf("%s\n got %+v, %v\nwant %+v", frame, got, err, want)
			}
		}
	}
}

// TestClientErrors shows what is known of a bad frame, and the answer that it gets.
func TestClientErrors(t *testing.T) {
	id := strings.Repeat("ab", 32)
	notice := func(text string) string { return `["NOTICE","` + text }
	refused := `["OK","` + id + `",false,"invalid: `
	bad := func(key, value string) string { return eventText(map[string]string{key: value}) }
	sig := `"sig":"` + strings.Repeat("ef", 64) + `"`
	tests := []struct{ name, frame, verb, reply string }{
		{"nothing", ``, "", notice("invalid: '[' expected")},
		{"object", `{}`, "", notice("invalid: '[' expected")},
		{"empty array", `[]`, "", notice("invalid: string expected")},
		{"verb is a number", `[1]`, "", notice("invalid: string expected")},
		{"unknown verb", `["HELLO","x"]`, "", notice(`invalid: unknown verb \"HELLO\"`)},
		{"verb in lower case", `["req","x",{}]`, "", notice(`invalid: unknown verb \"req\"`)},
		{"relay's verb", `["EOSE","x"]`, "", notice(`invalid: unknown verb \"EOSE\"`)},
		{"binary", "\x00\x01\xff", "", notice("invalid: '[' expected")},
		{"a million brackets", strings.Repeat("[", 1_000_000), "", notice("invalid: string expected")},
		{"event missing", `["EVENT"]`, "EVENT", notice("invalid: ',' expected")},
		{"event is a string", `["EVENT","x"]`, "EVENT", notice("invalid: '{' expected")},
		{"event without id", `["EVENT",` + bad("id", "") + `]`, "EVENT", notice("invalid: id: missing")},
		{"event with bad id", `["EVENT",` + bad("id", `"xyz"`) + `]`, "EVENT", notice("invalid: id: not lower-case hex")},
		{"event with upper-case id", `["EVENT",` + bad("id", `"`+strings.ToUpper(id)+`"`) + `]`, "EVENT", notice("invalid: id: not")},
		{"event with bad kind", `["EVENT",` + bad("kind", "-1") + `]`, "EVENT", refused + "kind: negative number at byte "},
		{"event without sig", `["EVENT",` + bad("sig", "") + `]`, "EVENT", refused + "sig: missing"},
		{"event with the id last", `["EVENT",{"kind":"1",` + sig + `,"id":"` + id + `"}]`, "EVENT", refused + "kind: integer expected"},
		{"event cut off after its id", `["EVENT",{"id":"` + id + `","kind":1`, "EVENT", refused + "',' expected"},
		{"event with two ids", strings.Replace(`["EVENT",`+eventText(nil)+`]`, `"kind"`, `"id":"`+hexB+`","kind"`, 1), "EVENT", refused + "id: key given twice"},
		{"event with surrogate", `["EVENT",` + bad("content", `"\ud800"`) + `]`, "EVENT", refused + "content: half a surrogate pair"},
		{"event with invalid UTF-8", `["EVENT",` + bad("content", "\"\xff\"") + `]`, "EVENT", refused + "content: invalid UTF-8"},
		{"event, then rubbish", `["EVENT",` + eventText(nil) + `]x`, "EVENT", refused + "data after the end"},
		{"event not closed", `["EVENT",` + eventText(nil), "EVENT", refused + "',' expected"},
		{"auth with bad time", `["AUTH",` + bad("created_at", `"1"`) + `]`, "AUTH", refused + "created_at: integer expected"},
		{"auth with a challenge", `["AUTH","challenge"]`, "AUTH", notice("invalid: '{' expected")},
		{"sub missing", `["REQ"]`, "REQ", notice("invalid: subscription id: ',' expected")},
		{"sub empty", `["REQ","",{}]`, "REQ", notice("invalid: subscription id: empty")},
		{"sub too long", `["REQ","` + strings.Repeat("x", 65) + `",{}]`, "REQ", notice("invalid: subscription id: longer than 64 characters")},
		{"sub is a number", `["REQ",1,{}]`, "REQ", notice("invalid: subscription id: string expected")},
		{"no filter", `["REQ","s"]`, "REQ", `["CLOSED","s","invalid: filter expected`},
		{"filter is an array", `["REQ","s",[{}]]`, "REQ", `["CLOSED","s","invalid: filter 1: '{' expected`},
		{"second filter bad", `["REQ","s",{},{"kinds":1}]`, "REQ", `["CLOSED","s","invalid: filter 2: kinds: '[' expected`},
		{"unknown key", `["REQ","s",{"foo":1}]`, "REQ", `["CLOSED","s","unsupported: filter 1: foo: unknown filter key"]`},
		{"multi-letter tag", `["COUNT","s",{"#ab":["x"]}]`, "COUNT", `["CLOSED","s","unsupported: filter 1: #ab: unknown filter key"]`},
		{"too many filters", `["REQ","s"` + strings.Repeat(",{}", nostr.MaxFilters+1) + `]`, "REQ", `["CLOSED","s","invalid: more than 256 filters"]`},
		{"rubbish after the filter", `["REQ","s",{} {}]`, "REQ", `["CLOSED","s","invalid: ',' expected`},
		{"close without sub", `["CLOSE"]`, "CLOSE", notice("invalid: subscription id: ',' expected")},
		{"close not closed", `["CLOSE","s"`, "CLOSE", notice("invalid: ',' expected")},
		{"neg-open with an array", `["NEG-OPEN","s",[{}],"61"]`, "NEG-OPEN", `["NEG-ERR","s","invalid: filter: '{' expected`},
		{"neg-open with unknown key", `["NEG-OPEN","s",{"x":1},"61"]`, "NEG-OPEN", `["NEG-ERR","s","unsupported: filter: x: unknown filter key"]`},
		{"neg-open without message", `["NEG-OPEN","s",{}]`, "NEG-OPEN", `["NEG-ERR","s","invalid: ',' expected`},
		{"neg-open with bad hex", `["NEG-OPEN","s",{},"6x"]`, "NEG-OPEN", `["NEG-ERR","s","invalid: negentropy message: not hex"]`},
		{"neg-msg with odd hex", `["NEG-MSG","s","616"]`, "NEG-MSG", `["NEG-ERR","s","invalid: negentropy message: not hex"]`},
		{"neg-msg with a number", `["NEG-MSG","s",61]`, "NEG-MSG", `["NEG-ERR","s","invalid: negentropy message: string expected`},
		{"neg-msg without sub", `["NEG-MSG"]`, "NEG-MSG", notice("invalid: subscription id: ',' expected")},
		{"neg-close without sub", `["NEG-CLOSE",""]`, "NEG-CLOSE", notice("invalid: subscription id: empty")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := nostr.ParseClient([]byte(tt.frame))
			e, ok := errors.AsType[*nostr.MessageError](err)
			if m != nil || !ok {
				t.Fatalf("read %+v, err = %v", m, err)
			}
			if e.Verb != tt.verb {
				t.Errorf("verb = %q, want %q", e.Verb, tt.verb)
			}
			reply := string(e.AppendReply(nil))
			if !strings.HasPrefix(reply, tt.reply) {
				t.Errorf("answer %s, want %s", reply, tt.reply)
			}
			if _, err := nostr.ParseRelay([]byte(reply)); err != nil || len(reply) > 500 {
				t.Errorf("the answer is no message of a relay, or too long: %v", err)
			}
			if !strings.Contains(e.Error(), e.Reason) || !strings.HasPrefix(e.Error(), tt.verb) {
				t.Errorf("the error reads %q", e)
			}
			if errors.Is(err, nostr.ErrUnsupported) != strings.HasPrefix(e.Reason, "unsupported: ") {
				t.Errorf("the cause is lost: %v", err)
			}
		})
	}
}
