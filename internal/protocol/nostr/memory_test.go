package nostr_test

import (
	"fmt"
	"runtime/metrics"
	"strings"
	"testing"

	"github.com/graspd/graspd/internal/protocol/nostr"
)

// checkMemory fails the test if reading text as everything that it could be allocates more than a small multiple of its
// length and something fixed. The runtime counts late and for all goroutines: only what is too much each time counts.
func checkMemory(t *testing.T, text []byte) {
	t.Helper()
	bound := int64(64<<10 + 16*len(text))
	var used int64
	for range 5 {
		before := heapAllocs()
		parseAll(text)
		if used = heapAllocs() - before; used <= bound {
			return
		}
	}
	t.Errorf("%d bytes allocated for %d of %.60q", used, len(text), text)
}

// heapAllocs is how many bytes were ever allocated. Unlike runtime.ReadMemStats it stops nothing, so that a fuzz target
// can afford it.
func heapAllocs() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// parseAll reads text as everything that it could be.
func parseAll(text []byte) {
	_, _ = nostr.ParseEvent(text)
	_, _ = nostr.ParseFilter(text)
	_, _ = nostr.ParseClient(text)
	_, _ = nostr.ParseRelay(text)
}

// TestMemoryIsBoundedByTheInput parses frames that are made of the smallest things of each kind.
func TestMemoryIsBoundedByTheInput(t *testing.T) {
	const n = 100_000
	many := func(s string) string { return strings.TrimSuffix(strings.Repeat(s+",", n/(len(s)+1)), ",") }
	event := func(key, value string) string { return eventText(map[string]string{key: value}) }
	var keys strings.Builder
	for i := range n / 10 {
		fmt.Fprintf(&keys, `"x%d":0,`, i)
	}
	inputs := map[string]string{
		"empty tags":           event("tags", "["+many("[]")+"]"),
		"tags of empty values": event("tags", "["+many(`[""]`)+"]"),
		"one tag of many":      event("tags", `[[`+many(`""`)+"]]"),
		"tags of escapes":      event("tags", `[[`+many(`"\n\n"`)+"]]"),
		"tags with spaces":     event("tags", `[[ `+many(`"\u0041"`)+"]]"),
		"escapes":              event("content", `"`+strings.Repeat(`\u0000`, n/6)+`"`),
		"surrogates":           event("content", `"`+strings.Repeat(`\ud83d\ude00`, n/12)+`"`),
		"control bytes":        event("content", `"`+strings.Repeat(`\b`, n/2)+`"`),
		"unknown keys":         strings.Replace(event("", ""), "{", "{"+keys.String(), 1),
		"unknown array":        strings.Replace(event("", ""), "{", `{"x":[`+many("[]")+"],", 1),
		"unknown strings":      strings.Replace(event("", ""), "{", `{"x":[`+many(`"\n"`)+"],", 1),
		"a key of escapes":     strings.Replace(event("", ""), "{", `{"`+strings.Repeat(`\u0041`, n/6)+`":1,`, 1),
		"brackets":             strings.Repeat("[", n),
		"braces":               strings.Repeat(`{"":`, n/4),
		"quotes":               strings.Repeat(`"`, n),
		"backslashes":          `"` + strings.Repeat(`\`, n),
		"kinds":                `{"kinds":[` + many("1") + `]}`,
		"tag values":           `{"#t":[` + many(`""`) + `]}`,
		"escaped tag values":   `{"#t":[` + many(`"\n\n"`) + `]}`,
		"ids":                  `{"ids":[` + many(`"`+hexA+`"`) + `]}`,
		"bad hex":              `{"ids":["` + strings.Repeat("z", n) + `"]}`,
		"filters":              `["REQ","s",` + many("{}") + `]`,
		"filters with lists":   `["REQ","s",` + many(`{"ids":[],"#a":[],"#b":[]}`) + `]`,
		"extra elements":       `["CLOSE","s",` + many("0") + `]`,
		"negentropy":           `["NEG-MSG","s","` + strings.Repeat("61", n/2) + `"]`,
		"unescaped reason":     `["NEG-ERROR","s","` + strings.Repeat(`"`, n) + `"]`,
		"reason of bad UTF-8":  `["NEG-ERROR","s","` + strings.Repeat("\xffa", n/2) + `"]`,
		"long verb":            `["` + strings.Repeat("x", n) + `"]`,
		"long sub":             `["REQ","` + strings.Repeat("x", n) + `"]`,
		"long number":          event("created_at", strings.Repeat("1", n)),
	}
	for name, text := range inputs {
		for _, frame := range []string{text, `["EVENT",` + text + "]", `["EVENT","s",` + text + "]", `["REQ","s",` + text + "]"} {
			t.Run(name, func(t *testing.T) { checkMemory(t, []byte(frame)) })
		}
	}
}
