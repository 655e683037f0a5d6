package nostr_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// seedEvents are texts near the edges of what an event may be.
func seedEvents() []string {
	return []string{
		eventText(nil),
		eventText(map[string]string{"tags": `[[],["d",""],["e","\u0000\ud83d\ude00"]]`, "content": `"\b\f\n\r\t\"\\\/é"`}),
		eventText(map[string]string{"kind": "65536"}),
		eventText(map[string]string{"created_at": "9223372036854775808"}),
		eventText(map[string]string{"content": `"\ud800"`}),
		strings.Replace(eventText(nil), "{", ` { "x" : [1.5e+3, {"y":null}], `, 1),
		strings.Replace(eventText(nil), "{", `{"k\u0069nd":1,`, 1),
	}
}

func seedFilters() []string {
	return []string{
		`{}`,
		`{"ids":["` + hexA + `"],"authors":[],"kinds":[1,65535],"#e":["` + hexB + `"],"#d":["a:b",""],"since":0,"until":1,"limit":2,"search":"x"}`,
		`{"#ab":[]}`, `{"kinds":[1],"kinds":[1]}`, `{"since":-1}`,
	}
}

func FuzzParseEvent(f *testing.F) {
	for _, s := range seedEvents() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		checkMemory(t, text)
		compareEvent(t, text)
		e, err := nostr.ParseEvent(text)
		if err != nil {
			return
		}
		for _, written := range [][]byte{e.AppendJSON(nil), e.Clone().AppendJSON(nil)} {
			back := parsed(t, string(written))
			if !reflect.DeepEqual(back.Clone(), e.Clone()) || back.ComputeID() != e.ComputeID() || string(back.AppendJSON(nil)) != string(written) {
				t.Errorf("%q\nread %+v\nthen %+v", text, e, back)
			}
		}
	})
}

func FuzzParseFilter(f *testing.F) {
	for _, s := range seedFilters() {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		filter, err := nostr.ParseFilter(text)
		if err != nil {
			return
		}
		if back := parsedFilter(t, string(filter.AppendJSON(nil))); !reflect.DeepEqual(back, filter) {
			t.Errorf("%q\nread %+v\nthen %+v", text, filter, back)
		}
		canonical := parsedFilter(t, filter.Key())
		if !reflect.DeepEqual(canonical, filter.Canonical()) || !canonical.Equal(filter) {
			t.Errorf("%q has the key %s", text, filter.Key())
		}
	})
}

func FuzzParseClient(f *testing.F) {
	for _, s := range seedEvents() {
		f.Add([]byte(`["EVENT",` + s + `]`))
	}
	for _, s := range seedFilters() {
		f.Add([]byte(`["REQ","s",` + s + `,{}]`))
		f.Add([]byte(`["NEG-OPEN","s",` + s + `,"6100"]`))
	}
	for _, s := range []string{`["CLOSE","s",{}]`, `["COUNT","s",{}]`, `["NEG-MSG","s","6"]`, `["NEG-CLOSE","s"]`, `["AUTH",{}]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := nostr.ParseClient(frame)
		if err != nil {
			reply := err.(*nostr.MessageError).AppendReply(nil)
			if _, err := nostr.ParseRelay(reply); err != nil {
				t.Errorf("%q is answered %q: %v", frame, reply, err)
			}
			return
		}
		written := writeClient(m)
		back, err := nostr.ParseClient(written)
		if err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%q\nread %+v\nthen %+v, %v\nfrom %q", frame, m, back, err, written)
		}
	})
}

func FuzzParseRelay(f *testing.F) {
	for _, s := range seedEvents() {
		f.Add([]byte(`["EVENT","s",` + s + `]`))
	}
	for _, s := range []string{`["OK","` + hexA + `",true,""]`, `["OK","` + hexA + `",false]`, `["EOSE","s"]`, `["CLOSED","s","x: y"]`,
		`["NOTICE",{"x":1}]`, `["AUTH","c"]`, `["COUNT","s",{"count":1,"hll":""}]`, `["NEG-MSG","s","61"]`, `["NEG-ERR","s","blocked: x",5]`,
		`["NEG-ERROR","s","a "b" c"]`, `["NEG-ERROR","s","`, `["NEG-CLOSE","s"]`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		m, err := nostr.ParseRelay(frame)
		if err != nil {
			if _, ok := err.(*nostr.MessageError); !ok {
				t.Errorf("%q: %T", frame, err)
			}
			return
		}
		written := writeRelay(m)
		back, err := nostr.ParseRelay(written)
		if err != nil || !reflect.DeepEqual(back, m) {
			t.Errorf("%q\nread %+v\nthen %+v, %v\nfrom %q", frame, m, back, err, written)
		}
	})
}
