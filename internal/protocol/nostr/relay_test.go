package nostr_test

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// writeRelay is the frame of a relay's message.
func writeRelay(m nostr.RelayMessage) []byte {
	switch m := m.(type) {
	case nostr.RelayEvent:
		return nostr.AppendRelayEvent(nil, m.Sub, m.Event.AppendJSON(nil))
	case nostr.OK:
		return nostr.AppendOK(nil, m.ID, m.OK, m.Reason)
	case nostr.EOSE:
		return nostr.AppendEOSE(nil, m.Sub)
	case nostr.Closed:
		return nostr.AppendClosed(nil, m.Sub, m.Reason)
	case nostr.Notice:
		return nostr.AppendNotice(nil, m.Text)
	case nostr.AuthChallenge:
		return nostr.AppendAuthChallenge(nil, m.Challenge)
	case nostr.CountResult:
		return nostr.AppendCountResult(nil, m.Sub, m.Count)
	case nostr.NegMsg:
		return nostr.AppendNegMsg(nil, m.Sub, m.Msg)
	case nostr.NegErr:
		return nostr.AppendNegErr(nil, m.Sub, m.Reason, m.Max)
	case nostr.NegClose:
		return nostr.AppendNegClose(nil, m.Sub)
	}
	return nil
}

func TestRelayFrames(t *testing.T) {
	event := eventText(nil)
	e := parsed(t, event)
	id := e.ID.String()
	tests := []struct {
		name, frame string
		want        nostr.RelayMessage
	}{
		{"event", `["EVENT","s",` + event + `]`, nostr.RelayEvent{Sub: "s", Event: e}},
		{"ok", `["OK","` + id + `",true,""]`, nostr.OK{ID: e.ID, OK: true}},
		{"not ok", `["OK","` + id + `",false,"blocked: \"x\""]`, nostr.OK{ID: e.ID, Reason: `blocked: "x"`}},
		{"eose", `["EOSE","s"]`, nostr.EOSE{Sub: "s"}},
		{"closed", `["CLOSED","s","error: x"]`, nostr.Closed{Sub: "s", Reason: "error: x"}},
		{"notice", `["NOTICE","a\nb"]`, nostr.Notice{Text: "a\nb"}},
		{"auth", `["AUTH","ch"]`, nostr.AuthChallenge{Challenge: "ch"}},
		{"count", `["COUNT","s",{"count":7}]`, nostr.CountResult{Sub: "s", Count: 7}},
		{"neg-msg", `["NEG-MSG","s","61"]`, nostr.NegMsg{Sub: "s", Msg: []byte{0x61}}},
		{"neg-err", `["NEG-ERR","s","closed: x"]`, nostr.NegErr{Sub: "s", Reason: "closed: x"}},
		{"neg-err with maximum", `["NEG-ERR","s","blocked: too many query results",1000000]`,
			nostr.NegErr{Sub: "s", Reason: "blocked: too many query results", Max: 1000000}},
		{"neg-close", `["NEG-CLOSE","s"]`, nostr.NegClose{Sub: "s"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := string(writeRelay(tt.want)); got != tt.frame {
				t.Errorf("written\n%s, want\n%s", got, tt.frame)
			}
			got, err := nostr.ParseRelay([]byte(tt.frame))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("read %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

// TestRelayFramesOfRealRelays has what is not by the book and yet clear.
func TestRelayFramesOfRealRelays(t *testing.T) {
	e := parsed(t, eventText(nil))
	id := e.ID.String()
	tests := []struct {
		name, frame string
		want        nostr.RelayMessage
	}{
		{"spaces", "\n [ \"EOSE\" , \"s\" ]\t", nostr.EOSE{Sub: "s"}},
		{"event with spaces", `["EVENT", "s", ` + strings.Replace(eventText(nil), ",", ", ", 1) + `]`, nostr.RelayEvent{Sub: "s", Event: e}},
		{"event and more", `["EVENT","s",` + eventText(nil) + `,{"x":[]}]`, nostr.RelayEvent{Sub: "s", Event: e}},
		{"ok without reason", `["OK","` + id + `",true]`, nostr.OK{ID: e.ID, OK: true}},
		{"ok with null", `["OK","` + id + `",false,null]`, nostr.OK{ID: e.ID}},
		{"ok and more", `["OK","` + id + `",true,"",1]`, nostr.OK{ID: e.ID, OK: true}},
		{"eose and more", `["EOSE","s",null]`, nostr.EOSE{Sub: "s"}},
		{"empty sub", `["EOSE",""]`, nostr.EOSE{}},
		{"closed without reason", `["CLOSED","s"]`, nostr.Closed{Sub: "s"}},
		{"closed with an empty reason", `["CLOSED","s",""]`, nostr.Closed{Sub: "s"}},
		{"notice without text", `["NOTICE"]`, nostr.Notice{}},
		{"notice that is an object", `["NOTICE",{"error":"x"}]`, nostr.Notice{Text: `{"error":"x"}`}},
		{"notice and more", `["NOTICE","a","b"]`, nostr.Notice{Text: "a"}},
		{"count approximate", `["COUNT","s",{"approximate":true,"count":9,"hll":"00"}]`, nostr.CountResult{Sub: "s", Count: 9}},
		{"neg-msg in upper case", `["NEG-MSG","s","6A"]`, nostr.NegMsg{Sub: "s", Msg: []byte{0x6a}}},
		{"neg-err without reason", `["NEG-ERR","s"]`, nostr.NegErr{Sub: "s"}},
		{"neg-err of old strfry", `["NEG-ERR","s","RESULTS_TOO_BIG",500000]`, nostr.NegErr{Sub: "s", Reason: "RESULTS_TOO_BIG", Max: 500000}},
		{"neg-err with a maximum in words", `["NEG-ERR","s","blocked: x","many"]`, nostr.NegErr{Sub: "s", Reason: "blocked: x"}},
		{"neg-err with a negative maximum", `["NEG-ERR","s","blocked: x",-1]`, nostr.NegErr{Sub: "s", Reason: "blocked: x"}},
		{"neg-error", `["NEG-ERROR","s","CLOSED"]`, nostr.NegErr{Sub: "s", Reason: "CLOSED"}},
		{"neg-error with quotes", `["NEG-ERROR","s","bad "filter" in "x""]`, nostr.NegErr{Sub: "s", Reason: `bad "filter" in "x"`}},
		{"neg-error with brackets", `["NEG-ERROR","s","got ["a"] and "]"]`, nostr.NegErr{Sub: "s", Reason: `got ["a"] and "]`}},
		{"neg-error with backslash", `["NEG-ERROR","s","bad \x escape"]`, nostr.NegErr{Sub: "s", Reason: `bad \x escape`}},
		{"neg-error with a newline", "[\"NEG-ERROR\",\"s\",\"a\nb\"] \n", nostr.NegErr{Sub: "s", Reason: "a\nb"}},
		{"neg-error with bad UTF-8", "[\"NEG-ERROR\",\"s\",\"a\xffb\"]", nostr.NegErr{Sub: "s", Reason: "a\ufffdb"}},
		{"neg-err not escaped either", `["NEG-ERR","s","a "b""]`, nostr.NegErr{Sub: "s", Reason: `a "b"`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := nostr.ParseRelay([]byte(tt.frame))
			if err != nil || !reflect.DeepEqual(got, tt.want) {
				t.Errorf("read %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestRelayErrors(t *testing.T) {
	e := parsed(t, eventText(nil))
	tests := []struct {
		name, frame string
		want        nostr.MessageError
	}{
		{"nothing", "", nostr.MessageError{}},
		{"client's verb", `["REQ","s",{}]`, nostr.MessageError{}},
		{"bad event", `["EVENT","s",` + eventText(map[string]string{"kind": "x"}) + `]`, nostr.MessageError{Verb: "EVENT", Sub: "s", ID: e.ID, HasID: true}},
		{"bad event without id", `["EVENT","s",{}]`, nostr.MessageError{Verb: "EVENT", Sub: "s"}},
		{"event missing", `["EVENT","s"]`, nostr.MessageError{Verb: "EVENT", Sub: "s"}},
		{"event without sub", `["EVENT",` + eventText(nil) + `]`, nostr.MessageError{Verb: "EVENT"}},
		{"ok with bad id", `["OK","x",true,""]`, nostr.MessageError{Verb: "OK"}},
		{"ok without verdict", `["OK","` + e.ID.String() + `"]`, nostr.MessageError{Verb: "OK", ID: e.ID, HasID: true}},
		{"ok with a word", `["OK","` + e.ID.String() + `",truth,""]`, nostr.MessageError{Verb: "OK", ID: e.ID, HasID: true}},
		{"ok with a string", `["OK","` + e.ID.String() + `","true",""]`, nostr.MessageError{Verb: "OK", ID: e.ID, HasID: true}},
		{"eose without sub", `["EOSE"]`, nostr.MessageError{Verb: "EOSE"}},
		{"eose not closed", `["EOSE","s"`, nostr.MessageError{Verb: "EOSE", Sub: "s"}},
		{"closed twice", `["CLOSED","s","x"]]`, nostr.MessageError{Verb: "CLOSED", Sub: "s"}},
		{"count without count", `["COUNT","s",{"approximate":true}]`, nostr.MessageError{Verb: "COUNT", Sub: "s"}},
		{"count that is a number", `["COUNT","s",7]`, nostr.MessageError{Verb: "COUNT", Sub: "s"}},
		{"negative count", `["COUNT","s",{"count":-1}]`, nostr.MessageError{Verb: "COUNT", Sub: "s"}},
		{"neg-msg with bad hex", `["NEG-MSG","s","xx"]`, nostr.MessageError{Verb: "NEG-MSG", Sub: "s"}},
		{"neg-msg without hex", `["NEG-MSG","s"]`, nostr.MessageError{Verb: "NEG-MSG", Sub: "s"}},
		{"neg-error cut off", `["NEG-ERROR","s","a "b`, nostr.MessageError{Verb: "NEG-ERROR", Sub: "s"}},
		{"neg-error that ends early", `["NEG-ERROR","s","`, nostr.MessageError{Verb: "NEG-ERROR", Sub: "s"}},
		{"neg-error with bracket before", `["NEG-ERROR","]","`, nostr.MessageError{Verb: "NEG-ERROR", Sub: "]"}},
		{"neg-error with text after", `["NEG-ERROR","s","a "b""] x`, nostr.MessageError{Verb: "NEG-ERROR", Sub: "s"}},
		{"neg-error with a deep reason", `["NEG-ERROR","s",` + strings.Repeat("[", 1000), nostr.MessageError{Verb: "NEG-ERROR", Sub: "s"}},
		{"notice too deep", `["NOTICE",` + strings.Repeat("[", 1000) + strings.Repeat("]", 1001), nostr.MessageError{Verb: "NOTICE"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := nostr.ParseRelay([]byte(tt.frame))
			e, ok := errors.AsType[*nostr.MessageError](err)
			if m != nil || !ok {
				t.Fatalf("read %+v, err = %v", m, err)
			}
			if e.Verb != tt.want.Verb || e.Sub != tt.want.Sub || e.ID != tt.want.ID || e.HasID != tt.want.HasID {
				t.Errorf("err = %+v, want %+v", e, tt.want)
			}
			if e.Reason == "" || errors.Unwrap(err) == nil {
				t.Errorf("no reason: %+v", e)
			}
		})
	}
}

func TestRelayFramesRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(6, 6))
	for range 2000 {
		sub, text := randomText(r), randomText(r)
		msg := make([]byte, r.IntN(5))
		fill(r, msg)
		event := parsed(t, string(randomEvent(r).AppendJSON(nil)))
		for _, want := range []nostr.RelayMessage{
			nostr.RelayEvent{Sub: sub, Event: event}, nostr.OK{ID: event.ID, OK: r.IntN(2) == 0, Reason: text}, nostr.EOSE{Sub: sub},
			nostr.Closed{Sub: sub, Reason: text}, nostr.Notice{Text: text}, nostr.AuthChallenge{Challenge: text},
			nostr.CountResult{Sub: sub, Count: r.Int64()}, nostr.NegMsg{Sub: sub, Msg: msg}, nostr.NegErr{Sub: sub, Reason: text, Max: r.Int64N(3)},
			nostr.NegClose{Sub: sub},
		} {
			frame := writeRelay(want)
			if got, err := nostr.ParseRelay(frame); err != nil || !reflect.DeepEqual(got, want) {
				t.Fatalf("%s\n got %+v, %v\nwant %+v", frame, got, err, want)
			}
		}
	}
}

// TestWritersRepairText writes reasons that quote what a stranger sent.
func TestWritersRepairText(t *testing.T) {
	for name, frame := range map[string][]byte{
		"ok":     nostr.AppendOK(nil, nostr.ID{}, false, "a\xffb"),
		"closed": nostr.AppendClosed(nil, "s\xff", "a\xffb"),
		"notice": nostr.AppendNotice(nil, "a\xffb"),
		"neg":    nostr.AppendNegErr(nil, "s", "a\xffb", 0),
		"filter": nostr.AppendReq(nil, "s", nostr.Filter{Tags: []nostr.TagFilter{{'d', []string{"a\xffb"}}}}),
	} {
		if !utf8.Valid(frame) || !strings.Contains(string(frame), "a\ufffdb") {
			t.Errorf("%s: %q", name, frame)
		}
	}
}
